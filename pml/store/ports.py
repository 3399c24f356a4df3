"""What the store offers, one small protocol per noun.

`pml.store.postgres.postgres_store` and `pml.store.memory.memory_store` fill them, and both
pass the same contract tests.  Every method is one transaction: when it returns, what it
wrote is committed; when it raises, nothing was written, or (`StoreError` after the
connection broke) nobody knows.  No database connection is held between calls.

Texts for people (intents, reasons, error messages, descriptions) come back with NUL and lone
surrogates replaced by U+FFFD: PostgreSQL cannot hold them.  An id with one is of nothing.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NewType, Protocol

import numpy as np
from numpy.typing import NDArray

from pml.domain.capability import Capability, Literals, NewCapability, PastIntent
from pml.domain.record import JsonText, Record
from pml.domain.run import LogRecord, Run, RunProgram, RunState
from pml.domain.tools import Catalog, Tool
from pml.domain.trace import ExecutionTrace, ToolDependency


class ResultPage(Record, frozen=True, kw_only=True):
    """A part of one task's result (EX-7)."""

    text: JsonText
    """``limit`` characters from ``offset``: JSON text only when it is the whole."""
    offset: int
    total_chars: int
    expires_at_ms: int


Mark = NewType("Mark", int)
"""A point in the history of the store; ``changes`` tells what came after it.

What is committed late is not missed: a change may be told twice, never not at all.
"""


PAST_INTENTS = 100
"""Of one capability, the latest; more would say nothing new and be told after each run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolChanges:
    """Tools listed, changed or gone since a mark."""

    mark: Mark
    """Where the next question begins."""
    tools: tuple[Tool, ...]
    gone: tuple[str, ...]
    """Ids of tools that their server no longer lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CapabilityChanges:
    """Capabilities changed since a mark, and the latest `PAST_INTENTS` past intents of each."""

    mark: Mark
    capabilities: tuple[Capability, ...]
    """Hidden ones too."""
    intents: tuple[PastIntent, ...]
    """Of the capabilities that changed, also the intents that did not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What results of a tool showed (SA-10)."""

    server: str
    name: str
    schema_hash: str
    """Of the tool that was called."""
    schema: Mapping[str, Any]
    """As `pml.learning.shapes` writes it."""


class ToolSchemas(Protocol):
    """What upstream servers offered when they were last asked."""

    async def replace(self, server: str, tools: Sequence[Tool]) -> None:
        """Make ``tools`` what ``server`` offers; tools that it no longer lists are marked gone.

        Of two tools with one name the last counts.  Capabilities that use a tool that is gone
        or whose schema hash changed, directly or through others, become stale (ST-4).  What
        results showed stays known while the schema hash is the same, whatever ``tools`` says.
        """

    async def catalog(self, servers: Collection[str] | None = None) -> Catalog:
        """The servers that were ever listed, or those of them that are named, with their tools.

        Tools come in the order of their server's list.
        """

    async def find(self, tool_ids: Collection[str]) -> Mapping[str, Tool]:
        """Those of the tools that are there, by id."""

    async def changes(self, since: Mark | None) -> ToolChanges:
        """What changed since a mark; everything that is there, for None."""

    async def observe(self, observations: Sequence[Observation]) -> None:
        """Add what results showed to what is known of their tools; one of each tool.

        Tools that are not there, have changed since, or declare an output schema stay as
        they are.
        """


class Capabilities(Protocol):
    """Learned procedures."""

    async def keep(self, new: NewCapability, *, now_ms: int) -> Capability:
        """The capability of that canonical hash, made now (hidden) if there is none (ST-8).

        What is there stays as it is.  A new one gets the wanted name, or that name with
        ``_2``, ``_3``...
        """

    async def get(self, capability_id: str) -> Capability:
        """The capability.

        Raises:
            NotFoundError: there is none.
        """

    async def named(self, names: Collection[str]) -> Mapping[str, Capability]:
        """Those of the names that are there and not hidden."""

    async def recent(self, limit: int, *, hidden: bool = False) -> tuple[Capability, ...]:
        """At most ``limit`` capabilities, the latest used first; ties by id.

        With ``hidden``, those too that never succeeded.
        """

    async def intents(self, capability_id: str) -> tuple[PastIntent, ...]:
        """With which intents it has run, the latest first, at most `PAST_INTENTS`."""

    async def rename(self, capability_id: str, name: str, *, now_ms: int) -> Capability:
        """Give it another name; code that was analysed before goes on calling the same version.

        Raises:
            NotFoundError: there is no such capability.
            ValueError: the name is no `CAPABILITY_NAME`, or another capability has it.
        """

    async def changes(self, since: Mark | None) -> CapabilityChanges:
        """What changed since a mark; everything that is there, for None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedding:
    """The vector of one text by one encoder."""

    key: str
    """``tool:`` and the tool's id, or ``intent:`` and the normalised intent."""
    text_hash: str
    """SHA-256 of the text: a vector whose text changed is out of date."""
    vector: NDArray[np.float32]


class Embeddings(Protocol):
    """Vectors of texts, kept with the name of the encoder that made them."""

    async def read(self, encoder: str) -> tuple[Embedding, ...]:
        """Every vector of the encoder, by key."""

    async def write(self, encoder: str, embeddings: Sequence[Embedding]) -> None:
        """Keep vectors; one that is there under the key is replaced."""

    async def delete(self, encoder: str, keys: Collection[str]) -> None:
        """Forget vectors."""


class Runs(Protocol):
    """Runs, and the programs that they replay."""

    async def create(self, run: Run, program: RunProgram) -> None:
        """Store a new run.

        Raises:
            ValueError: there is a run of that id, or none of its parent's, or no such capability.
        """

    async def get(self, run_id: str) -> Run:
        """The run.

        Raises:
            NotFoundError: there is none.
        """

    async def program(self, run_id: str) -> RunProgram:
        """What the run executes.

        Raises:
            NotFoundError: there is no such run, or its program was deleted with its log.
            LedgerKeyError: it was encrypted with another key.
        """

    async def recent(self, limit: int, state: RunState | None = None) -> tuple[Run, ...]:
        """At most ``limit`` runs, the latest created first; ties by id."""

    async def move(
        self,
        run_id: str,
        to: RunState,
        *,
        reason: str = "",
        now_ms: int,
        owner: str | None = None,
    ) -> Run:
        """Change the state if `NEXT_STATES` allows it; ``owner`` when another process takes over.

        A run that ends here keeps its log for the default TTL from ``now_ms``.

        Raises:
            NotFoundError: there is no such run.
            RunStateError: its state does not allow this.
        """

    async def unfinished_of_others(self, alive: Callable[[str], bool]) -> tuple[Run, ...]:
        """Runs in state ``running`` whose owner is not alive, the earliest created first."""


class RunLog(Protocol):
    """The ledger: append-only, exact, encrypted (design, section 5, rules 3, 6 and 8)."""

    async def append(self, run_id: str, records: Sequence[LogRecord]) -> None:
        """Commit the records; their ``seq`` continues the log without a gap.

        Raises:
            ValueError: there is no such run, or ``seq`` leaves a gap or repeats: nothing
                was written.
        """

    async def read(self, run_id: str) -> tuple[LogRecord, ...]:
        """The whole log in order; empty for an unknown run or a deleted log.

        Raises:
            LedgerKeyError: it was encrypted with another key, or was altered.
        """

    async def delete_expired(self, now_ms: int) -> int:
        """Delete logs and programs of ended runs whose TTL is over; how many records went."""


class Traces(Protocol):
    """What runs did; immutable."""

    async def finish(
        self,
        run_id: str,
        to: RunState,
        *,
        reason: str,
        now_ms: int,
        trace: ExecutionTrace,
        results: Sequence[tuple[str, JsonText]],
        dependencies: Sequence[ToolDependency],
        result_expires_at_ms: int,
        arguments: JsonText = "{}",
        literals: Literals | None = None,
    ) -> None:
        """Write a run's state, trace, task results and dependency counts, all or nothing.

        Where the trace names a capability, its row is locked first; then, in this order and
        the same transaction (LE-2): the trace's priority is computed from what the capability
        learned so far (LE-1), the trace is inserted, and learning, usage, past intents and
        life cycle are updated.  Only runs that ended in success or error teach.
        ``arguments`` is one JSON object of all bound arguments, lifted ones too; what is kept
        of it is an HMAC (rule 8).  ``literals`` become those of the past intent, if given and
        the run succeeded.

        Repeating it with the same trace id changes nothing.  When ``to`` is final, the log
        may be deleted from ``result_expires_at_ms`` on.  The trace is stored for the
        store's user, whatever its ``user_id`` says.

        Raises:
            NotFoundError: there is no such run.
            RunStateError: its state does not allow ``to``.
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


class ToolDependencies(Protocol):
    """Edges between tools, counted over traces (ST-3); `Traces.finish` writes them."""

    async def all(self) -> tuple[ToolDependency, ...]:
        """Every edge, by source, target and type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """Everything that is kept, for one user."""

    tool_schemas: ToolSchemas
    capabilities: Capabilities
    embeddings: Embeddings
    runs: Runs
    run_log: RunLog
    traces: Traces
    task_results: TaskResults
    tool_dependencies: ToolDependencies
