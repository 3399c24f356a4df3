"""One call to an upstream server: intent first, then attempts, then what is known of it.

The two rules that keep effects honest live here: an attempt is committed to the log before
it is sent, and only what cannot do harm twice is sent twice (design, section 5, rules 5 to 7).
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from pml.domain.ledger import Ledger
from pml.domain.permissions import Effect
from pml.domain.record import JsonText
from pml.domain.run import Failed, Issued, Outcome
from pml.errors import OutcomeUnknownError, UpstreamUnavailableError
from pml.runtime.log_writer import LogWriter

ATTEMPTS = 3
"""A server that fails three times in a row is down, not busy."""
BACK_OFF_S = (0.1, 0.5)
"""Before the second and the third attempt: a restarting stdio server takes about half a second."""
NOT_SENT = Failed(code="not_sent", message="the run ended before the request was sent")


class CallsTools(Protocol):
    """The part of the upstream servers that a call needs."""

    async def ready(self, server: str) -> None:
        """Connect if need be; raises `UpstreamUnavailableError`."""

    async def call(self, server: str, tool: str, arguments: JsonText) -> Outcome:
        """Make one attempt; raises `UpstreamUnavailableError` or `OutcomeUnknownError`."""


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

    async def perform(self, issued: Issued, on_start: Callable[[], None]) -> Answered | Unknown:
        """Make the call; ``on_start`` runs when it leaves the queue.

        Raises:
            StoreError: the intent could not be committed, so nothing was sent.
        """
        async with self._places:
            on_start()
            attempts = 1 if issued.effect is Effect.WRITE else ATTEMPTS
            for attempt in range(attempts):
                if attempt:
                    await asyncio.sleep(BACK_OFF_S[attempt - 1])
                started = time.perf_counter()
                try:
                    await self._prepare(issued)
                    started = time.perf_counter()
                    outcome = await self._upstreams.call(*_split(issued.tool), issued.arguments)
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

    async def _prepare(self, issued: Issued) -> None:
        """Connect, then commit the intent: nothing is sent if either fails."""
        server, _ = _split(issued.tool)
        await self._upstreams.ready(server)
        self._ledger.attempt(issued.call, self._now_ms())
        try:
            await self._log.commit()
        except BaseException:
            # whatever ends the run here, this request was not sent: no doubt about a write
            self._ledger.hold(issued.call, NOT_SENT, self._now_ms())
            raise


def _split(tool_id: str) -> tuple[str, str]:
    server, _, tool = tool_id.partition(":")
    return server, tool
