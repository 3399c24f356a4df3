"""What came next in past runs, against its definition (LE-5; LE-8: PPM)."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.learning.continuations import WINDOW, Continuations, past_places

NUMBERS = {"a": 0, "b": 1, "c": 2, "d": 3}
RUNS = st.lists(st.text("abcx", max_size=WINDOW), max_size=6)
PREFIXES = st.text("abcx", min_size=1, max_size=WINDOW - 1)
ORDERS = st.integers(0, 4)


def of(runs: Sequence[str], *, order: int) -> Continuations:
    """Of runs for different intents."""
    return Continuations(past_places(runs, range(len(runs)), NUMBERS), len(NUMBERS), order=order)


def after(runs: Sequence[str], context: str) -> Counter[str]:
    """What came after a context, found by looking at every place; ``^`` begins a run."""
    texts = ["^" + run for run in runs]
    return Counter(
        text[at]
        for text in texts
        for at in range(2, len(text))
        if text[:at].endswith(context) and text[at] in NUMBERS
    )


def chance(runs: Sequence[str], context: str, tool: str) -> float:
    """By recursion from the longest context down: its share, or what it escapes with."""
    seen = after(runs, context)
    total, kinds = seen.total(), len(seen)
    shorter = chance(runs, context[1:], tool) if context else 1 / len(NUMBERS)
    return (seen[tool] + kinds * shorter) / (total + kinds) if total else shorter


@given(runs=RUNS, prefix=PREFIXES, order=ORDERS)
def test_chances_are_those_of_the_definition(runs: list[str], prefix: str, order: int) -> None:
    found = of(runs, order=order).chances(prefix)
    for length in range(order + 1):
        context = ("^" + prefix)[max(0, len(prefix) + 1 - length) :]
        assert found[length] == pytest.approx([chance(runs, context, tool) for tool in NUMBERS])


@given(runs=RUNS, prefix=PREFIXES, order=ORDERS)
def test_every_tool_has_a_chance_and_they_sum_to_one(
    runs: list[str], prefix: str, order: int
) -> None:
    found = of(runs, order=order).chances(prefix)
    assert (found > 0).all()
    assert found.sum(axis=1) == pytest.approx(np.ones(order + 1))


@given(runs=RUNS, prefix=PREFIXES, order=ORDERS)
def test_times_are_how_often_each_context_was_followed_by_a_tool(
    runs: list[str], prefix: str, order: int
) -> None:
    longest = "^" + prefix
    expected = [
        after(runs, longest[len(longest) - length :]).total() if length <= len(longest) else 0
        for length in range(order + 1)
    ]
    assert of(runs, order=order).times(prefix).tolist() == expected


@given(runs=RUNS)
def test_paths_of_one_workflow_count_what_they_share_once(runs: list[str]) -> None:
    once = past_places(runs, [0] * len(runs), NUMBERS)
    twice = past_places([*runs, *runs], [0] * (2 * len(runs)), NUMBERS)
    assert once == twice
    assert len({place.prefix for place in once}) == len(once)


def test_a_place_has_all_that_followed_there() -> None:
    (place,) = past_places(["ab", "ac", "ax"], [7, 7, 7], NUMBERS)
    assert (place.prefix, place.following, place.origin) == (("a",), (1, 2), 7)


def test_what_is_further_back_than_the_window_does_not_count() -> None:
    long = "abc" * WINDOW
    places = past_places([long + "d"], [0], NUMBERS)
    (last,) = (place for place in places if NUMBERS["d"] in place.following)
    assert last.prefix == tuple(long[-WINDOW:])
    known = Continuations(places, len(NUMBERS), order=WINDOW + 1)
    assert known.chances("x" + long).tolist() == known.chances(long).tolist()


def test_no_tools_or_a_negative_order_are_refused() -> None:
    with pytest.raises(ValueError, match="got 0 and 1"):
        Continuations((), 0, order=1)
    with pytest.raises(ValueError, match="got 2 and -1"):
        Continuations((), 2, order=-1)
