"""What a JSON Schema expects, in words: the end of a sentence about a wrong value (SA-7)."""

import json
from collections.abc import Callable
from typing import Any

import jsonschema_rs

from pml.domain.sanitising import redact

_TYPES = {
    "string": "a string",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "array": "an array",
    "object": "an object",
    "null": "null",
}
_EXAMPLES = {
    "date-time": "2026-01-31T09:00:00Z",
    "date": "2026-01-31",
    "time": "09:00:00Z",
    "duration": "P1DT2H",
    "email": "ann@example.org",
    "uri": "https://example.org/x",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
    "ipv4": "192.0.2.1",
    "hostname": "example.org",
}
_OPTIONS = 20
_VALUE_CHARS = 60


def shown(value: object) -> str:
    """A JSON value, cut to a length for a sentence; without secrets, of which half would show."""
    text = json.dumps(redact(value), ensure_ascii=False)
    return text if len(text) <= _VALUE_CHARS else text[: _VALUE_CHARS - 3] + "..."


def kind_of(value: object) -> str:
    """The kind of a JSON value with its article."""
    if value is None:
        return "null"
    names = {bool: "a boolean", str: "a string", int: "a number", float: "a number"}
    return names.get(type(value), "an array" if isinstance(value, list) else "an object")


def types_of(schema: object) -> str:
    """The types that a schema names, in words; empty where it names none."""
    found = schema.get("type") if isinstance(schema, dict) else None
    names = found if isinstance(found, list) else [found]
    return _either([_TYPES[name] for name in names if isinstance(name, str) and name in _TYPES])


def expectation(error: jsonschema_rs.ValidationError) -> str | None:
    """``must be one of "a", "b"``; None where the schema cannot be put in words."""
    say = _WORDS.get(error.kind.name)
    return None if say is None else say(error.kind.as_dict())


def _either(options: list[str]) -> str:
    return " or ".join(dict.fromkeys(options))


def _type(facts: dict[str, Any]) -> str:
    return f"must be {_either([_TYPES.get(name, name) for name in sorted(facts['types'])])}"


def _enum(facts: dict[str, Any]) -> str:
    options = [shown(option) for option in facts["options"]]
    more = f" and {len(options) - _OPTIONS} more" if len(options) > _OPTIONS else ""
    return f"must be one of {', '.join(options[:_OPTIONS])}{more}"


def _any_of(facts: dict[str, Any]) -> str | None:
    """In words where it is only a choice of types."""
    errors = [branch[0] for branch in facts["context"] if len(branch) == 1]
    if not errors or len(errors) != len(facts["context"]):
        return None
    if any(error.kind.name != "type" or error.instance_path for error in errors):
        words = [expectation(error) for error in errors if not error.instance_path]
        known = [word for word in words if word is not None]
        return _either(known) if len(known) == len(errors) else None
    names = [name for error in errors for name in sorted(error.kind.as_dict()["types"])]
    return f"must be {_either([_TYPES.get(name, name) for name in names])}"


def _format(facts: dict[str, Any]) -> str:
    name = facts["format"]
    example = f", such as {_EXAMPLES[name]}" if name in _EXAMPLES else ""
    return f"should have the format {name}{example}"


def _limit(words: str) -> Callable[[dict[str, Any]], str]:
    return lambda facts: f"must {words.format(facts['limit'])}"


_WORDS: dict[str, Callable[[dict[str, Any]], str | None]] = {
    "type": _type,
    "enum": _enum,
    "const": lambda facts: f"must be {shown(facts['expected_value'])}",
    "anyOf": _any_of,
    "oneOf": lambda facts: _any_of(facts) if all(facts["context"]) else None,
    "format": _format,
    "pattern": lambda facts: f"must match the pattern {facts['pattern']}",
    "minimum": _limit("be at least {}"),
    "maximum": _limit("be at most {}"),
    "exclusiveMinimum": _limit("be more than {}"),
    "exclusiveMaximum": _limit("be less than {}"),
    "minLength": _limit("have at least {} characters"),
    "maxLength": _limit("have at most {} characters"),
    "minItems": _limit("have at least {} items"),
    "maxItems": _limit("have at most {} items"),
    "minProperties": _limit("have at least {} fields"),
    "maxProperties": _limit("have at most {} fields"),
    "uniqueItems": lambda _facts: "must not hold a value twice",
}
