"""What people consent to, and who they are."""

from collections.abc import Sequence
from typing import Protocol

from pml.domain.approval import ApiKey, Approval, AuditEntry, Grant


class Approvals(Protocol):
    """Requests for approval; every change writes its `AuditEntry` in the same transaction.

    `Approval.decided_at_ms` of one that expired or was withdrawn says when that was.
    """

    async def ask(self, approval: Approval, *, epoch: int) -> None:
        """Store a pending request; a pending one of the same run becomes withdrawn.

        Raises:
            FencedError: another process has taken the run over since ``epoch``.
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
    """API keys, by the SHA-256 of the key (keys are random, so no slow hash is needed).

    Who makes or revokes one leaves an `AuditEntry`, in the same transaction.
    """

    async def create(self, key: ApiKey, *, key_hash: str, by: str = "local") -> None:
        """Store a key that ``by`` made.

        Raises:
            ValueError: there is a key of that id, or one of that name that is not revoked.
        """

    async def find(self, key_hash: str) -> ApiKey | None:
        """The key with this hash that is not revoked."""

    async def used(self, key_id: str, *, now_ms: int) -> None:
        """Note that it was used."""

    async def all(self) -> tuple[ApiKey, ...]:
        """Every key, revoked ones too, by name."""

    async def revoke(self, key_id: str, *, now_ms: int, by: str = "local") -> ApiKey:
        """It opens nothing any more; a revoked one stays as it is.

        Raises:
            NotFoundError: there is none.
        """
