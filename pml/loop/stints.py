"""The runs that are under way in this process.

A *stint* is the stretch of a run between two stops: from its start, or from where it was
resumed, to its end or to the next point where somebody is asked.  Whoever asks for a run
that has one waits for the same stint instead of beginning another.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from typing import Any

from pml.domain.events import Event
from pml.domain.response import ExecuteResponse
from pml.domain.run import RunState
from pml.loop.means import Emit
from pml.runtime.ending import Ending


@dataclass(slots=True, eq=False)
class Stint:
    """One stint: who is told of it, and how it was stopped from outside, if it was."""

    run_id: str
    watchers: list[Emit] = field(default_factory=list)
    stopped: Ending | None = None
    """What it comes to, unless a write is left in doubt; None: nobody has stopped it."""
    caller: "Stint | None" = None
    """The one whose code called the run."""
    epoch: int | None = None
    """Of the run since it is this process's own; None: it is not yet."""
    task: "asyncio.Task[ExecuteResponse] | None" = None

    def emit(self, event: Event) -> None:
        """Tell everybody who watches."""
        for watcher in tuple(self.watchers):
            watcher(event)

    def stop(self, ending: Ending) -> None:
        """Make it end like that; the first to say so is heard."""
        if self.stopped is None and self.task is not None:
            self.stopped = ending
            self.task.cancel()

    @property
    def end(self) -> Ending:
        """What it comes to, now that it was cancelled.

        What was interrupted above goes on later, so what it called does too.
        """
        if self.stopped is not None:
            return self.stopped
        above = None if self.caller is None else self.caller.end
        interrupted = above is not None and above.state is RunState.INTERRUPTED
        return above if above is not None and interrupted else Ending(state=RunState.CANCELLED)

    async def join(self) -> ExecuteResponse | None:
        """What it comes to; None if it was cancelled by whoever began it."""
        assert self.task is not None
        await asyncio.wait([self.task])  # unlike awaiting it, leaves it alone when cancelled
        return None if self.task.cancelled() else self.task.result()


class UnderWay:
    """The stints of this process, by run.

    Invariant: a run has at most one; it is here from before its first step until after its
    last.
    """

    def __init__(self) -> None:
        self._stints: dict[str, Stint] = {}

    def __iter__(self) -> Iterator[Stint]:
        return iter(tuple(self._stints.values()))

    def find(self, run_id: str) -> Stint | None:
        """The stint of a run, if it has one."""
        return self._stints.get(run_id)

    def begin(
        self,
        run_id: str,
        watchers: list[Emit],
        work: Callable[[Stint], Coroutine[Any, Any, ExecuteResponse]],
        caller: Stint | None = None,
    ) -> Stint:
        """Begin a stint of a run that has none."""
        assert run_id not in self._stints
        stint = Stint(run_id, watchers, caller=caller)
        self._stints[run_id] = stint
        stint.task = asyncio.create_task(work(stint))
        stint.task.add_done_callback(lambda _: self._stints.pop(run_id))
        return stint


async def seen_through(stint: Stint) -> ExecuteResponse:
    """What a stint comes to, for whoever began it: to cancel this cancels the stint.

    The cancellation goes on once the stint has closed its books.
    """
    assert stint.task is not None
    try:
        return await asyncio.shield(stint.task)
    except asyncio.CancelledError:
        if not stint.task.done():
            stint.task.cancel()
            await asyncio.wait([stint.task])
        raise


Standing = Callable[[str], Awaitable[ExecuteResponse]]
"""How the run of an id stands now."""
