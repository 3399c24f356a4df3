"""What the twin holds, and the one rule of its methods.

Records pass through their JSON form, so that what comes back is what a database would give
back.

Invariant: no method of the twin awaits, so each is one transaction by construction.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

from pml.domain.approval import ApiKey, Approval, AuditEntry, Grant
from pml.domain.capability import Capability, PastIntent
from pml.domain.record import JsonText, Record, decode, encode
from pml.domain.run import LogRecord, Run, RunProgram
from pml.domain.tools import Tool, changes_of
from pml.domain.trace import DependencyType, ExecutionTrace, ToolDependency
from pml.learning.experience import Experience
from pml.store.audited import sanitised
from pml.store.messages import no_run
from pml.store.ports import Mark

_R = TypeVar("_R", bound=Record)


def stored(record: _R) -> _R:
    """The record as it comes back from its JSON form."""
    return decode(type(record), encode(record))


@dataclass(slots=True)
class KeptTool:
    """A tool that was listed."""

    tool: Tool
    changed: int
    """Number of the change in `Data.changes`."""
    gone: bool = False
    accepted: Tool | None = None
    """What was accepted, if it is described otherwise now."""

    def whole(self) -> Tool:
        """The tool, with what differs from what was accepted."""
        if self.accepted is None:
            return self.tool
        return msgspec.structs.replace(self.tool, changed=changes_of(self.accepted, self.tool))


@dataclass(slots=True)
class KeptCapability:
    """A capability and what its runs came to; intents by their normalised form."""

    capability: Capability
    changed: int
    used_at_ms: int
    experience: Experience = field(default_factory=Experience)
    intents: dict[str, PastIntent] = field(default_factory=dict)

    def whole(self) -> Capability:
        """The record, with what is known of its runs."""
        known = self.experience
        return msgspec.structs.replace(
            self.capability,
            learning=known.learning,
            lifecycle=known.lifecycle,
            stale=known.stale,
            hidden=known.hidden,
            usage_count=known.usage_count,
            success_count=known.success_count,
            distinct_arguments=len(known.argument_hashes),
        )


@dataclass(slots=True)
class Result:
    """A task's result; the text goes when it expires."""

    text: JsonText | None
    expires_at_ms: int


@dataclass(slots=True)
class Data:
    """Every row."""

    user_id: str
    clock: Callable[[], float] = time.monotonic
    """In seconds; leases count by it."""
    changes: int = 0
    """How many changes there were of what `Mark` is about."""
    servers: dict[str, dict[str, KeptTool]] = field(default_factory=dict)
    capabilities: dict[str, KeptCapability] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)
    programs: dict[str, RunProgram] = field(default_factory=dict)
    logs: dict[str, list[LogRecord]] = field(default_factory=dict)
    progressed: dict[str, int] = field(default_factory=dict)
    """The epoch in which each run last got further."""
    log_expiry: dict[str, int] = field(default_factory=dict)
    approvals: dict[str, Approval] = field(default_factory=dict)
    grants: dict[str, Grant] = field(default_factory=dict)
    audit: list[AuditEntry] = field(default_factory=list)
    keys: dict[str, ApiKey] = field(default_factory=dict)
    """By the hash of the key."""
    capability_dependencies: dict[tuple[str, str], ToolDependency] = field(default_factory=dict)
    leases: dict[str, float] = field(default_factory=dict)
    """When the lease of each owner is over."""
    traces: dict[str, ExecutionTrace] = field(default_factory=dict)
    results: dict[tuple[str, str], Result] = field(default_factory=dict)
    dependencies: dict[tuple[str, str, DependencyType], ToolDependency] = field(
        default_factory=dict
    )

    def run(self, run_id: str) -> Run:
        """The run.

        Raises:
            NotFoundError: there is none.
        """
        if run_id not in self.runs:
            raise no_run(run_id)
        return self.runs[run_id]

    def forget_runs(self, gone: set[str]) -> None:
        """Without them, and what hangs from them."""
        for run_id in gone:
            del self.runs[run_id], self.log_expiry[run_id]
            self.logs.pop(run_id, None)
        self.results = {key: one for key, one in self.results.items() if key[0] not in gone}
        self.approvals = {key: one for key, one in self.approvals.items() if one.run_id not in gone}
        for run in list(self.runs.values()):
            links = {
                "parent_run_id": None if run.parent_run_id in gone else run.parent_run_id,
                "replaces_run_id": None if run.replaces_run_id in gone else run.replaces_run_id,
            }
            self.runs[run.id] = msgspec.structs.replace(run, **links)

    def note(self, *entries: AuditEntry) -> None:
        """Write the audit log."""
        self.audit.extend(stored(sanitised(entry)) for entry in entries)

    def changed(self) -> int:
        """The number of one more change."""
        self.changes += 1
        return self.changes

    @property
    def mark(self) -> Mark:
        """After the latest change."""
        return Mark(self.changes)
