"""Runs: who runs them, how they stand, and their logs."""

from collections.abc import Callable, Sequence
from typing import Protocol

from pml.domain.run import LogRecord, Run, RunProgram, RunState


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

    async def left_behind(self) -> tuple[Run, ...]:
        """Runs that are not final though the run that called them is, the earliest created first.

        Whoever ended the caller died before it ended these, or somebody moved them meanwhile.
        """

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

    async def progressed(self, run_id: str) -> int:
        """Under which `Run.epoch` the run last got further; 0 if it never did.

        A record of `IDLE_RECORDS` gets it no further.
        """

    async def delete_expired(self, now_ms: int) -> int:
        """Delete logs and programs of ended runs whose TTL is over; how many records went.

        Those of a run whose parent has not ended stay: the parent may resume, and then takes
        the run's end from its log.
        """


class Leases(Protocol):
    """Which processes live, by the database's own clock (`Run.owner` names them)."""

    async def renew(self, owner: str, *, ttl_s: float) -> None:
        """The process lives, for at least ``ttl_s`` from now."""

    async def release(self, owner: str) -> None:
        """The process is about to end; its runs are orphans at once."""
