"""Mocks made of an output schema are valid, and always the same (EX-6, XP-2).

`jsonschema_rs` is the judge; that a schema has a value at all is shown by another generator's.
"""

import copy
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pml.analysis.schema_sample import ABSENT, sample
from tests.analysis.schema_cases import Schema, allows, schemas, values_of, whole

KEYWORDS = [
    *("type", "properties", "required", "items", "anyOf", "allOf", "oneOf", "not", "$ref", "enum"),
    *("const", "minItems", "minLength", "pattern", "minimum", "multipleOf", "prefixItems", "a"),
    *("additionalProperties", "minProperties", "uniqueItems"),
]
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["string", "object", "#"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYWORDS), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(schemas(others=False), st.data())
@settings(deadline=None)
def test_whatever_a_server_declares_a_valid_value_is_found(
    schema: Schema, data: st.DataObject
) -> None:
    """A law: where there is a value, one is found, with the schema at the root and within."""
    assume(allows(schema, data.draw(values_of(schema))))
    made = sample(whole(schema))
    assert made is not ABSENT
    assert jsonschema_rs.is_valid(whole(schema), made)


@given(schemas(others=True))
@settings(deadline=None)
def test_no_value_is_invalid_and_the_same_schema_gives_the_same_value(schema: Schema) -> None:
    made, again = sample(whole(schema)), sample(copy.deepcopy(whole(schema)))
    assert repr(made) == repr(again)
    assert made is ABSENT or jsonschema_rs.is_valid(whole(schema), made)


@given(st.dictionaries(st.text(max_size=3), ANYTHING, max_size=2), ANYTHING)
@settings(deadline=None)
def test_no_schema_is_too_odd(schema: dict[str, Any], other: object) -> None:
    odd = other if isinstance(other, dict) else schema
    made = sample(odd)
    assert made is ABSENT or jsonschema_rs.validator_for(odd, offline=True).is_valid(made)


@st.composite
def bounded(draw: st.DrawFn) -> Schema:
    """Schemas with the bounds that servers give, each of which some value satisfies."""
    low, span = draw(st.integers(-20, 20)), draw(st.integers(1, 9))
    names = draw(st.lists(st.sampled_from("abc"), unique=True, max_size=3))
    inner: Schema = {"type": "integer", "minimum": low, "maximum": low + span}
    return draw(
        st.sampled_from(
            [
                inner,
                {"type": "integer", "exclusiveMinimum": low, "multipleOf": span},
                {"type": "number", "exclusiveMinimum": low, "exclusiveMaximum": low + 0.5},
                {"type": "number", "maximum": low, "multipleOf": 0.5},
                {"type": "string", "minLength": span, "maxLength": span},
                {"type": "array", "items": inner, "minItems": span, "maxItems": span},
                {"type": "array", "items": {"type": "string"}, "minItems": 3, "uniqueItems": True},
                {"type": "array", "contains": {"const": span}, "items": {"type": "integer"}},
                {"type": "object", "minProperties": span, "additionalProperties": inner},
                {"type": "object", "properties": dict.fromkeys("abc", inner), "required": names,
                 "maxProperties": max(1, len(names)), "additionalProperties": False},
                {"type": "object", "required": names, "patternProperties": {"^[ab]$": inner}},
                {"allOf": [{"type": "number", "minimum": low}, {"type": "integer"}]},
                {"oneOf": [{"type": "integer"}, {"type": "number", "minimum": low}]},
                {"type": ["null", "string"], "format": "date-time"},
                {"type": "integer", "not": {"const": 1}},
                {"type": "string", "not": {"const": "mocked value"}},
                {"type": "string", "minLength": span, "if": {}, "then": {"minLength": span + 9}},
                {"type": "object", "properties": {"kind": {"enum": ["a", "b"]}, "n": inner},
                 "required": ["kind"], "if": {"properties": {"kind": {"const": "a"}}},
                 "then": {"required": ["z"], "properties": {"z": False}}},
                {"enum": [None, low]},
                {"default": "no", "type": "integer"},
                {"examples": [low], "type": "integer"},
            ]
        )
    )  # fmt: skip


@given(bounded())
@settings(deadline=None)
def test_bounds_are_kept(schema: Schema) -> None:
    made = sample(schema)
    assert made is not ABSENT, schema
    assert jsonschema_rs.is_valid(schema, made)


@pytest.mark.parametrize(
    "schema",
    [
        {"not": {}},
        {"type": "integer", "minimum": 2, "maximum": 1},
        {"$ref": "#"},
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
        {"$ref": "https://example.com/other.json"},
        {"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#"}}},
        {"type": "nothing"},
        {"type": "object", "minProperties": 10**9},
    ],
)
def test_where_there_is_no_value_none_is_found(schema: Schema) -> None:
    assert sample(schema) is ABSENT


def test_a_value_speaks_of_its_fields() -> None:
    person = {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "age": {"type": "integer", "minimum": 18},
            "seen": {"type": "string", "format": "date"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "admin": {"type": "boolean"},
            "boss": {"anyOf": [{"$ref": "#"}, {"type": "null"}]},
        },
        "required": ["name"],
    }
    made = sample(person)
    assert made["name"] == "mocked name"
    assert (made["age"], made["seen"], made["tags"]) == (18, "2000-01-01", ["mocked tags"])
    assert made["admin"] is True
    assert made["boss"]["boss"]["boss"]["name"] == "mocked name"
