"""The MCP server that agents speak to: thin, over what answers requests (MCP-1, -2, -3, -6)."""

from collections.abc import Callable, Coroutine
from functools import partial
from importlib.metadata import version
from typing import Any, TypeVar

import msgspec
import structlog
from mcp.server import Server
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    ListToolsResult,
    PaginatedRequestParams,
)

from pml.domain.approval import Principal, Role
from pml.domain.limits import Limits
from pml.domain.nearest import did_you_mean
from pml.domain.response import ExecuteRequest, ExecuteResponse
from pml.domain.sanitising import redact_text
from pml.errors import (
    ApprovalStateError,
    NotAllowedError,
    NotFoundError,
    PmlError,
    RequestError,
)
from pml.serve.access import must_be, person_at, principal_of
from pml.serve.arguments import (
    ArgumentChecker,
    InvalidArgumentsError,
    Json,
    discover_request,
    task_result_request,
)
from pml.serve.attendance import Attendance, attendance_of
from pml.serve.definitions import (
    DISCOVER,
    EXECUTE,
    INSTRUCTIONS,
    tool_definitions,
)
from pml.serve.deprecated import DeprecatedTool, deprecated_tools
from pml.serve.ports import Bench, Emit
from pml.serve.progress import progress_of
from pml.serve.results import Answer, discovered, read
from pml.serve.runs import Result, RunCall, Work, work_of
from pml.serve.steering_tools import STEERING
from pml.serve.tracked import CancelledWorkError, ShuttingDownError, Tracked

BODY = "pml.body"
"""Key of an HTTP scope: the whole body of the request (`pml.serve.guard`)."""
GONE = "pml.gone"
"""Key of an HTTP scope: an `asyncio.Event`, set when the client has left (`pml.serve.guard`)."""
_SEALED = "mcp request state"
"""What the key of the seal is derived from, besides the store's own key."""
_LISTING_FRESH_MS = 3_600_000
"""The default tools do not change while a server runs."""

Answered = TypeVar("Answered")
_Context = ServerRequestContext[Any, Any]
_log = structlog.get_logger(__name__)


def _name_of_caller(ctx: _Context) -> str:
    return principal_of(ctx.request.scope if ctx.request else None, ctx.session).name


class Endpoint:
    """Serves one bench to any number of connections.

    Invariant: after `close` no tool call is running.
    """

    def __init__(self, bench: Bench, *, limits: Limits, deprecated: bool = False) -> None:
        """Serve ``bench``; ``deprecated`` lists the tools of before too (MCP-4)."""
        self._bench = bench
        self._limits = limits
        self._deprecated = deprecated_tools(limits)
        of_before = tuple(tool.definition for tool in self._deprecated.values())
        self._tools = (*tool_definitions(limits), *(of_before if deprecated else ()))
        self._checkers = {
            tool.name: ArgumentChecker(tool) for tool in (*tool_definitions(limits), *of_before)
        }
        self.tracked = Tracked()
        self.server: Server[Any] = Server(
            "pml",
            version=version("pml"),
            title="PML",
            instructions=INSTRUCTIONS,
            cache_hints={"tools/list": CacheHint(ttl_ms=_LISTING_FRESH_MS, scope="public")},
            get_tool_input_schema=lambda _: None,  # no argument travels as a header
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )
        # Sealed by the store's key: a question outlives a restart, and any replica reads it.
        seal = RequestStateSecurity(
            keys=[bench.store.hmac(_SEALED)],
            ttl=limits.waiting_ttl_s,
            bind_principal=_name_of_caller,
        )
        self.server.middleware.append(RequestStateBoundary(seal, default_audience="pml"))

    async def close(self) -> None:
        """Cancel what runs, wait until it is closed, and take no more calls."""
        await self.tracked.close()

    async def _list_tools(
        self, _ctx: _Context, _params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(tools=list(self._tools))

    async def _call_tool(self, ctx: _Context, params: CallToolRequestParams) -> Result:
        arguments = params.arguments or {}
        work: Callable[[dict[str, Json]], Coroutine[Any, Any, Result]]
        if params.name == EXECUTE or params.name in STEERING:
            work = partial(self._run, ctx, params)
        elif old := self._deprecated.get(params.name):
            _log.warning("deprecated_tool", tool=params.name, instead=old.instead)
            work = partial(self._as_before, ctx, params, old)
        else:
            return (await self.answer(params.name, arguments)).to_sdk()
        return await self._with_errors(params.name, arguments, work)

    async def answer(self, name: str, arguments: dict[str, Json]) -> Answer:
        """Answer one of the `QUICK` tools.

        Raises:
            MCPError: there is no such tool, or it does not answer; says why.
        """
        names = [tool.name for tool in self._tools]
        if name not in names:
            hint = did_you_mean(name, names) or f"; expected one of {', '.join(names)}"
            raise MCPError(INVALID_PARAMS, f"name: no tool {name!r}{hint}")
        work = self._discover if name == DISCOVER else self._task_result
        return await self._with_errors(name, arguments, work)

    async def _with_errors(
        self,
        name: str,
        arguments: dict[str, Json],
        work: Callable[[dict[str, Json]], Coroutine[Any, Any, Answered]],
    ) -> Answered:
        """Check the arguments and do the work; every failure is an `MCPError` in our words."""
        try:
            self._checkers[name].check(arguments)
            return await work(arguments)
        except InvalidArgumentsError as exc:
            problems = [redact_text(problem) for problem in exc.problems]
            raise MCPError(INVALID_PARAMS, redact_text(str(exc)), {"problems": problems}) from exc
        except (NotFoundError, RequestError, NotAllowedError, ApprovalStateError) as exc:
            raise MCPError(INVALID_PARAMS, redact_text(str(exc))) from exc
        except PmlError as exc:
            _log.warning("request_failed", tool=name, exc_info=exc)
            raise MCPError(INTERNAL_ERROR, redact_text(str(exc))) from exc
        except MCPError:
            raise
        except Exception as exc:
            _log.exception("request_failed", tool=name)
            message = "an error inside PML; its log says which"
            raise MCPError(INTERNAL_ERROR, message) from exc

    async def _discover(self, arguments: dict[str, Json]) -> Answer:
        return discovered(await self._bench.discover(discover_request(arguments)))

    async def _task_result(self, arguments: dict[str, Json]) -> Answer:
        request = task_result_request(arguments)
        try:
            return read(await self._bench.task_result(request))
        except NotFoundError as exc:  # its words are for who has a shell
            message = (
                f"no result {request.task_id!r} of {request.workflow_id!r}: it is unknown (take "
                f"workflowId, and taskId of one of the tasks or `result`, from an answer of "
                f"{EXECUTE}), or it has expired, {self._limits.result_ttl_s // 60} minutes after "
                "its run (run it again)"
            )
            raise RequestError(message) from exc

    async def _as_before(
        self,
        ctx: _Context,
        params: CallToolRequestParams,
        old: DeprecatedTool,
        arguments: dict[str, Json],
    ) -> Result:
        """Answer a deprecated tool on the path of what replaces it."""
        request = old.request(arguments)
        if not isinstance(request, ExecuteRequest):
            found = await self._bench.discover(request)
            found = msgspec.structs.replace(found, notes=(*found.notes, old.note))
            return discovered(found).to_sdk()

        async def work(by: Principal, emit: Emit | None) -> ExecuteResponse:  # noqa: ARG001
            response = await self._bench.act.execute(request, emit=emit)
            warnings = (*response.warnings, old.note)
            return msgspec.structs.replace(response, warnings=warnings)

        return await self._see_run_through(ctx, params, work)

    async def _run(
        self, ctx: _Context, params: CallToolRequestParams, arguments: dict[str, Json]
    ) -> Result:
        work = work_of(self._bench, params.name, arguments)
        return await self._see_run_through(ctx, params, work)

    async def _see_run_through(
        self, ctx: _Context, params: CallToolRequestParams, work: Work
    ) -> Result:
        """With progress where the client wants it."""
        scope = ctx.request.scope if ctx.request else None
        by = principal_of(scope, ctx.session)
        must_be(Role.AGENT, by, f"call {params.name}")
        person = person_at(scope, ctx.session)
        call = RunCall(self._bench, self._limits, by, person, ctx.session, ctx.request_id)
        client = attendance_of(scope)
        if ctx.meta is None or "progress_token" not in ctx.meta:
            return await self._see_through(call.result(params, work, None), client)
        async with progress_of(ctx.session) as emit:
            return await self._see_through(call.result(params, work, emit), client)

    async def _see_through(
        self, work: Coroutine[Any, Any, Result], client: Attendance | None
    ) -> Result:
        try:
            return await self.tracked.see_through(work, client)
        except ShuttingDownError as exc:
            message = "PML is shutting down: try again when it is back"
            raise MCPError(INTERNAL_ERROR, message) from exc
        except CancelledWorkError as exc:
            raise MCPError(INTERNAL_ERROR, "the run was cancelled") from exc
