"""``/mcp`` over HTTP: which way a request goes, and whether its client comes back.

Sessions exist in the older revision only.  Of a session the revision is known that it was
begun with, and holds whatever its requests say later: clients exist that say another one.
"""

from collections import OrderedDict
from weakref import WeakValueDictionary

import msgspec
from litestar.types import Message, Receive, Scope, Send
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from pml.serve.attendance import ATTENDANCE, RESUME_S, Attendance, Session
from pml.serve.endpoint import BODY, GONE
from pml.serve.quick import QuickCalls
from pml.serve.resumption import ResumableSessions

_SESSION = b"mcp-session-id"
_VERSION = b"mcp-protocol-version"


class _Initialize(msgspec.Struct):
    method: str
    params: "_InitializeParams"


class _InitializeParams(msgspec.Struct):
    version: str = msgspec.field(name="protocolVersion")


class McpMount:
    """An ASGI app."""

    def __init__(
        self,
        quick: QuickCalls,
        sessions: ResumableSessions,
        *,
        sessions_kept: int,
        resume_s: float = RESUME_S,
    ) -> None:
        self._quick = quick
        self._sessions = sessions
        self._resume_s = resume_s
        self._coming_back = WeakValueDictionary[str, Session]()
        self._versions = OrderedDict[str, bytes]()
        self._sessions_kept = sessions_kept

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if await self._quick.answered(scope, send):
            return
        headers = dict(scope["headers"])
        named = headers.get(_SESSION)
        if named is None:
            scope[ATTENDANCE] = Attendance(scope[GONE])  # type: ignore[literal-required]
            send = self._noting_version(scope, send)
        else:
            self._within(named.decode("latin-1"), b"last-event-id" in headers, scope)
        await self._sessions.handle_request(scope, receive, send)  # type: ignore[arg-type]

    def _within(self, session_id: str, resumes: bool, scope: Scope) -> None:
        """Note whose stream it is, and the revision of the session."""
        gone = scope[GONE]  # type: ignore[literal-required]
        session = self._coming_back.setdefault(session_id, Session())
        if resumes and scope["method"] == "GET":  # type: ignore[typeddict-item]
            session.resume(gone)
        scope[ATTENDANCE] = Attendance(gone, session, self._resume_s)  # type: ignore[literal-required]
        version = self._versions.get(session_id)
        if version is not None:
            others = [(n, v) for n, v in scope["headers"] if n != _VERSION]
            scope["headers"] = [*others, (_VERSION, version)]

    def _noting_version(self, scope: Scope, send: Send) -> Send:
        """Where a session begins, its revision is noted."""
        version = _asked_version(scope[BODY])  # type: ignore[literal-required]
        if version is None:
            return send

        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start":
                session = dict(message["headers"]).get(_SESSION)
                if session is not None:
                    self._versions[session.decode("latin-1")] = version.encode()
                    if len(self._versions) > self._sessions_kept:
                        self._versions.popitem(last=False)
            await send(message)

        return noting


def _asked_version(body: bytes) -> str | None:
    """The revision that a session will have; None where the SDK chooses another one."""
    try:
        begun = msgspec.json.decode(body, type=_Initialize)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    version = begun.params.version
    return version if begun.method == "initialize" and version in _HANDSHAKES else None


_HANDSHAKES = frozenset(HANDSHAKE_PROTOCOL_VERSIONS)
