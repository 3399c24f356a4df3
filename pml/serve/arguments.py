"""Arguments of a tool call, checked against the tool's own input schema (MCP-6).

The schema decides what is accepted; this module only finds the words: which field, what
was expected there, what was found, and what to do.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import jsonschema_rs
import msgspec
from mcp_types import Tool

from pml.domain.dag import ExplicitDag, read_dag
from pml.domain.discovery import DiscoverRequest
from pml.domain.nearest import did_you_mean
from pml.domain.record import RecordT
from pml.domain.response import DEFAULT_TIMEOUT_MS, ExecuteRequest
from pml.domain.sanitising import redact
from pml.domain.steering import AbortRequest, ApprovalAnswer, ContinueRequest, ReplanRequest
from pml.domain.task_result import TaskResultRequest
from pml.errors import RequestError

Json: TypeAlias = Any
"""Dicts, lists and scalars."""

NOT_YET = frozenset({"explorePath", "confirm"})
"""Fields that PML's documents name and this version does not have."""
_SHOWN_CHARS = 60
_FENCE = "```"
"""No program that does anything begins so."""


class InvalidArgumentsError(ValueError):
    """Arguments that a tool does not take; each problem begins with its field."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class ArgumentChecker:
    """Checks the arguments of one tool."""

    def __init__(self, tool: Tool) -> None:
        self._schema: dict[str, Any] = tool.input_schema
        self._validator = jsonschema_rs.Draft202012Validator(self._schema)

    def check(self, arguments: Mapping[str, Json]) -> None:
        """Accept the arguments.

        Raises:
            InvalidArgumentsError: says every field that is wrong.
        """
        try:
            json.dumps(arguments, ensure_ascii=False, allow_nan=False).encode()
            found = tuple(self._problems(arguments))
        except UnicodeEncodeError:
            found = ("arguments: expected text, found half of a surrogate pair",)
        except ValueError as exc:  # NaN, or a number that no decoder takes
            found = (f"arguments: expected JSON: {exc}",)
        if found:
            raise InvalidArgumentsError(found)

    def _problems(self, arguments: Mapping[str, Json]) -> Iterator[str]:
        for error in self._validator.iter_errors(arguments):
            path = tuple(map(str, error.instance_path))
            here = self._schema_at(path)
            kind = error.kind
            if isinstance(kind, jsonschema_rs.ValidationErrorKind.AdditionalProperties):
                for name in kind.unexpected:
                    yield f"{_field(path, name)}: {_unknown(name, here)}"
            elif isinstance(kind, jsonschema_rs.ValidationErrorKind.Required):
                name = kind.property
                expected = _expected(here["properties"][name])
                yield f"{_field(path, name)}: expected {expected}, got nothing"
            else:
                expected = _expected(here)
                yield f"{_field(path)}: expected {expected}, got {_shown(error.instance)}"

    def _schema_at(self, path: tuple[str, ...]) -> dict[str, Any]:
        schema = self._schema
        for name in path:
            schema = schema["items"] if "items" in schema else schema["properties"][name]
        return schema


def execute_request(arguments: Mapping[str, Json]) -> ExecuteRequest:
    """The request of checked arguments of `pml_execute`.

    Raises:
        InvalidArgumentsError: the program's arguments are given in both places, the code is
            Markdown, or the workflow is none.
    """
    options = arguments.get("options", {})
    if "args" in options and "context" in arguments:
        message = "context: means the same as options.args: give one of them"
        raise InvalidArgumentsError((message,))
    return ExecuteRequest(
        intent=arguments["intent"],
        code=_code(arguments.get("code", "")),
        dag=dag_of(arguments["dag"]) if "dag" in arguments else None,
        args=options.get("args", arguments.get("context", {})),
        timeout_ms=int(options.get("timeout", DEFAULT_TIMEOUT_MS)),
        dry_run=options.get("dryRun", False),
        dry_run_mocks=options.get("dryRunMocks", {}),
        per_layer_validation=options.get("per_layer_validation", False),
    )


def dag_of(value: Json, at: str = "dag") -> ExplicitDag:
    """The workflow of checked arguments.

    Raises:
        InvalidArgumentsError: it is none; says which field.
    """
    try:
        return read_dag(value, at)
    except RequestError as exc:
        raise InvalidArgumentsError((str(exc),)) from exc


def _code(text: str) -> str | None:
    """The program; None where there is none, which models tend to say as an empty text."""
    code = text.strip()
    if code.startswith(_FENCE):
        problem = f"code: expected TypeScript without Markdown fences, got {_shown(text)}"
        raise InvalidArgumentsError((problem,))
    return text if code else None


def continue_request(arguments: Mapping[str, Json]) -> ContinueRequest:
    """The request of checked arguments of `pml_continue`."""
    return _record(arguments, ContinueRequest)


def abort_request(arguments: Mapping[str, Json]) -> AbortRequest:
    """The request of checked arguments of `pml_abort`."""
    return _record(arguments, AbortRequest)


def replan_request(arguments: Mapping[str, Json]) -> ReplanRequest:
    """The request of checked arguments of `pml_replan`."""
    options = arguments.get("options", {})
    plain = {n: v for n, v in arguments.items() if n not in ("options", "code", "dag")}
    request = _record(plain, ReplanRequest)
    return msgspec.structs.replace(
        request,
        code=_code(arguments.get("code", "")),
        dag=dag_of(arguments["dag"]) if "dag" in arguments else None,
        args=options.get("args", {}),
        timeout_ms=int(options.get("timeout", DEFAULT_TIMEOUT_MS)),
        per_layer_validation=options.get("per_layer_validation"),
    )


def approval_answer(arguments: Mapping[str, Json]) -> ApprovalAnswer:
    """The request of checked arguments of `pml_approval_response`."""
    return _record(arguments, ApprovalAnswer)


def _record(arguments: Mapping[str, Json], kind: type[RecordT]) -> RecordT:
    """Arguments as a record, which may say more of what is inside than the schema.

    Raises:
        InvalidArgumentsError: says where, and what was expected.
    """
    try:
        return msgspec.convert(arguments, kind)
    except msgspec.ValidationError as exc:
        what, _, where = str(exc).partition(" - at `$.")
        field = where.removesuffix("`") or "arguments"
        raise InvalidArgumentsError((f"{field}: {what[:1].lower()}{what[1:]}",)) from exc


def discover_request(arguments: Mapping[str, Json]) -> DiscoverRequest:
    """The request of checked arguments of `pml_discover`."""
    return msgspec.convert(arguments, DiscoverRequest, strict=False)


def task_result_request(arguments: Mapping[str, Json]) -> TaskResultRequest:
    """The request of checked arguments of `pml_get_task_result`; 1.0 is an integer to a schema."""
    whole: dict[str, Any] = {
        name: int(value) if isinstance(value, float) else value for name, value in arguments.items()
    }
    return TaskResultRequest(**whole)


def _field(path: tuple[str, ...], *more: str) -> str:
    return ".".join((*path, *more)) or "arguments"


def _unknown(name: str, schema: Mapping[str, Any]) -> str:
    if name in NOT_YET:
        return "is not available yet in this version of PML: leave it out"
    known = sorted(schema["properties"])
    return f"no such field{did_you_mean(name, known)}; expected only {', '.join(known)}"


def _expected(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return "one of " + ", ".join(json.dumps(value) for value in schema["enum"])
    kinds = {
        "string": "text",
        "integer": "a whole number",
        "number": "a number",
        "object": "an object",
        "boolean": "true or false",
        "array": "a list",
    }
    what: str = schema.get("title") or kinds[schema["type"]]
    low, high = schema.get("minimum"), schema.get("maximum")
    if high is not None:
        what += f" from {low:,} to {high:,}"
    elif low is not None:
        what += f" from {low:,} on"
    if "maxLength" in schema:
        what += f", at most {schema['maxLength']:,} characters"
    return what


def _shown(value: Json) -> str:
    text = json.dumps(redact(value), ensure_ascii=False)  # before the cut: half a secret shows
    if len(text) <= _SHOWN_CHARS:
        return text
    length = len(value) if isinstance(value, str) else len(text)
    return f"{text[:_SHOWN_CHARS]}... ({length:,} characters)"
