"""A bench whose runs the test holds, and that is reached over HTTP."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import msgspec

from pml.domain.approval import Principal, Role
from pml.domain.discovery import Discovered, DiscoverRequest, DiscoverResponse, Found, ToolSchemas
from pml.domain.events import Event, TaskEnd, TaskStart
from pml.domain.limits import Limits
from pml.domain.permissions import Permission
from pml.domain.plan import Plan, PlannedArgument, PlannedCall, PlannedProgram
from pml.domain.response import ExecuteError, ExecuteRequest, ExecuteResponse, HeldCall
from pml.domain.steering import AbortRequest, ApprovalAnswer, ContinueRequest, ReplanRequest
from pml.domain.task_result import TaskResultPage, TaskResultRequest
from pml.errors import NotAllowedError, NotFoundError, RequestError, StoreError
from pml.runtime.feed import Feed
from pml.serve.endpoint import Endpoint
from pml.serve.guard import BODY_S, Allowed
from pml.serve.heads import BoundedHeads
from pml.serve.http import MAX_CONNECTIONS, HttpApp, http_app, listening
from pml.store.memory.store import memory_store
from pml.store.ports import Store

FAILURES: dict[str, Exception] = {
    "slip": ZeroDivisionError("nobody expected this"),
    "lost": StoreError("the database was lost"),
    "wrong": RequestError("code: found too much"),
    "gone": NotFoundError("capability", "c", "it was forgotten"),
}
"""What code of these names comes to."""
HOLD = {"intent": "hold on", "code": "hold"}
"""Arguments of a run that the test holds."""


@dataclass
class HeldRuns:
    """Runs whose code is ``hold`` last until the test releases them."""

    started: asyncio.Event = field(default_factory=asyncio.Event)
    release: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    requests: list[ExecuteRequest] = field(default_factory=list)
    agents_may_approve: bool = False

    async def execute(
        self, request: ExecuteRequest, *, emit: Callable[[Event], None] | None = None
    ) -> ExecuteResponse:
        self.requests.append(request)
        tell = emit or (lambda _: None)
        tell(TaskStart(run_id="r", at_ms=1, task_id="n1", tool="fs:read"))
        if request.code in FAILURES:
            raise FAILURES[request.code]
        if request.code == "hold":
            self.started.set()
            try:
                await self.release.wait()
            except asyncio.CancelledError:
                await asyncio.sleep(0)  # closing a run takes turns of the loop
                await asyncio.sleep(0)
                self.cancelled.set()
                raise
        tell(
            TaskEnd(
                run_id="r", at_ms=2, task_id="n1", tool="fs:read", success=True, duration_ms=12.0
            )
        )
        if request.code == "ask":
            return WAITING
        if request.code == "ask at length":
            long = msgspec.structs.replace(PLAN, arguments={"text": "x" * 2_000})
            return msgspec.structs.replace(WAITING, plan=long)
        if request.code == "ask for long calls":
            long_call = HeldCall(task_id="n1", tool="fs:write", arguments={"text": "x" * 2_000})
            return msgspec.structs.replace(WAITING, held=(long_call,))
        status = "error" if request.code == "fail" else "success"
        return ExecuteResponse(status=status, workflow_id="r", result=request.args)


PLAN = Plan(
    program=PlannedProgram(
        source_hash="0f" * 32,
        calls=(
            PlannedCall(
                id="n1",
                tool="fs:write",
                arguments={"path": PlannedArgument(value="a.txt")},
                line=1,
            ),
        ),
    ),
    tools=(Permission(tool="fs:write"),),
)
WAITING = ExecuteResponse(
    status="approval_required",
    workflow_id="w",
    intent="keep the notes",
    approval_id="a",
    approvals=(Permission(tool="fs:write"),),
    plan=PLAN,
    expires_at_ms=1_800_000_000_000,
    error=ExecuteError(code="approval_required", message="fs:write needs approval"),
)


@dataclass
class Steered:
    """One run, ``w``, that waits for an answer; what was said of it is kept."""

    said: list[tuple[object, Principal]] = field(default_factory=list)
    standing: ExecuteResponse = WAITING
    agents_may_approve: bool = False
    failure: Exception | None = None

    async def go_on(
        self,
        request: ContinueRequest,
        *,
        by: Principal,
        emit: Callable[[Event], None] | None = None,
    ) -> ExecuteResponse:
        return self._hear(request, by)

    async def abort(self, request: AbortRequest, *, by: Principal) -> ExecuteResponse:
        self.standing = ExecuteResponse(status="aborted", workflow_id="w")
        return self._hear(request, by)

    async def replan(
        self, request: ReplanRequest, *, by: Principal, emit: Callable[[Event], None] | None = None
    ) -> ExecuteResponse:
        return self._hear(request, by)

    async def answer(
        self,
        request: ApprovalAnswer,
        *,
        by: Principal,
        emit: Callable[[Event], None] | None = None,
    ) -> ExecuteResponse:
        if not by.role.may(Role.AGENT if self.agents_may_approve else Role.APPROVER):
            message = f"{by.name} is {by.role}, and to answer takes the role approver"
            raise NotAllowedError(message)
        status = "success" if request.approved else "aborted"
        self.standing = ExecuteResponse(status=status, workflow_id="w")
        return self._hear(request, by)

    async def status(self, run_id: str) -> ExecuteResponse:
        return self.standing

    async def root_of(self, run_id: str) -> str:
        return run_id

    def _hear(self, request: object, by: Principal) -> ExecuteResponse:
        self.said.append((request, by))
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure
        return self.standing


@dataclass
class Searched:
    """Counts how often it was told that it is outdated."""

    told: int = 0

    def outdated(self) -> None:
        self.told += 1


@dataclass
class StandIn:
    """Answers without a loop."""

    act: HeldRuns = field(default_factory=HeldRuns)
    steering: Steered = field(default_factory=Steered)
    store: Store = field(default_factory=memory_store)
    library: Searched = field(default_factory=Searched)
    feed: Feed = field(default_factory=lambda: Feed(Limits()))

    async def discover(self, request: DiscoverRequest, /) -> DiscoverResponse:
        if request.intent == "lost":
            message = "the database was lost"
            raise StoreError(message)
        tool = Discovered(
            type=Found.TOOL,
            id="fs:read",
            name="fs.read",
            score=0.5,
            description="Read a file.\nAll of it.",
            signature="mcp.fs.read(args: { path: string }): Promise<string>",
            tool_schemas=ToolSchemas(
                input_schema={"properties": {"path": {"default": None, "enum": [None, 1.0, 2**60]}}}
            ),
        )
        return DiscoverResponse(results=(tool,) * request.limit, total=100, next_offset=10)

    async def task_result(self, request: TaskResultRequest, /) -> TaskResultPage:
        msg = "result"
        raise NotFoundError(msg, request.task_id, "it has expired")


@dataclass(frozen=True)
class Served:
    """A stand-in that is reached over HTTP."""

    bench: StandIn
    app: HttpApp
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"


@asynccontextmanager
async def served(
    limits: Limits | None = None,
    body_s: float = BODY_S,
    heads: type[BoundedHeads] = BoundedHeads,
    connections: int = MAX_CONNECTIONS,
    *,
    deprecated: bool = False,
    resume_s: float = 0.05,
    keys_required: bool = False,
    heartbeat_s: float = 0.05,
) -> AsyncIterator[Served]:
    """A stand-in behind the real HTTP app on a real socket."""
    bench, limits = StandIn(), limits or Limits()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        app = http_app(
            Endpoint(bench, limits=limits, deprecated=deprecated),
            bench=bench,
            feed=bench.feed,
            keys_required=keys_required,
            heartbeat_s=heartbeat_s,
            allowed=Allowed.at("127.0.0.1", port),
            limits=limits,
            servers=lambda: (),
            body_s=body_s,
            resume_s=resume_s,
        )
        async with listening(app, listener, heads=heads, connections=connections):
            yield Served(bench, app, port)
