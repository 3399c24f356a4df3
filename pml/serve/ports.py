"""What the endpoint needs of the loop, as far as it is concerned."""

from collections.abc import Callable
from typing import Protocol

from pml.domain.approval import Principal
from pml.domain.discovery import DiscoverRequest, DiscoverResponse
from pml.domain.events import Event
from pml.domain.response import ExecuteRequest, ExecuteResponse
from pml.domain.steering import AbortRequest, ApprovalAnswer, ContinueRequest, ReplanRequest
from pml.domain.task_result import TaskResultPage, TaskResultRequest
from pml.store.ports import Store

Emit = Callable[[Event], None]


class Executes(Protocol):
    """Runs programs and capabilities."""

    @property
    def agents_may_approve(self) -> bool:
        """Whether agents may answer for a person (HIL-4)."""

    async def execute(
        self, request: ExecuteRequest, *, emit: Emit | None = None
    ) -> ExecuteResponse:
        """See `pml.loop.act.Act`; cancelling the task cancels the run."""


class Steers(Protocol):
    """Goes on with runs that wait; see `pml.loop.steering.Steering`, which says what it raises."""

    async def go_on(
        self, request: ContinueRequest, *, by: Principal, emit: Emit | None = None
    ) -> ExecuteResponse:
        """Let a run go on."""

    async def abort(self, request: AbortRequest, *, by: Principal) -> ExecuteResponse:
        """End a run."""

    async def replan(
        self, request: ReplanRequest, *, by: Principal, emit: Emit | None = None
    ) -> ExecuteResponse:
        """Go on with other code."""

    async def answer(
        self, request: ApprovalAnswer, *, by: Principal, emit: Emit | None = None
    ) -> ExecuteResponse:
        """Take a person's yes or no."""

    async def status(self, run_id: str) -> ExecuteResponse:
        """How a run stands."""

    async def root_of(self, run_id: str) -> str:
        """The run that was asked for, of one that code called."""


class Searched(Protocol):
    """What a search looks through."""

    def outdated(self) -> None:
        """What servers offer has changed in the store."""


class Bench(Protocol):
    """Answers requests; `pml.serve.compose.Workbench` is one."""

    @property
    def act(self) -> Executes:
        """Runs programs."""

    @property
    def steering(self) -> Steers:
        """Goes on with them."""

    @property
    def store(self) -> Store:
        """What is kept."""

    @property
    def library(self) -> Searched:
        """What of it is searched."""

    async def discover(self, request: DiscoverRequest, /) -> DiscoverResponse:
        """See `pml.loop.discover.Discover`."""

    async def task_result(self, request: TaskResultRequest, /) -> TaskResultPage:
        """See `pml.loop.results.ReadTaskResult`."""
