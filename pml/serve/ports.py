"""What the endpoint needs of the loop, as far as it is concerned."""

from collections.abc import Callable
from typing import Protocol

from pml.domain.discovery import DiscoverRequest, DiscoverResponse
from pml.domain.events import Event
from pml.domain.response import ExecuteRequest, ExecuteResponse
from pml.domain.task_result import TaskResultPage, TaskResultRequest


class Executes(Protocol):
    """Runs programs and capabilities."""

    async def execute(
        self, request: ExecuteRequest, *, emit: Callable[[Event], None] | None = None
    ) -> ExecuteResponse:
        """See `pml.loop.act.Act`; cancelling the task cancels the run."""


class Bench(Protocol):
    """Answers requests; `pml.serve.compose.Workbench` is one."""

    @property
    def act(self) -> Executes:
        """Runs programs."""

    async def discover(self, request: DiscoverRequest, /) -> DiscoverResponse:
        """See `pml.loop.discover.Discover`."""

    async def task_result(self, request: TaskResultRequest, /) -> TaskResultPage:
        """See `pml.loop.results.ReadTaskResult`."""
