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
from types import MappingProxyType
from typing import Any, NewType, Protocol

import numpy as np
from numpy.typing import NDArray

from pml.domain.approval import ApiKey, Approval, AuditEntry, Grant, Quarantined
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


NO_CALLEES: Mapping[str, int] = MappingProxyType({})

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

        The first listing of a tool accepts it (HIL-5).  One whose schema hash differs from
        what was accepted, also long ago, is quarantined (`Tool.changed`) until it is accepted
        or described as before.
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

    async def quarantined(self) -> tuple[Quarantined, ...]:
        """Tools that are there and described otherwise than when they were accepted, by id."""

    async def accept(self, tool_id: str, *, schema_hash: str, by: str, now_ms: int) -> Tool:
        """Accept a tool as it is described now; the audit log says so in the same transaction.

        ``schema_hash`` is what the person looked at.  A tool that is not quarantined stays as
        it is.

        Raises:
            NotFoundError: no server lists the tool.
            ApprovalStateError: it is described otherwise than what was looked at.
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

    async def dependencies(self) -> tuple[ToolDependency, ...]:
        """Edges between capabilities, by source, target and type; the ends are their ids."""

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
            ValueError: there is a run of that id, or none of its parent's or of the one that it
                replaces, or no such capability.
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
        epoch: int,
        expires_at_ms: int | None = None,
    ) -> Run:
        """Change the state if `NEXT_STATES` allows it.

        A run that ends here keeps its log for the default TTL from ``now_ms``.
        ``expires_at_ms`` is kept of a run that waits, and forgotten otherwise.

        Raises:
            NotFoundError: there is no such run.
            RunStateError: its state does not allow this.
            FencedError: another process has taken the run over since ``epoch``.
        """

    async def claim(
        self, run: Run, *, owner: str, now_ms: int, started_at_ms: int | None = None
    ) -> Run:
        """Take a run over as it was read: it becomes ``running``, its epoch grows by 1.

        ``started_at_ms`` is kept if the run has none yet.

        Raises:
            NotFoundError: there is no such run.
            RunStateError: it is final, or somebody changed it since ``run`` was read.
        """

    async def orphans(self, alive: Callable[[str], bool]) -> tuple[Run, ...]:
        """Runs in state ``running`` that nobody runs, the earliest created first.

        Either the lease of the owner is over, or ``alive`` says that it is gone.
        """

    async def children(self, run_id: str) -> tuple[Run, ...]:
        """Runs whose `Run.parent_run_id` it is, the earliest created first."""

    async def expired(self, now_ms: int) -> tuple[Run, ...]:
        """Runs that wait and whose `Run.expires_at_ms` has passed, the earliest first."""


class RunLog(Protocol):
    """The ledger: append-only, exact, encrypted (design, section 5, rules 3, 6 and 8)."""

    async def append(self, run_id: str, records: Sequence[LogRecord], *, epoch: int) -> None:
        """Commit the records; their ``seq`` continues the log without a gap.

        A claim and an append exclude each other: what an earlier owner appends is either
        committed before the claim, and read by the new owner, or refused.

        Raises:
            ValueError: there is no such run, or ``seq`` leaves a gap or repeats: nothing
                was written.
            FencedError: another process has taken the run over since ``epoch``.
        """

    async def read(self, run_id: str) -> tuple[LogRecord, ...]:
        """The whole log in order; empty for an unknown run or a deleted log.

        Raises:
            LedgerKeyError: it was encrypted with another key, or was altered.
        """

    async def delete_expired(self, now_ms: int) -> int:
        """Delete logs and programs of ended runs whose TTL is over; how many records went.

        Those of a run whose parent has not ended stay: the parent may resume, and then takes
        the run's end from its log.
        """


class Traces(Protocol):
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


class Leases(Protocol):
    """Which processes live, by the database's own clock (`Run.owner` names them)."""

    async def renew(self, owner: str, *, ttl_s: float) -> None:
        """The process lives, for at least ``ttl_s`` from now."""

    async def release(self, owner: str) -> None:
        """The process is about to end; its runs are orphans at once."""


class Approvals(Protocol):
    """Requests for approval; every change writes its `AuditEntry` in the same transaction.

    `Approval.decided_at_ms` of one that expired or was withdrawn says when that was.
    """

    async def ask(self, approval: Approval) -> None:
        """Store a pending request; a pending one of the same run becomes withdrawn.

        Raises:
            ValueError: it is not pending, there is no such run, or there is an approval of
                that id.
        """

    async def get(self, approval_id: str) -> Approval:
        """The request.

        Raises:
            NotFoundError: there is none.
        """

    async def of_run(self, run_id: str) -> tuple[Approval, ...]:
        """All of a run, oldest first."""

    async def pending(self, limit: int) -> tuple[Approval, ...]:
        """At most ``limit`` that wait, oldest first."""

    async def decide(
        self, approval_id: str, *, granted: bool, by: str, note: str = "", now_ms: int
    ) -> Approval:
        """Answer a pending request; of two answers the first holds.

        The same answer again returns the request as it stands.

        Raises:
            NotFoundError: there is none.
            ApprovalStateError: it was answered otherwise, withdrawn, or has expired.
        """

    async def withdraw(self, run_id: str, *, now_ms: int) -> None:
        """The run ended otherwise: what is pending of it needs no answer any more."""

    async def expire(self, now_ms: int) -> tuple[Approval, ...]:
        """Pending requests whose time is over become expired; those, the earliest first."""


class Grants(Protocol):
    """Remembered approvals; every change writes its `AuditEntry` in the same transaction."""

    async def remember(self, grant: Grant) -> None:
        """Store a grant.

        Raises:
            ValueError: there is a grant of that id.
        """

    async def all(self) -> tuple[Grant, ...]:
        """Every grant, revoked and expired ones too, the latest first."""

    async def active(self, now_ms: int) -> tuple[Grant, ...]:
        """Those that hold now, oldest first."""

    async def revoke(self, grant_id: str, *, by: str, now_ms: int) -> Grant:
        """It holds no more; a revoked one stays as it is.

        Raises:
            NotFoundError: there is none.
        """


class Audit(Protocol):
    """The audit log: append-only (HIL-3)."""

    async def write(self, entries: Sequence[AuditEntry]) -> None:
        """Append; all or nothing.  Details are redacted here, once more."""

    async def recent(self, limit: int, *, run_id: str | None = None) -> tuple[AuditEntry, ...]:
        """At most ``limit``, the latest first, of one time the last written first.

        Of one run, if it is named.
        """


class ApiKeys(Protocol):
    """API keys, by the SHA-256 of the key (keys are random, so no slow hash is needed)."""

    async def create(self, key: ApiKey, *, key_hash: str) -> None:
        """Store a key.

        Raises:
            ValueError: there is a key of that id, or one of that name that is not revoked.
        """

    async def find(self, key_hash: str) -> ApiKey | None:
        """The key with this hash that is not revoked."""

    async def used(self, key_id: str, *, now_ms: int) -> None:
        """Note that it was used."""

    async def all(self) -> tuple[ApiKey, ...]:
        """Every key, revoked ones too, by name."""

    async def revoke(self, key_id: str, *, now_ms: int) -> ApiKey:
        """It opens nothing any more; a revoked one stays as it is.

        Raises:
            NotFoundError: there is none.
        """


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
    leases: Leases
    approvals: Approvals
    grants: Grants
    audit: Audit
    api_keys: ApiKeys
    retention: Retention
    hmac: Callable[[str], str]
    """Hash with a key of the store's own: what may outlive a run of values nobody may read."""
