"""What a REST route is, and the OpenAPI document of a table of them (OP-3).

One table says of each route who may use it, what it takes and what it answers; the server's
handlers and the document are both made of it, so that they cannot differ.  Schemas are those
by which records are read and written.
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Literal, TypeVar

import msgspec

from pml.domain.approval import Principal, Role
from pml.domain.record import Record
from pml.errors import RequestError
from pml.serve.problems import MEDIA_TYPE, Problem

_REF = "#/components/schemas/{name}"
_EVENT_STREAM = "text/event-stream"
KindT = TypeVar("KindT")


@dataclass(frozen=True, slots=True)
class Asked:
    """One request to a route, read and checked."""

    by: Principal
    path: Mapping[str, str]
    query: Any
    """Of `Route.query`."""
    body: Any
    """Of `Route.body`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One question or request."""

    method: Literal["GET", "POST", "DELETE"]
    path: str
    """With parameters in braces, all of them text."""
    role: Role
    """Which is needed."""
    summary: str
    answer: Callable[[Asked], Coroutine[Any, Any, Record]]
    returns: type[Record]
    query: type[Record] | None = None
    body: type[Record] | None = None

    @property
    def name(self) -> str:
        """Of the operation, in the document."""
        words = self.path.removeprefix("/api/").replace("{", "").replace("}", "")
        return f"{self.method.lower()}-{words.replace('/', '-').replace('_', '-')}"


class NoQuery(Record, frozen=True, kw_only=True):
    """Of a route that takes no query."""


def read_query(kind: type[Record] | None, given: Mapping[str, str]) -> Record:
    """The query of a request.

    Raises:
        RequestError: says which parameter, and what was expected.
    """
    try:
        return msgspec.convert(dict(given), kind or NoQuery, strict=False)
    except msgspec.ValidationError as exc:
        message = f"query: {_words(exc)}{_fields(kind or NoQuery)}"
        raise RequestError(message) from exc


def read_body(kind: type[KindT], body: bytes) -> KindT:
    """The body of a request; none is an object without fields.

    Raises:
        RequestError: says which field, and what was expected.
    """
    try:
        return msgspec.json.decode(body or b"{}", type=kind)
    except msgspec.ValidationError as exc:
        message = f"body: {_words(exc)}"
        raise RequestError(message) from exc
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
        message = f"body: expected JSON: {exc}"
        raise RequestError(message) from exc


def _fields(kind: type[Record]) -> str:
    """What a query may say, for whoever said something else."""
    names = [field.encode_name for field in msgspec.structs.fields(kind)]
    return f"; a query here may say {', '.join(names)}" if names else "; a query says nothing here"


def _words(exc: msgspec.ValidationError) -> str:
    what, _, where = str(exc).partition(" - at `")
    field = where.removesuffix("`").removeprefix("$").removeprefix(".")
    return f"{field}: {what[:1].lower()}{what[1:]}" if field else f"{what[:1].lower()}{what[1:]}"


def document(routes: Sequence[Route], streams: Mapping[str, str]) -> dict[str, Any]:
    """The OpenAPI 3.1 document; ``streams`` are paths of event streams, with their summaries."""
    kinds: list[type[Record]] = [Problem]
    for route in routes:
        kinds += [route.returns, *filter(None, (route.query, route.body))]
    unique = list(dict.fromkeys(kinds))
    schemas, components = msgspec.json.schema_components(unique, ref_template=_REF)
    schema_of = dict(zip(unique, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(
            route, schema_of, components
        )
    for path, summary in streams.items():
        paths[path] = {"get": _stream(path, summary, schema_of[Problem])}
    return {
        "openapi": "3.1.0",
        "info": {"title": "PML", "version": version("pml")},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"key": []}, {}],
    }


def _operation(
    route: Route, schema_of: Mapping[type[Record], Any], components: Mapping[str, Any]
) -> dict[str, Any]:
    answer = {"application/json": {"schema": schema_of[route.returns]}}
    operation: dict[str, Any] = {
        "operationId": route.name,
        "summary": route.summary,
        "description": f"Takes the role {route.role}.",
        "responses": {
            "200": {"description": "What was asked for.", "content": answer},
            **_problems(schema_of[Problem]),
        },
    }
    parameters = _path_parameters(route.path)
    if route.query is not None:
        parameters += _query_parameters(route.query, components)
    if parameters:
        operation["parameters"] = parameters
    if route.body is not None:
        content = {"application/json": {"schema": schema_of[route.body]}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _stream(path: str, summary: str, problem: Any) -> dict[str, Any]:  # noqa: ANN401  # a schema
    header = {"name": "last-event-id", "in": "header", "schema": {"type": "string"}}
    told = {_EVENT_STREAM: {"schema": {"type": "string"}}}
    return {
        "operationId": f"get-{path.removeprefix('/api/').replace('/', '-').strip('{}')}",
        "summary": summary,
        "description": f"Takes the role {Role.VIEWER}.",
        "parameters": [*_path_parameters(path), header],
        "responses": {
            "200": {"description": "Server-sent events.", "content": told},
            **_problems(problem),
        },
    }


def _path_parameters(path: str) -> list[dict[str, Any]]:
    names = [part[1:-1] for part in path.split("/") if part.startswith("{")]
    text = {"type": "string", "pattern": "^[^/]+$"}
    return [{"name": name, "in": "path", "required": True, "schema": text} for name in names]


def _query_parameters(kind: type[Record], components: Mapping[str, Any]) -> list[dict[str, Any]]:
    properties: dict[str, Any] = components[kind.__name__]["properties"]
    return [
        {"name": name, "in": "query", "required": False, "schema": schema}
        for name, schema in properties.items()
    ]


def _problems(schema: Any) -> dict[str, Any]:  # noqa: ANN401
    content = {MEDIA_TYPE: {"schema": schema}}
    return {
        status: {"description": words, "content": content} for status, words in _STATUSES.items()
    }


_STATUSES = {
    "400": "The request says something that cannot be used.",
    "401": "It came without a key that opens this, or with one that is unknown.",
    "403": "The key has not the role that this takes.",
    "404": "There is no such thing.",
    "408": "The body took too long.",
    "409": "It is too late: answered otherwise, or over.",
    "413": "The body is too large.",
    "500": "An error inside PML.",
    "503": "The database is lost, or PML is shutting down.",
}
