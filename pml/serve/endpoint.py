"""The MCP server that agents speak to: thin, over what answers requests (MCP-1, -2, -3, -6).

One tool call is one asyncio task of its own.  Transports cancel by anyio's rules, again and
again at every wait, which would interrupt the closing of a run; the task is cancelled once
instead, and waited for.
"""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from importlib.metadata import version
from typing import Any

import anyio
import msgspec
import structlog
from mcp.server import Server
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
)

from pml.domain.events import Event
from pml.domain.limits import Limits
from pml.domain.nearest import did_you_mean
from pml.domain.response import ExecuteRequest
from pml.domain.sanitising import redact_text
from pml.errors import NotFoundError, PmlError, RequestError
from pml.serve.arguments import (
    ArgumentChecker,
    InvalidArgumentsError,
    Json,
    discover_request,
    execute_request,
    task_result_request,
)
from pml.serve.definitions import (
    DISCOVER,
    EXECUTE,
    INSTRUCTIONS,
    tool_definitions,
)
from pml.serve.deprecated import DeprecatedTool, deprecated_tools
from pml.serve.ports import Bench
from pml.serve.progress import progress_of
from pml.serve.results import Answer, discovered, executed, read

BODY = "pml.body"
"""Key of an HTTP scope: the whole body of the request (`pml.serve.guard`)."""
GONE = "pml.gone"
"""Key of an HTTP scope: an `asyncio.Event`, set when the client has left (`pml.serve.guard`)."""
_LISTING_FRESH_MS = 3_600_000
"""The default tools do not change while a server runs."""

Answers = Coroutine[Any, Any, Answer]
_Context = ServerRequestContext[Any, Any]
_log = structlog.get_logger(__name__)


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
        self._under_way: set[asyncio.Task[Answer]] = set()
        self._closed = False
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

    async def close(self) -> None:
        """Cancel what runs, wait until it is closed, and take no more calls."""
        self._closed = True
        under_way = set(self._under_way)
        for task in under_way:
            task.cancel()
        if under_way:
            await asyncio.wait(under_way)

    async def _list_tools(
        self, _ctx: _Context, _params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(tools=list(self._tools))

    async def _call_tool(self, ctx: _Context, params: CallToolRequestParams) -> CallToolResult:
        arguments = params.arguments or {}
        if params.name == EXECUTE:
            answer = await self._with_errors(EXECUTE, arguments, partial(self._execute, ctx))
        elif old := self._deprecated.get(params.name):
            _log.warning("deprecated_tool", tool=params.name, instead=old.instead)
            work = partial(self._as_before, ctx, old)
            answer = await self._with_errors(params.name, arguments, work)
        else:
            answer = await self.answer(params.name, arguments)
        return answer.to_sdk()

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
        self, name: str, arguments: dict[str, Json], work: Callable[[dict[str, Json]], Answers]
    ) -> Answer:
        """Check the arguments and do the work; every failure is an `MCPError` in our words."""
        try:
            self._checkers[name].check(arguments)
            return await work(arguments)
        except InvalidArgumentsError as exc:
            problems = [redact_text(problem) for problem in exc.problems]
            raise MCPError(INVALID_PARAMS, redact_text(str(exc)), {"problems": problems}) from exc
        except (NotFoundError, RequestError) as exc:
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

    async def _execute(self, ctx: _Context, arguments: dict[str, Json]) -> Answer:
        return await self._run(ctx, execute_request(arguments))

    async def _as_before(
        self, ctx: _Context, old: DeprecatedTool, arguments: dict[str, Json]
    ) -> Answer:
        """Answer a deprecated tool on the path of what replaces it."""
        request = old.request(arguments)
        if isinstance(request, ExecuteRequest):
            return await self._run(ctx, request, old.note)
        found = await self._bench.discover(request)
        return discovered(msgspec.structs.replace(found, notes=(*found.notes, old.note)))

    async def _run(self, ctx: _Context, request: ExecuteRequest, *notes: str) -> Answer:
        """See a program through, with progress where the client wants it."""

        async def work(emit: Callable[[Event], None] | None = None) -> Answer:
            response = await self._bench.act.execute(request, emit=emit)
            response = msgspec.structs.replace(response, warnings=(*response.warnings, *notes))
            return executed(response, self._limits)

        gone: asyncio.Event | None = ctx.request.scope.get(GONE) if ctx.request else None
        if ctx.meta is None or "progress_token" not in ctx.meta:
            return await self._see_through(work(), gone)
        async with progress_of(ctx.session) as emit:
            return await self._see_through(work(emit), gone)

    async def _see_through(
        self, work: Coroutine[Any, Any, Answer], gone: asyncio.Event | None
    ) -> Answer:
        """Do ``work`` to its end, or cancel it with its request, with its client or on `close`."""
        if self._closed:
            work.close()
            raise MCPError(INTERNAL_ERROR, "PML is shutting down: try again when it is back")
        task = asyncio.create_task(work)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        left = None if gone is None else asyncio.create_task(gone.wait())
        try:
            await asyncio.wait({task, left} if left else {task}, return_when="FIRST_COMPLETED")
        finally:
            if left is not None:
                left.cancel()
            if not task.done():
                task.cancel()
                with anyio.CancelScope(shield=True):
                    await asyncio.wait({task})
        if task.cancelled():
            raise MCPError(INTERNAL_ERROR, "the run was cancelled")
        return task.result()
