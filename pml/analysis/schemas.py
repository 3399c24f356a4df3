"""What JSON Schemas say about arguments: missing, unknown and wrong ones, and how much is given."""

from collections.abc import Collection, Mapping
from typing import Any

import jsonschema_rs

from pml.domain.structure import Coverage
from pml.domain.tools import Tool

_Schema = Mapping[str, Any]


_OPENING = frozenset(
    {"additionalProperties", "unevaluatedProperties", "patternProperties", "propertyNames"}
    | {"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas"}
)
"""Keywords of schemas that say themselves what becomes of other fields, or may list more."""


def properties(schema: _Schema | None) -> dict[str, Any]:
    """The schemas of an object's fields by name."""
    found = (schema or {}).get("properties")
    return found if isinstance(found, dict) else {}


def unlisted(schema: _Schema, value: object) -> list[str]:
    """Fields of a value of which a schema says nothing at all, where it lists the fields.

    The schema does not refuse them; most servers ignore them, or do.
    """
    known = properties(schema)
    if not known or not isinstance(value, dict) or _OPENING & schema.keys():
        return []
    return [name for name in value if name not in known]


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


def faults(schema: dict[str, Any], value: object) -> list[tuple[str, str]]:
    """What the schema refuses in a value: where (empty for the whole), and a sentence."""
    try:
        validator = jsonschema_rs.validator_for(schema, offline=True)
        errors = list(validator.iter_errors(value))
    except (ValueError, jsonschema_rs.ReferencingError):
        return []  # the server's schema is unusable: the server itself will judge
    return [(_steps(error.instance_path), error.message) for error in errors]


def _steps(path: list[str | int]) -> str:
    return "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in path)
