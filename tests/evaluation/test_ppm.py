"""PPM against its definition, and what chances must fulfil (LE-8: PPM as in the floors)."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.evaluation.ppm import Ppm
from tests.evaluation.sequences import SEQUENCES

CONTEXTS = st.text("abcx", max_size=5)


def after(sequences: Sequence[str], context: str) -> Counter[str]:
    """What came after a context, found by looking at every place; ``^`` begins a sequence."""
    texts = ["^" + sequence for sequence in sequences]
    return Counter(
        text[at] for text in texts for at in range(1, len(text)) if text[:at].endswith(context)
    )


def chance(sequences: Sequence[str], context: str, symbol: str, order: int) -> float:
    """By recursion from the longest context down: its share, or what it escapes with."""
    seen = after(sequences, context)
    total, kinds = seen.total(), len(seen)
    shorter = chance(sequences, context[1:], symbol, order - 1) if context else 0.0
    if not total:
        return shorter
    return (seen[symbol] + kinds * shorter) / (total + kinds)


@given(sequences=SEQUENCES, context=CONTEXTS, order=st.integers(0, 4))
def test_chances_are_those_of_the_definition(
    sequences: list[str], context: str, order: int
) -> None:
    ppm = Ppm(sequences, order=order)
    longest = ("^" + context)[len(context) + 1 - min(order, len(context) + 1) :]
    expected = [chance(sequences, longest, symbol, order) for symbol in ppm.symbols]
    assert ppm.chances(context) == pytest.approx(expected)


@given(sequences=SEQUENCES, context=CONTEXTS, order=st.integers(0, 4))
def test_chances_are_positive_and_leave_something_for_the_unseen(
    sequences: list[str], context: str, order: int
) -> None:
    chances = Ppm(sequences, order=order).chances(context)
    assert np.all(chances > 0)
    assert chances.sum() < 1


@given(sequences=SEQUENCES, context=CONTEXTS, order=st.integers(0, 3))
def test_asking_for_a_lower_order_is_as_counting_no_longer_contexts(
    sequences: list[str], context: str, order: int
) -> None:
    high, low = Ppm(sequences, order=4), Ppm(sequences, order=order)
    assert high.chances(context, order=order).tolist() == low.chances(context).tolist()
    assert high.symbols == low.symbols


@given(sequences=SEQUENCES)
def test_symbols_are_all_that_were_seen_the_most_frequent_first(sequences: list[str]) -> None:
    ppm = Ppm(sequences, order=1)
    counts = Counter("".join(sequences))
    assert dict(zip(ppm.symbols, ppm.counts, strict=True)) == counts
    assert list(ppm.symbols) == sorted(counts, key=lambda symbol: (-counts[symbol], symbol))


def test_the_context_decides_where_it_was_seen() -> None:
    ppm = Ppm(["abc", "abc", "dbe"], order=2)
    chances = dict(zip(ppm.symbols, ppm.chances("ab").tolist(), strict=True))
    # Twice of one kind after "ab", thrice of two kinds after "b", 9 symbols of 5 kinds in all.
    assert chances["c"] == pytest.approx(2 / 3 + 1 / 3 * (2 / 5 + 2 / 5 * (2 / 14)))
    assert chances["e"] == pytest.approx(1 / 3 * (1 / 5 + 2 / 5 * (1 / 14)))


def test_nothing_seen_says_nothing() -> None:
    ppm = Ppm([], order=3)
    assert ppm.symbols == ()
    assert ppm.chances("ab").size == 0


def test_what_was_never_seen_gets_what_symbols_alone_get() -> None:
    ppm = Ppm(["ab", "aab"], order=3)
    assert ppm.chances("zz").tolist() == ppm.chances("qq", order=0).tolist()
    assert math.isclose(ppm.chances("zz").sum(), 5 / 7)


def test_a_negative_order_is_refused() -> None:
    with pytest.raises(ValueError, match="order must not be negative, got -1"):
        Ppm([], order=-1)
