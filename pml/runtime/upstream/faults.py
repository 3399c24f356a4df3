"""Answers that our transports make up when a server's own answer is missing or unusable.

They travel through the SDK as ordinary JSON-RPC errors, so that one bad answer fails one
request and not the session.  A random token tells them from what servers say.
"""

import secrets
from enum import StrEnum
from typing import Any

from mcp_types import INTERNAL_ERROR, ErrorData, JSONRPCError, RequestId

from pml.domain.limits import Limits


class FaultKind(StrEnum):
    """What is known of a request whose answer cannot be used."""

    TOO_LARGE = "too_large"
    UNREADABLE = "unreadable"
    NOT_SENT = "not_sent"
    SESSION_GONE = "session_gone"
    REFUSED = "refused"
    LOST = "lost"


class Faults:
    """Makes and recognises the answers of one connection."""

    def __init__(self, limits: Limits) -> None:
        self._limit = limits.result_bytes
        self._token = secrets.token_hex(16)

    def kind(self, data: Any) -> FaultKind | None:  # noqa: ANN401
        """Which fault the data of an error stands for; None if the server sent it."""
        if isinstance(data, dict) and data.get("token") == self._token:
            return FaultKind(data["kind"])
        return None

    def too_large(self, request: RequestId, size: int) -> JSONRPCError:
        """The answer has ``size`` bytes, or at least so many."""
        return self.make(request, FaultKind.TOO_LARGE, too_large(size, self._limit))

    def unreadable(self, request: RequestId, reason: str) -> JSONRPCError:
        """The answer is no JSON-RPC message in UTF-8."""
        message = f"the server's answer cannot be read: {reason}"
        return self.make(request, FaultKind.UNREADABLE, message)

    def make(self, request: RequestId, kind: FaultKind, message: str) -> JSONRPCError:
        """Any fault."""
        data = {"token": self._token, "kind": kind.value}
        error = ErrorData(code=INTERNAL_ERROR, message=message, data=data)
        return JSONRPCError(jsonrpc="2.0", id=request, error=error)


def too_large(size: int, limit: int) -> str:
    """What happened, the limit, and what to do."""
    return (
        f"the result has about {size:,} bytes, the limit is {limit:,} (result_bytes): ask the "
        "tool for less (a range, a page, a filter), or raise the limit in limits.yaml"
    )
