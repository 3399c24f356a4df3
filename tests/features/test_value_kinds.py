"""Kinds of values by their form (SP-7, 12.7): no answer gives a value away."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pml.features.value_kinds import (
    ENVIRONMENTS,
    EXTENSIONS,
    SIZES,
    ValueKind,
    size_step,
    value_pattern,
)

DETAILS = {"", "negative", "other", "none", *EXTENSIONS, *ENVIRONMENTS.values()}
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8
)
LETTERS = "bcdfghjklmnpqrvwxz"
"""No word of the vocabulary is made of these alone, apart from extensions after a dot."""


@st.composite
def twins(draw: st.DrawFn) -> tuple[str, str]:
    """Two names of the same length, made of letters that spell no known word."""
    length = draw(st.integers(5, 15))
    name = st.text(LETTERS, min_size=length, max_size=length)
    return draw(name), draw(name)


@pytest.mark.parametrize(
    ("value", "kind", "detail"),
    [
        (None, "null", ""),
        (True, "boolean", ""),
        (-3, "integer", "negative"),
        (3.0, "integer", ""),
        (0.5, "fraction", ""),
        (float("nan"), "fraction", ""),
        ([1], "list", ""),
        ({"a": 1}, "object", ""),
        ("", "empty", ""),
        ("  ", "empty", ""),
        ("[REDACTED]", "redacted", ""),
        ("https://example.org/a?b=c", "url", ""),
        ("postgresql://u@h/db", "url", ""),
        ("someone@example.org", "email", ""),
        ("3f2504e0-4f89-11d3-9a0c-0305e82c3301", "uuid", ""),
        ("2026-11-22", "date", ""),
        ("2026-11-22T10:00:00Z", "date", ""),
        ("11/22/2026", "date", ""),
        ("10:30", "time", ""),
        ("6:15 pm", "time", ""),
        ("42", "numeral", ""),
        ("+33 1 23 45", "numeral", ""),
        ("#general", "channel", ""),
        ("#payments-prod", "channel", "production"),
        ("#team_staging", "channel", "testing"),
        ("@somebody", "channel", ""),
        ("/etc/hosts", "path", "none"),
        ("./a b/notes.md", "path", "md"),
        ("C:\\data\\x.CSV", "path", "csv"),
        ("~/x.weird", "path", "other"),
        ("report.json", "path", "json"),
        ("*.json", "path", "json"),
        ("a1b2c3d4", "identifier", ""),
        ("Paris", "word", ""),
        ("owner/repository", "word", ""),
        ("production", "word", "production"),
        ("two words", "text", ""),
        ("see report.json please", "text", ""),
        ("one\ntwo", "lines", ""),
    ],
)
def test_the_form_tells_the_kind(value: object, kind: str, detail: str) -> None:
    pattern = value_pattern(value)
    assert (pattern.kind, pattern.detail) == (kind, detail)


@given(value=JSON)
def test_an_answer_comes_from_a_closed_vocabulary(value: object) -> None:
    pattern = value_pattern(value)
    assert pattern.kind in ValueKind
    assert pattern.detail in DETAILS
    assert 0 <= pattern.size < SIZES


@pytest.mark.parametrize(
    "template",
    [
        "{}",
        "#{}",
        "@{}",
        "#{}-prod",
        "/home/{}/x.csv",
        "/{}",
        "{}.py",
        "./x.{}",
        "https://{}.org/path?key=1",
        "{}@example.org",
        "12{}34",
        "say {} to them",
        "first\n{}",
    ],
)
@given(names=twins())
def test_what_has_the_same_form_has_the_same_pattern(template: str, names: tuple[str, str]) -> None:
    assume(not {*names} & {*EXTENSIONS, *ENVIRONMENTS})
    one, other = (value_pattern(template.format(name)) for name in names)
    assert one == other


@given(digits=st.tuples(st.integers(10, 99), st.integers(10, 99)))
def test_no_number_can_be_told_from_the_others_of_its_size(digits: tuple[int, int]) -> None:
    one, other = digits
    assert value_pattern(one - 10) == value_pattern(other) != value_pattern(100 * other)
    assert value_pattern(one) == value_pattern(other)
    assert value_pattern(str(one)) == value_pattern(str(other))
    assert value_pattern(f"20{one}-01-01") == value_pattern(f"20{other}-01-01")
    assert value_pattern(f"8{one}f06ab") == value_pattern(f"8{other}f06ab")


@given(size=st.integers(0, 100_000))
def test_sizes_grow_by_steps_of_four(size: int) -> None:
    assert size_step(size) == min(next(s for s in range(99) if size < 4**s), SIZES - 1)


def test_of_a_very_long_text_only_the_beginning_is_looked_at() -> None:
    assert value_pattern("/" + "a" * 1_000_000).kind is ValueKind.WORD
    assert value_pattern("a b " * 1_000_000).kind is ValueKind.TEXT


def test_what_is_no_json_value_is_refused() -> None:
    with pytest.raises(ValueError, match="no JSON value: set"):
        value_pattern({1})
