"""What results teach of a tool's output (SA-10): laws of a lattice, and what is never kept."""

import json
from itertools import permutations
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pml.learning import shapes
from pml.learning.shapes import (
    DEEPEST,
    LARGEST,
    MOST_FIELDS,
    from_schema,
    is_name,
    merged,
    observed,
    shape_of,
    to_schema,
)

names = st.sampled_from(["id", "name", "tags", "kids"]) | st.text("ab1-", max_size=3)
numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | numbers | st.text(max_size=3)
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4),
    max_leaves=20,
)
many = st.lists(json_values, min_size=1, max_size=5)


def learned(values: list[Any]) -> dict[str, Any]:
    found = observed(values)
    assert found is not None
    return found


@pytest.fixture
def tight(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds that small values pass."""
    monkeypatch.setattr(shapes, "MOST_FIELDS", 2)
    monkeypatch.setattr(shapes, "DEEPEST", 3)
    monkeypatch.setattr(shapes, "LARGEST", 12)


def check_laws(values: list[Any]) -> None:
    each = [learned([value]) for value in values]
    together = learned(values)
    for order in list(permutations(each))[:6]:
        left, right = order[0], order[-1]
        for one in order[1:]:
            left = merged(left, one)
        for one in order[-2::-1]:
            right = merged(one, right)
        assert left == right == together
    assert merged(together, together) == together
    assert merged(together, each[0]) == together
    assert merged(None, together) == together


@given(many)
def test_the_order_and_number_of_results_do_not_matter(values: list[Any]) -> None:
    """Associative, commutative, idempotent."""
    check_laws(values)


@pytest.mark.usefixtures("tight")
@settings(max_examples=300)
@given(many)
def test_nor_do_they_where_bounds_are_passed(values: list[Any]) -> None:
    check_laws(values)


@given(many)
def test_every_observed_value_is_valid(values: list[Any]) -> None:
    schema = learned(values)
    assert all(jsonschema_rs.is_valid(schema, value) for value in values)


@pytest.mark.usefixtures("tight")
@given(many)
def test_every_observed_value_is_valid_where_bounds_are_passed(values: list[Any]) -> None:
    schema = learned(values)
    assert all(jsonschema_rs.is_valid(schema, value) for value in values)


@given(json_values)
def test_a_schema_is_read_back_as_it_was_written(value: object) -> None:
    shape = shape_of(value)
    assert from_schema(json.loads(json.dumps(to_schema(shape)))) == shape


def test_fields_that_were_always_there_are_required() -> None:
    assert learned([{"a": 1, "b": "x"}, {"a": 1.5, "c": None}]) == {
        "type": "object",
        "properties": {
            "a": {"type": "number"},
            "b": {"type": "string"},
            "c": {"type": "null"},
        },
        "required": ["a"],
    }


def test_items_and_kinds_are_merged() -> None:
    assert learned([[1, "a"], [], None]) == {
        "type": ["null", "array"],
        "items": {"type": ["integer", "string"]},
    }
    assert observed([]) is None


@given(st.text(), st.integers(10**6, 10**9))
def test_no_value_is_kept(text: str, number: int) -> None:
    """The schema is the same for every other text and number."""
    assert learned([{"a": text, "b": [number], "c": {"d": text}}]) == learned(
        [{"a": "", "b": [0], "c": {"d": "?"}}]
    )


@pytest.mark.parametrize(
    "key",
    [
        "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB",
        "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
        "anna@example.org",
        "/home/anna/notes.md",
        "2026-01-31",
        "42",
        "user_123456",
        "U024BE7LH",
        "x" * 41,
        "",
        "\x00",
    ],
)
def test_names_that_data_chose_are_not_kept(key: str) -> None:
    assert not is_name(key)
    schema = learned([{key: {"size": 1}, "other": {"size": 2}}])
    size = {"type": "object", "properties": {"size": {"type": "integer"}}, "required": ["size"]}
    assert schema == {"type": "object", "additionalProperties": size}


@pytest.mark.parametrize("key", ["id", "first name", "is_dst", "sha256", "Größe", "$ref", "x-y"])
def test_names_that_an_author_chose_are_kept(key: str) -> None:
    assert list(learned([{key: 1}])["properties"]) == [key]


def test_what_is_too_wide_or_too_deep_is_generalised() -> None:
    wide = {"".join(map(chr, (97 + n // 26, 97 + n % 26))): n for n in range(MOST_FIELDS + 1)}
    assert learned([wide]) == {"type": "object", "additionalProperties": {"type": "integer"}}
    deep: Any = 1
    for _ in range(DEEPEST + 5):
        deep = [deep]
    assert json.dumps(learned([deep])).count("array") == DEEPEST + 1


def test_what_is_too_large_is_kept_to_fewer_levels() -> None:
    letters = "abcdefghijklmnopqrstuvwxy"
    large = {a: {b: dict.fromkeys(letters, 1) for b in letters} for a in letters}
    schema = learned([large])
    assert len(json.dumps(schema)) < 60 * LARGEST
    assert schema["properties"]["a"]["properties"]["b"] == {
        "type": "object",
        "additionalProperties": {},
    }
    assert jsonschema_rs.is_valid(schema, large)
