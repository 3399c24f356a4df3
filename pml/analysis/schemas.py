"""What JSON Schemas say about arguments: missing, unknown and wrong ones, and how much is given."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import jsonschema_rs

from pml.domain.nearest import nearest
from pml.domain.structure import SPREAD, Argument, Coverage, Literal
from pml.domain.tools import Tool

_Schema = Mapping[str, Any]


def properties(schema: _Schema | None) -> dict[str, Any]:
    """The schemas of an object's fields by name."""
    found = (schema or {}).get("properties")
    return found if isinstance(found, dict) else {}


def required(schema: _Schema) -> frozenset[str]:
    """Names of the fields that must be given."""
    found = schema.get("required")
    return (
        frozenset(n for n in found if isinstance(n, str))
        if isinstance(found, list)
        else frozenset()
    )


def _types(schema: object) -> set[str]:
    found = schema.get("type") if isinstance(schema, dict) else None
    names = found if isinstance(found, list) else [found]
    return {name for name in names if isinstance(name, str)}


def coverage(consumer: Tool, covered: Collection[str]) -> Coverage | None:
    """How much of the consumer's input the covered fields are (SA-10); None for nothing."""
    fields = set(covered) & set(properties(consumer.input_schema))
    needed = required(consumer.input_schema)
    if not fields:
        return None
    if not needed & fields:
        return Coverage.OPTIONAL
    return Coverage.STRICT if needed <= fields else Coverage.PARTIAL


def violations(
    tool: Tool, arguments: Mapping[str, Argument], *, in_object: bool
) -> Iterator[tuple[str, str | None, str]]:
    """What is certainly wrong with the arguments: a code, the field if any, and a sentence.

    Only literal arguments are judged; a field counts as missing only if nothing is spread.
    ``in_object`` says that the arguments stand in one object literal: then what is spread may
    also be the value of a key that is computed.
    """
    spread = arguments.get(SPREAD)
    if isinstance(spread, Literal) and not in_object:
        message = f"{tool.id} takes one object with its arguments, not a {_named(spread.value)}"
        yield "bad-argument", None, message
        return
    named = {n: a for n, a in arguments.items() if n != SPREAD}
    literals = {n: a.value for n, a in named.items() if isinstance(a, Literal)}
    whole = len(literals) == len(arguments)
    try:
        validator = jsonschema_rs.validator_for(tool.input_schema, offline=True)
        errors = list(validator.iter_errors(literals))
    except (ValueError, jsonschema_rs.ReferencingError):
        return  # the server's schema is unusable: the server itself will judge
    for error in errors:
        if error.instance_path:
            where = _pointer(error.instance_path)
            message = f"argument {where} of {tool.id}: {error.message}"
            yield "bad-argument", str(error.instance_path[0]), message
        elif error.kind.name == "required":
            missing = error.kind.as_dict()["property"]
            if spread is None and missing not in arguments:
                message = f"{tool.id} needs the argument {missing!r}{_expected(tool, missing)}"
                yield "missing-argument", None, message
        elif error.kind.name == "additionalProperties":
            for name in error.kind.as_dict()["unexpected"]:
                message = f"{tool.id} has no argument {name!r}{_nearest(tool, name)}"
                yield "bad-argument", name, message
        elif whole:
            yield "bad-argument", None, f"arguments of {tool.id}: {error.message}"


def faults(schema: dict[str, Any], value: object) -> list[tuple[str, str]]:
    """What the schema refuses in a value: where (empty for the whole), and a sentence."""
    try:
        validator = jsonschema_rs.validator_for(schema, offline=True)
        errors = list(validator.iter_errors(value))
    except (ValueError, jsonschema_rs.ReferencingError):
        return []  # the server's schema is unusable: the server itself will judge
    return [(_steps(error.instance_path), error.message) for error in errors]


def _pointer(path: list[str | int]) -> str:
    first, *rest = path
    return str(first) + _steps(rest)


def _steps(path: list[str | int]) -> str:
    return "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in path)


def _expected(tool: Tool, name: str) -> str:
    types = _types(properties(tool.input_schema).get(name))
    return f" ({' or '.join(sorted(types))})" if types else ""


def _nearest(tool: Tool, name: str) -> str:
    known = list(properties(tool.input_schema))
    near = nearest(name, known) or known
    return f"; it has {', '.join(near)}" if near else ""


def _named(value: object) -> str:
    if value is None:
        return "null"
    names = {bool: "boolean", str: "string", int: "number", float: "number", list: "list"}
    return names.get(type(value), "object")
