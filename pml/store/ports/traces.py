"""What runs did, their results, and what is kept no longer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from pml.domain.capability import Literals
from pml.domain.record import JsonText, Record
from pml.domain.run import RunState
from pml.domain.tools import Tool
from pml.domain.trace import ExecutionTrace, ToolDependency

NO_CALLEES: Mapping[str, int] = MappingProxyType({})


class SomeTraces(Protocol):
    """Traces to be read one part after the other, however many there are."""

    async def selected(self, *, since_ms: int, limit: int) -> tuple[tuple[int, str], ...]:
        """When and which: those executed at or after ``since_ms``, at most ``limit``.

        The latest ones, ordered with the earliest first; ties by id.
        """

    async def several(self, ids: Sequence[str]) -> tuple[ExecutionTrace, ...]:
        """Those of them that are there, in the order of the ids."""


class Traces(SomeTraces, Protocol):
    """What runs did; immutable."""

    async def finish(
        self,
        run_id: str,
        to: RunState,
        *,
        reason: str,
        now_ms: int,
        epoch: int,
        trace: ExecutionTrace,
        results: Sequence[tuple[str, JsonText]],
        dependencies: Sequence[ToolDependency],
        result_expires_at_ms: int,
        arguments: JsonText = "{}",
        literals: Literals | None = None,
        callees: Mapping[str, int] = NO_CALLEES,
        tools: Mapping[str, str] | None = None,
    ) -> None:
        """Write a run's state, trace, task results and dependency counts, all or nothing.

        Where the trace names a capability, its row is locked first; then, in this order and
        the same transaction (LE-2): the trace's priority is computed from what the capability
        learned so far (LE-1), the trace is inserted, and learning, usage, past intents and
        life cycle are updated.  Only runs that ended in success or error teach.
        ``arguments`` is one JSON object of all bound arguments, lifted ones too; what is kept
        of it is an HMAC (rule 8).  ``literals`` become those of the past intent, if given and
        the run succeeded.  ``callees`` says how often it called which capabilities; those that
        are there are counted as edges from its own (`Capabilities.dependencies`).

        ``tools`` are the schema hashes of tools by id, as the run knew them.  A success ends
        that its capability is stale, unless one of the tools that it uses, directly or through
        others, is gone or described otherwise by now.  None: it ends it whatever changed.

        Repeating it with the same trace id changes nothing.  When ``to`` is final, the log
        may be deleted from ``result_expires_at_ms`` on.  The trace is stored for the
        store's user, whatever its ``user_id`` says.

        Raises:
            NotFoundError: there is no such run.
            RunStateError: its state does not allow ``to``.
            FencedError: another process has taken the run over since ``epoch``.
            ValueError: the trace is of another run.
        """

    async def get(self, trace_id: str) -> ExecutionTrace:
        """The trace.

        Raises:
            NotFoundError: there is none.
        """

    async def of_run(self, run_id: str) -> tuple[ExecutionTrace, ...]:
        """The run's traces, oldest first; more than one when it ended, resumed and ended."""

    async def recent(self, limit: int) -> tuple[ExecutionTrace, ...]:
        """At most ``limit`` traces, the latest executed first; ties by id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedSource:
    """Somebody whose traces were imported."""

    name: str
    traces: int
    imported_at_ms: int
    """The latest time."""


class Imports(SomeTraces, Protocol):
    """Anonymous traces of others (RW-5); nothing else in the store knows of them."""

    async def add(
        self,
        source: str,
        *,
        tools: Sequence[Tool],
        traces: Sequence[ExecutionTrace],
        now_ms: int,
    ) -> int:
        """Keep some traces and tools of a source; how many of the traces were new.

        A trace that is there, whatever its source, stays as it is; a tool of that source is
        described anew.
        """

    async def sources(self) -> tuple[ImportedSource, ...]:
        """Whose traces there are, by name."""

    async def tools(self) -> tuple[Tool, ...]:
        """Every tool that was imported, by id; of several, that of the first source by name."""

    async def forget(self, source: str) -> int:
        """Delete what a source brought; how many traces."""


class ResultPage(Record, frozen=True, kw_only=True):
    """A part of one task's result (EX-7)."""

    text: JsonText
    """``limit`` characters from ``offset``: JSON text only when it is the whole."""
    offset: int
    total_chars: int
    expires_at_ms: int


class TaskResults(Protocol):
    """Whole (redacted) results, until their TTL."""

    async def page(
        self, run_id: str, task_id: str, *, offset: int, limit: int, now_ms: int
    ) -> ResultPage:
        """Characters ``offset`` to ``offset + limit`` of a result; past the end: empty text.

        Raises:
            NotFoundError: no such result, or its TTL is over; the message says which.
        """

    async def delete_expired(self, now_ms: int) -> int:
        """Empty the results whose TTL is over; how many.  That they expired stays known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """How much was deleted (ST-7)."""

    traces: int
    runs: int
    """With their tasks' results and approvals."""
    results: int
    """Texts of results; that they expired stays known."""
    log_records: int
    leases: int


class Retention(Protocol):
    """What is kept no longer (ST-7); the audit log always is."""

    async def collect(self, *, now_ms: int, traces_kept: int, trace_age_ms: int) -> Collected:
        """Delete what nobody needs any more, in many small transactions.

        Traces beyond the latest ``traces_kept`` or executed more than ``trace_age_ms`` ago go,
        the oldest first; what they taught stays.  Runs that ended before the oldest trace that
        may stay, and of which neither trace nor log is left, go with all that hangs from them.
        Expired results and logs go as by `TaskResults.delete_expired` and
        `RunLog.delete_expired`, and leases that were over an hour ago.

        Raises:
            ValueError: ``traces_kept`` or ``trace_age_ms`` is negative.
        """
