"""What past intents weigh among other rankings (MCP-1)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.discovery.newness import NewTools
from pml.discovery.weighing import VOTES_FOR_TOOLS, presumed_votes, weight_of_votes

SAYS, SILENT = np.array([0.0, 0.3]), np.zeros(2)


@given(st.floats(0, 4), st.floats(0, 4))
def test_among_tools_nearer_past_intents_weigh_more_up_to_a_bound(one: float, other: float) -> None:
    lower, higher = (
        weight_of_votes(np.array([0.0, votes]), [SAYS, SAYS], "tool")
        for votes in sorted((one, other))
    )
    assert 0 <= lower <= higher <= VOTES_FOR_TOOLS * 2


@pytest.mark.parametrize(
    ("kind", "described", "expected"),
    [
        ("tool", [SAYS, SAYS], 4.0),
        ("tool", [SAYS, SILENT], 2.0),
        ("tool", [SILENT, SILENT], 2.0),
        ("all", [SAYS, SAYS], 2.0),
        ("all", [SAYS, SILENT], 1.0),
        ("all", [SILENT, SILENT], 1.0),
        ("capability", [SAYS, SAYS], 1.0),
    ],
)
def test_the_intent_itself_weighs_as_the_descriptions_that_say_something(
    kind: str, described: list[np.ndarray], expected: float
) -> None:
    assert weight_of_votes(np.array([1.0, 0.2]), described, kind) == expected


TOOLS = NewTools(new=np.array([1, 2]), newness=np.array([1.0, 0.5]), used=np.array([0]))
"""A used tool, a new one, and one that is less new."""
shares = st.floats(0, 1)


def presumed(
    fits: tuple[float, float, float], cosine: float, others: float = 0.0
) -> tuple[float, float, float]:
    described = [np.array(fits), np.full(3, others)]
    first, second, third = presumed_votes(TOOLS, described, cosine).tolist()
    return first, second, third


@given(st.tuples(shares, shares, shares), shares, shares)
def test_what_is_presumed_is_a_share_of_what_votes_leave_open_and_of_how_new_a_tool_is(
    fits: tuple[float, float, float], cosine: float, others: float
) -> None:
    known, new, rather_new = presumed(fits, cosine, others)
    assert known == 0
    assert 0 <= new <= 1 - cosine**2
    assert 0 <= rather_new <= 0.5 * (1 - cosine**2)


@given(shares, shares, shares, shares)
def test_the_better_a_new_tool_fits_the_more_is_presumed_and_the_better_known_ones_fit_the_less(
    known: float, one: float, other: float, cosine: float
) -> None:
    worse, better = sorted((one, other))
    assert presumed((known, worse, 0), cosine)[1] <= presumed((known, better, 0), cosine)[1]
    assert presumed((better, known, 0), cosine)[1] <= presumed((worse, known, 0), cosine)[1]


def test_a_new_tool_that_fits_as_well_as_the_best_known_one_has_an_even_chance() -> None:
    assert presumed((0.4, 0.4, 0.4), 0.0) == (0, 0.5, 0.25)
    assert presumed((0.4, 0.4, 0.4), 0.6) == pytest.approx((0, 0.32, 0.16))
    assert presumed((0.0, 0.4, 0.0), 0.0) == (0, 1, 0)
    assert presumed((0.4, 0.8, 0.0), 0.0) == pytest.approx((0, 16 / 17, 0))


def test_descriptions_count_alike_and_one_that_says_nothing_does_not() -> None:
    one_says = presumed_votes(TOOLS, [np.array([0, 0.3, 0]), np.zeros(3)], 0.0)
    both_say = presumed_votes(TOOLS, [np.array([0, 0.3, 0]), np.array([0.3, 0.3, 0])], 0.0)
    none_says = presumed_votes(TOOLS, [np.zeros(3), np.zeros(3)], 0.0)
    assert (one_says[1], both_say[1], none_says[1]) == (1, 0.75, 0)


def test_an_intent_that_is_past_leaves_nothing_to_presume() -> None:
    assert presumed((0.0, 1.0, 1.0), 1.0) == (0, 0, 0)
