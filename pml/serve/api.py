"""The REST routes as Litestar handlers: who asks, what was asked, errors as problem details."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

import msgspec
from litestar import HttpMethod, Request, Response
from litestar.exceptions import NotAuthorizedException
from litestar.handlers import HTTPRouteHandler
from litestar.response import Stream

from pml.domain.approval import Principal, Role
from pml.domain.outward import outward
from pml.domain.record import encode
from pml.errors import RequestError
from pml.runtime.feed import Position
from pml.serve.access import PRINCIPAL, must_be
from pml.serve.endpoint import BODY
from pml.serve.event_stream import EventStreams
from pml.serve.problems import CHALLENGE, DOCUMENT, as_response
from pml.serve.routes import Asked, Route, document, read_body, read_query
from pml.serve.tracked import Tracked

EVENTS = "/api/runs/{run_id}/events"
_STREAMS = {EVENTS: "What happens in a run, as it happens"}
ANONYMOUS = Principal(name="anonymous", role=Role.VIEWER)
"""Who asks from this machine without a key: reads only."""
_Request = Request[Any, Any, Any]


def api(
    routes: Sequence[Route], events: EventStreams, tracked: Tracked
) -> Iterator[HTTPRouteHandler]:
    """Handlers of all routes, of the event streams, and of the document."""
    for route in routes:
        yield _handler(route.method, route.path, _answering(route, tracked))
    yield _handler("GET", EVENTS, _streaming(events))
    text = msgspec.json.encode(document(routes, _STREAMS))

    async def told(_request: _Request) -> Response[Any]:
        return Response(text, media_type="application/json")

    yield _handler("GET", DOCUMENT, told)


def _handler(
    method: str, path: str, answer: Callable[[_Request], Awaitable[Response[Any] | Stream]]
) -> HTTPRouteHandler:
    async def handle(request: Request) -> Response:  # type: ignore[type-arg]
        return await answer(request)

    return HTTPRouteHandler(
        path.replace("}", ":str}"),
        http_method=HttpMethod(method),
        status_code=200,
        exception_handlers={Exception: as_response},
    )(handle)


def _answering(route: Route, tracked: Tracked) -> Callable[[_Request], Awaitable[Response[Any]]]:
    async def answer(request: _Request) -> Response[Any]:
        asked = Asked(
            by=_admitted(request, route.role, route.summary),
            path=request.path_params,
            query=read_query(route.query, _single(request)),
            body=None if route.body is None else read_body(route.body, request.scope[BODY]),  # type: ignore[literal-required]
        )
        record = await tracked.see_through(route.answer(asked))
        return Response(encode(outward(record)), media_type="application/json")

    return answer


def _streaming(events: EventStreams) -> Callable[[_Request], Awaitable[Stream]]:
    async def answer(request: _Request) -> Stream:
        _admitted(request, Role.VIEWER, "watch a run")
        read_query(None, _single(request))
        run = await events.store.runs.get(request.path_params["run_id"])
        last = request.headers.get("last-event-id", "")
        parts = events.of(run, Position.read(last))
        headers = {"cache-control": "no-cache, no-transform", "x-accel-buffering": "no"}
        return Stream(parts, media_type="text/event-stream", headers=headers)

    return answer


def _admitted(request: _Request, needed: Role, what: str) -> Principal:
    """Who asks, if they may.

    Raises:
        NotAuthorizedException: they have to say who they are.
        NotAllowedError: their key has not the role.
    """
    found: Principal | None = request.scope.get(PRINCIPAL)  # type: ignore[assignment]
    if found is None:
        if not ANONYMOUS.role.may(needed):
            message = (
                f"this takes a key of the role {needed}, as a bearer token in `Authorization`: "
                f"`pml keys create NAME --role {needed}` makes one"
            )
            raise NotAuthorizedException(message, headers=CHALLENGE)
        return ANONYMOUS
    must_be(needed, found, what[:1].lower() + what[1:])
    return found


def _single(request: _Request) -> dict[str, str]:
    """The query; a parameter that stands there twice means nothing.

    Raises:
        RequestError: one does.
    """
    query: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        if name in query:
            message = f"query: {name}: expected once, found more than once"
            raise RequestError(message)
        query[name] = value
    return query
