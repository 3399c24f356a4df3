"""What may travel as JSON text: an independent decoder agrees (ST-5, OP-5; issue 2, bad input)."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.domain.json_text import deeper_than, flaw
from pml.domain.limits import Limits

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text('"\\[]{'),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text('"\\]}'), inner, max_size=4)
    ),
)


def depth(value: object) -> int:
    inside = value.values() if isinstance(value, dict) else value
    if not isinstance(inside, list | type({}.values())):
        return 0
    return 1 + max(map(depth, inside), default=0)


@given(JSON, st.integers(0, 6))
def test_depth_is_what_a_decoder_finds(value: object, levels: int) -> None:
    assert deeper_than(json.dumps(value), levels) == (depth(value) > levels)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[" * 200 + "]" * 200, None),
        ("[" * 201 + "]" * 201, "deeper than 200 levels"),
        ("[" * 100_000, "deeper than 200 levels"),
        (r'{"a": "\ud83d\ude00 \u0000"}', None),
        (r'{"a": "\ud83d and more"}', "no JSON"),
        ('{"a"', "no JSON"),
        ("", "no JSON"),
        ("[1, NaN]", "no JSON"),
    ],
)
def test_what_can_not_travel_says_why(text: str, said: str | None) -> None:
    reason = flaw(text, Limits())
    assert reason == said or (reason is not None and said is not None and said in reason)
