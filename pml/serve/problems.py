"""Errors of the REST side as problem details (RFC 9457): what was expected, and what to do."""

from collections.abc import Mapping
from typing import Any

import msgspec
import structlog
from litestar import Request, Response
from litestar.exceptions import HTTPException, MethodNotAllowedException, NotFoundException
from litestar.status_codes import (
    HTTP_400_BAD_REQUEST,
    HTTP_403_FORBIDDEN,
    HTTP_404_NOT_FOUND,
    HTTP_409_CONFLICT,
    HTTP_500_INTERNAL_SERVER_ERROR,
    HTTP_503_SERVICE_UNAVAILABLE,
)

from pml.domain.record import Record, to_builtins
from pml.domain.sanitising import redact_text
from pml.errors import (
    ApprovalStateError,
    NotAllowedError,
    NotFoundError,
    PmlError,
    RequestError,
    RunStateError,
    StoreError,
)
from pml.serve.tracked import CancelledWorkError, ShuttingDownError

DOCUMENT = "/api/openapi.json"
MEDIA_TYPE = "application/problem+json"
CHALLENGE = {"www-authenticate": 'Bearer realm="pml"'}
"""What an answer with 401 says of how to do better."""

_log = structlog.get_logger(__name__)


class Problem(Record, frozen=True, kw_only=True):
    """Why a request was not done."""

    title: str
    status: int
    detail: str
    """What was found, what was expected, what to do."""


_STATUS: Mapping[type[Exception], int] = {
    NotFoundError: HTTP_404_NOT_FOUND,
    NotAllowedError: HTTP_403_FORBIDDEN,
    RequestError: HTTP_400_BAD_REQUEST,
    ApprovalStateError: HTTP_409_CONFLICT,
    RunStateError: HTTP_409_CONFLICT,
    StoreError: HTTP_503_SERVICE_UNAVAILABLE,
    ShuttingDownError: HTTP_503_SERVICE_UNAVAILABLE,
    CancelledWorkError: HTTP_503_SERVICE_UNAVAILABLE,
}
_TITLES = {
    400: "the request says something that PML cannot use",
    401: "who asks is not known",
    403: "who asks may not do this",
    404: "there is no such thing",
    405: "this cannot be done here",
    408: "the request took too long",
    409: "it is too late for this",
    413: "the request is too large",
    503: "PML cannot do this at the moment",
}


def problem(status: int, detail: str) -> Problem:
    """A problem with the title of its status."""
    return Problem(title=_TITLES.get(status, "an error"), status=status, detail=detail)


def as_response(request: Request[Any, Any, Any], exc: Exception) -> Response[Any]:
    """What a request is answered with that failed."""
    if isinstance(exc, NotFoundException | MethodNotAllowedException):
        detail = f"{request.method} {request.url.path}: {DOCUMENT} lists what there is"
        return _response(problem(exc.status_code, redact_text(detail)), dict(exc.headers or {}))
    if isinstance(exc, HTTPException):
        found = problem(exc.status_code, redact_text(exc.detail))
        return _response(found, dict(exc.headers or {}))
    for kind, status in _STATUS.items():
        if isinstance(exc, kind):
            detail = str(exc) or "PML is shutting down: try again when it is back"
            return _response(problem(status, redact_text(detail)))
    _log.error("request_failed", exc_info=exc)
    status = HTTP_500_INTERNAL_SERVER_ERROR
    detail = redact_text(str(exc)) if isinstance(exc, PmlError) else _INSIDE
    return _response(problem(status, detail))


_INSIDE = "an error inside PML; its log says which"


def _response(found: Problem, headers: dict[str, str] | None = None) -> Response[Any]:
    return Response(
        msgspec.json.encode(to_builtins(found)),
        status_code=found.status,
        media_type=MEDIA_TYPE,
        headers=headers,
    )
