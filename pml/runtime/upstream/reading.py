"""What an error of the SDK means for a call or a connection, in PML's own terms."""

import json
from typing import Any

from mcp import MCPError
from mcp_types import CONNECTION_CLOSED, INVALID_PARAMS, METHOD_NOT_FOUND

from pml.domain.record import JsonText
from pml.domain.run import Failed
from pml.errors import OutcomeUnknownError, UpstreamUnavailableError
from pml.runtime.upstream.faults import FaultKind, Faults

_CODES = {INVALID_PARAMS: "invalid_params", METHOD_NOT_FOUND: "unknown_tool"}


class SessionGoneError(UpstreamUnavailableError):
    """The session has ended and the request was not acted on: a new session may send it."""


def read_error(server: str, exc: MCPError, faults: Faults) -> Failed:
    """The outcome of a request that was answered with ``exc``.

    Raises:
        SessionGoneError: the server knows the session no more.
        UpstreamUnavailableError: the server was not reached or did not act on the request.
        OutcomeUnknownError: the connection ended before the answer.
    """
    match faults.kind(exc.data):
        case FaultKind.TOO_LARGE:
            return Failed(code="too_large", message=exc.message)
        case FaultKind.UNREADABLE:
            return Failed(code="bad_result", message=exc.message)
        case FaultKind.SESSION_GONE:
            raise SessionGoneError(server, exc.message) from exc
        case FaultKind.NOT_SENT | FaultKind.REFUSED:
            raise UpstreamUnavailableError(server, exc.message) from exc
        case FaultKind.LOST:
            raise OutcomeUnknownError(server, exc.message, timed_out=False) from exc
        case None if _closed(exc):
            message = "the connection ended before the answer came"
            raise OutcomeUnknownError(server, message, timed_out=False) from exc
        case None:
            code = _CODES.get(exc.code, "tool_error")
            return Failed(code=code, message=exc.message, data=_data(exc))


def connect_failure(exc: BaseException, faults: Faults) -> str:
    """Why a session could not be opened or broke, for people."""
    while isinstance(exc, BaseExceptionGroup):
        exc = exc.exceptions[0]
    if isinstance(exc, FileNotFoundError):
        return f"cannot be started: no such program or directory: {exc.filename!r}"
    if isinstance(exc, OSError):
        return f"cannot be started: {exc.strerror or exc}"
    if isinstance(exc, MCPError):
        if faults.kind(exc.data) is not None:
            return exc.message
        if _closed(exc):
            return "ended before it answered"
        return f"refused the connection: {exc.message} (JSON-RPC {exc.code})"
    return f"{type(exc).__name__}: {exc}"


def _closed(exc: MCPError) -> bool:
    """Whether the SDK itself says that the connection ended; servers use the same code."""
    return exc.code == CONNECTION_CLOSED and exc.message.startswith(
        ("Connection closed", "SSE stream")
    )


def _data(exc: MCPError) -> JsonText:
    facts: dict[str, Any] = {"jsonrpcCode": exc.code}
    if exc.data is not None:
        facts["data"] = exc.data
    try:
        return json.dumps(facts, ensure_ascii=False, allow_nan=False)
    except (ValueError, RecursionError):
        return json.dumps({"jsonrpcCode": exc.code})
