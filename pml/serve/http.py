"""The HTTP side: MCP at ``/mcp``, REST under ``/api``, ``/health`` (OP-3).

Answers are event streams where there may be progress to tell, and plain JSON else.
Sessions exist for clients of the older protocol revision only.
"""

import asyncio
import ipaddress
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import uvicorn
from litestar import Litestar, Request, asgi, get
from litestar.types import Receive, Scope, Send

from pml.domain.limits import Limits
from pml.errors import ConfigError
from pml.runtime.feed import Feed
from pml.runtime.upstream.status import ServerStatus
from pml.serve.access import HEALTH, PRINCIPAL, Keys
from pml.serve.api import api
from pml.serve.attendance import RESUME_S
from pml.serve.compose import Settings, now_ms, workbench
from pml.serve.endpoint import Endpoint
from pml.serve.event_stream import HEARTBEAT_S, EventStreams
from pml.serve.guard import BODY_S, Allowed, Guard
from pml.serve.heads import BoundedHeads
from pml.serve.mcp_mount import McpMount
from pml.serve.ports import Bench
from pml.serve.problems import as_response
from pml.serve.quick import QuickCalls
from pml.serve.ready import for_serving, get_ready
from pml.serve.rest import Rest
from pml.serve.resumption import ResumableSessions
from pml.serve.signals import stop_signal

MAX_SESSIONS = 1_000
"""Of the older revision; one more is refused until one of them ends or has been idle for long."""
SESSION_S = 600.0
"""A session without a request or an open stream for so long ends; its client has to begin anew."""
MAX_CONNECTIONS = 2_000
"""With one more, the silent one whose time ends first is closed; where all of them are being
answered, its request is answered with 503."""
KEEP_ALIVE_S = 30
GRACE_S = 3
"""What open connections get when the server stops; runs are closed before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpApp:
    """The app, and what has to be told when it stops."""

    endpoint: Endpoint
    guard: Guard
    sessions: ResumableSessions

    async def stop(self) -> None:
        """Cancel runs, wait until they are closed, end all answers."""
        await self.endpoint.close()
        self.guard.stop()


def http_app(
    endpoint: Endpoint,
    *,
    bench: Bench,
    feed: Feed,
    allowed: Allowed,
    limits: Limits,
    keys_required: bool = False,
    servers: Callable[[], tuple[ServerStatus, ...]],
    body_s: float = BODY_S,
    resume_s: float = RESUME_S,
    heartbeat_s: float = HEARTBEAT_S,
) -> HttpApp:
    """What an HTTP server serves; `HttpApp.sessions` has to be running."""
    sessions = ResumableSessions(
        endpoint.server,
        max_request_body_size=limits.request_bytes,
        max_sessions=MAX_SESSIONS,
        session_idle_timeout=SESSION_S,
    )
    mount = McpMount(QuickCalls(endpoint), sessions, sessions_kept=MAX_SESSIONS, resume_s=resume_s)

    @asgi("/mcp", is_mount=True, copy_scope=True)
    async def mcp(scope: Scope, receive: Receive, send: Send) -> None:
        await mount(scope, receive, send)

    @get(HEALTH, sync_to_thread=False)
    def health(request: Request[Any, Any, Any]) -> dict[str, Any]:
        """Whether PML serves, and, for who may know, how the servers stand."""
        said: dict[str, Any] = {"status": "ok", "version": version("pml")}
        if keys_required and PRINCIPAL not in request.scope:
            return said
        return said | {
            "servers": [
                {"name": server.name, "state": server.state.value, "error": server.error}
                for server in servers()
            ],
        }

    rest = Rest(bench=bench, now_ms=now_ms)
    events = EventStreams(feed, bench.store, heartbeat_s)
    app = Litestar(
        [mcp, health, *api(rest.routes(), events, endpoint.tracked)],
        openapi_config=None,
        logging_config=None,
        exception_handlers={Exception: as_response},
    )
    keys = Keys(bench.store.api_keys, required=keys_required, now_ms=now_ms)
    guard = Guard(app, allowed=allowed, keys=keys, limits=limits, body_s=body_s)
    return HttpApp(endpoint=endpoint, guard=guard, sessions=sessions)


class _Uvicorn(uvicorn.Server):
    """Leaves signals alone: theirs would end the process before the database is released."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def listening(
    app: HttpApp,
    listener: socket.socket,
    *,
    heads: type[BoundedHeads] = BoundedHeads,
    connections: int = MAX_CONNECTIONS,
) -> AsyncIterator[None]:
    """Serve until the block ends; then no run is left, and no connection."""
    config = uvicorn.Config(
        app.guard,
        http=heads,
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        limit_concurrency=connections,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=GRACE_S,
        server_header=False,
    )
    # Else the kernel holds the second part of each answer back for 40 ms (Nagle's algorithm);
    # asyncio sees to it only for sockets that it has made itself.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    server, ready = _Uvicorn(config), asyncio.Event()

    async def serve() -> None:  # in one task, from which the sessions are entered and left
        async with app.sessions.run():
            ready.set()
            await server.serve([listener])

    serving = asyncio.create_task(serve())
    await ready.wait()
    try:
        yield
    finally:
        server.should_exit = True
        await app.stop()
        await serving


async def serve_http(
    settings: Settings,
    *,
    host: str,
    port: int,
    announce: Callable[[str], None],
    allow_remote: bool = False,
    allowed_hosts: tuple[str, ...] = (),
    allowed_origins: tuple[str, ...] = (),
) -> None:
    """Offer PML at ``http://host:port/mcp`` until SIGINT or SIGTERM.

    Args:
        settings: what is opened.
        host: an address of this machine.
        port: 0 takes a free one.
        announce: told the URL once requests are answered.
        allow_remote: whether ``host`` may be reached from other machines.
        allowed_hosts: further values of ``Host``, such as a proxy's name.
        allowed_origins: further values of ``Origin``, such as a web client's.

    Raises:
        ConfigError: the address cannot be listened at, or is not this machine's alone.
        StoreError: the database cannot be had.
    """
    with _bound(host, port, allow_remote=allow_remote) as listener:
        port = listener.getsockname()[1]
        allowed = Allowed.at(host, port, hosts=allowed_hosts, origins=allowed_origins)
        feed = Feed(settings.limits)
        async with workbench(for_serving(settings), on_event=feed.emit, resumes=True) as bench:
            loading = asyncio.create_task(get_ready(bench))
            endpoint = Endpoint(bench, limits=settings.limits, deprecated=settings.deprecated_tools)
            app = http_app(
                endpoint,
                bench=bench,
                feed=feed,
                allowed=allowed,
                limits=settings.limits,
                keys_required=allow_remote,
                servers=bench.upstreams.status,
            )
            with stop_signal() as stop:
                async with listening(app, listener):
                    announce(f"http://{_in_url(host)}:{port}/mcp")
                    await stop.wait()
            loading.cancel()


@contextmanager
def _bound(host: str, port: int, *, allow_remote: bool) -> Iterator[socket.socket]:
    if not allow_remote and not _is_loopback(host):
        message = (
            f"{host} can be reached from other machines: listen at 127.0.0.1, or allow remote "
            "clients with --allow-remote; each of them needs a key then (`pml keys create`)"
        )
        raise ConfigError("--host", message)  # noqa: EM101  # the option, not a message
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=512)
    except OSError as exc:
        message = f"cannot listen at {host}:{port} ({exc.strerror}): choose another --port"
        raise ConfigError("--port", message) from exc  # noqa: EM101
    with listener:
        yield listener


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host
