"""One call to an upstream server: intent first, then attempts, then what is known of it.

The two rules that keep effects honest live here: an attempt is committed to the log before
it is sent, and only what cannot do harm twice is sent twice (design, section 5, rules 5 to 7).
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from pml.domain.ledger import Ledger
from pml.domain.permissions import Effect
from pml.domain.record import JsonText
from pml.domain.response import ExecuteResponse
from pml.domain.run import Failed, Issued, Outcome, RunState
from pml.errors import OutcomeUnknownError, UpstreamUnavailableError
from pml.runtime.log_writer import LogWriter

ATTEMPTS = 3
"""A server that fails three times in a row is down, not busy."""
BACK_OFF_S = (0.1, 0.5)
"""Before the second and the third attempt: a restarting stdio server takes about half a second."""


class MakesRequests(Protocol):
    """The part of the upstream servers that calls need."""

    async def ready(self, server: str) -> None:
        """Connect if need be; raises `UpstreamUnavailableError`."""

    async def call(self, server: str, tool: str, arguments: JsonText) -> Outcome:
        """Make one attempt; raises `UpstreamUnavailableError` or `OutcomeUnknownError`."""


class CallsTools(Protocol):
    """What answers the calls of one run: servers, capabilities among them, or mocks."""

    async def ready(self, server: str) -> None:
        """Connect if need be; raises `UpstreamUnavailableError`."""

    async def call(self, issued: Issued) -> Outcome:
        """Make one attempt.

        Raises:
            UpstreamUnavailableError: nothing was sent.
            OutcomeUnknownError: nobody knows what it did.
            ChildWaits: it is the call of a capability, whose own run waits.
        """


class ChildWaits(Exception):  # noqa: N818  # no failure: the run below waits for somebody
    """The run of a capability waits, so the run that called it waits as well."""

    def __init__(self, state: RunState, response: ExecuteResponse) -> None:
        super().__init__(f"the run {response.workflow_id} is {state}")
        self.state = state
        self.response = response


@dataclass(frozen=True, slots=True)
class Answered:
    """The outcome of a call is known."""

    call: int
    outcome: Outcome
    duration_ms: float


@dataclass(frozen=True, slots=True)
class Unknown:
    """A write was sent and nobody knows whether it took effect."""

    call: int
    reason: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """The run of a capability waits."""

    call: int
    state: RunState
    response: ExecuteResponse


@dataclass(frozen=True, slots=True)
class Uncovered:
    """Nobody agrees to the call any more; nothing was sent."""

    call: int


Known: TypeAlias = Answered | Unknown | Waiting | Uncovered
"""What is known of a call in the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """A call on its way out."""

    issued: Issued
    started: Callable[[], None]
    """Told when the call leaves the queue."""
    changed: Callable[[], Failed | None]
    """Asked before each attempt, once its server is connected: why the tool is not called any
    more."""
    consented: Callable[[], Awaitable[bool]] | None
    """Asked once, right before the first attempt; None: it needs no consent."""


class Caller:
    """Makes the calls of one run; at most ``concurrent`` of them at a time."""

    def __init__(
        self,
        upstreams: CallsTools,
        ledger: Ledger,
        log: LogWriter,
        *,
        now_ms: Callable[[], int],
        concurrent: int,
    ) -> None:
        self._upstreams = upstreams
        self._ledger = ledger
        self._log = log
        self._now_ms = now_ms
        self._places = asyncio.Semaphore(concurrent)

    async def perform(self, errand: Errand) -> Known:
        """Make the call.

        Raises:
            StoreError: the intent could not be committed, so nothing was sent.
            FencedError: another process runs the run; nothing was sent.
        """
        async with self._places:
            errand.started()
            try:
                return await self._attempts(errand)
            except ChildWaits as waits:
                return Waiting(errand.issued.call, waits.state, waits.response)

    async def _attempts(self, errand: Errand) -> Known:
        issued = errand.issued
        for attempt in range(_attempts_of(issued)):
            if attempt:
                await asyncio.sleep(BACK_OFF_S[attempt - 1])
            started = time.perf_counter()
            try:
                await self._upstreams.ready(issued.tool.partition(":")[0])
                if refusal := errand.changed():
                    return Answered(issued.call, refusal, 0.0)
                if not attempt and errand.consented and not await errand.consented():
                    return Uncovered(issued.call)
                await self._intend(issued)
                started = time.perf_counter()
                outcome = await self._upstreams.call(issued)
            except OutcomeUnknownError as exc:
                if issued.effect is Effect.WRITE:
                    return Unknown(issued.call, str(exc))
                code = "timeout" if exc.timed_out else "unavailable"
                outcome = Failed(code=code, message=str(exc))
            except UpstreamUnavailableError as exc:
                outcome = Failed(code="unavailable", message=str(exc))
            else:
                break
        return Answered(issued.call, outcome, (time.perf_counter() - started) * 1000)

    async def _intend(self, issued: Issued) -> None:
        """Commit the intent: nothing is sent if that fails."""
        self._ledger.attempt(issued.call, self._now_ms())
        try:
            await self._log.commit()
        except BaseException:
            # whatever ends the run here, this request was not sent: no doubt about a write
            if self._ledger.calls[issued.call].in_doubt:
                self._ledger.allow_retry(issued.call, self._now_ms())
            raise


def _attempts_of(issued: Issued) -> int:
    once = issued.effect is Effect.WRITE or issued.of_capability
    return 1 if once else ATTEMPTS
