"""Capabilities that code calls: each call is a run of its own (EX-10; design, section 5, rule 13).

To the broker a capability is a tool of the server ``capabilities``: its calls are logged,
permitted and delivered like any other.  Here that server is answered for.  The id of the run
follows from the call, so a call that is made again after a crash finds its run.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace

import msgspec

from pml.domain.capability import CAPABILITY_SERVER, Capability
from pml.domain.ledger import Ledger
from pml.domain.record import encode
from pml.domain.response import ExecuteError, ExecuteResponse
from pml.domain.run import Failed, Issued, Outcome, Returned, Run, RunState
from pml.errors import NotFoundError
from pml.loop.bookkeeping import Bookkeeping, end_children
from pml.loop.doubts import open_capability_calls
from pml.loop.ids import child_run_id
from pml.runtime.calls import ChildWaits, MakesRequests
from pml.runtime.ending import NOT_CLOSED, STORE_UNAVAILABLE, Ending

RunsCapability = Callable[[Capability, Issued], Awaitable[ExecuteResponse]]
"""Runs a capability as the child that a call of the run at hand is, or goes on with it."""
_WAITS = frozenset({RunState.APPROVAL_REQUIRED, RunState.IN_DOUBT})
_NOT_ITS_END = frozenset(
    {"interrupted", "under_way", STORE_UNAVAILABLE, NOT_CLOSED, "sandbox_unavailable"}
)
"""Codes of errors that say nothing of how the child ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildRuns:
    """What the calls of a program lead to, with a server ``capabilities`` among it."""

    servers: MakesRequests
    by_name: Mapping[str, Capability]
    run: RunsCapability

    async def ready(self, server: str) -> None:
        """Connect if need be; capabilities are always there.

        Raises:
            UpstreamUnavailableError: the server cannot be connected.
        """
        if server != CAPABILITY_SERVER:
            await self.servers.ready(server)

    async def call(self, issued: Issued) -> Outcome:
        """Make one attempt.

        Raises:
            UpstreamUnavailableError: nothing was sent.
            OutcomeUnknownError: nobody knows what it did.
            ChildWaits: the run of the capability waits, so the caller waits too.
        """
        server, _, name = issued.tool.partition(":")
        if server != CAPABILITY_SERVER:
            return await self.servers.call(server, name, issued.arguments)
        return _outcome(name, await self.run(self.by_name[name], issued))


def _outcome(name: str, response: ExecuteResponse) -> Outcome:
    if response.status in _WAITS:
        raise ChildWaits(RunState(response.status), response)
    if response.status == RunState.SUCCESS:
        value = None if response.result is msgspec.UNSET else response.result
        return Returned(value=encode(value).decode())
    error = response.error or ExecuteError(
        code="capability_failed", message=f"it ended as {response.status}"
    )
    if error.code in _NOT_ITS_END:
        raise ChildWaits(RunState.INTERRUPTED, response)
    return Failed(code=error.code, message=f"capability {name}: {error.message}")


async def settle_children(books: Bookkeeping, run: Run, ledger: Ledger, ending: Ending) -> Ending:
    """How a run ends that may have left runs behind that it called.

    A run is in doubt where one that it called is; others end with it.

    Raises:
        StoreError: the database is lost.
    """
    if not (called := open_capability_calls(ledger)):
        return ending
    doubtful = []
    for call in called:
        try:
            child = await books.store.runs.get(child_run_id(run.id, call.issued.call))
        except NotFoundError:
            continue  # it was never begun
        if child.state is RunState.IN_DOUBT:
            doubtful.append(f"{call.issued.task_id} ({call.issued.tool}): {child.reason}")
    if doubtful and ending.state is not RunState.DIVERGED:
        error = ExecuteError(code="in_doubt", message="; ".join(doubtful))
        return replace(ending, state=RunState.IN_DOUBT, error=error, result=None)
    await end_children(books, run.id, ending.state)
    return ending
