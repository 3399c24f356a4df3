"""What past intents weigh among other rankings (MCP-1)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.discovery.weighing import VOTES_FOR_TOOLS, weight_of_votes

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
