"""The plan that voters agree on is none of them less like than any other (LE-8)."""

from itertools import chain as joined
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pml.evaluation.methods.plan_consensus import (
    POWERS,
    Consensus,
    agreed,
    chosen_power,
    likeness,
    likenesses,
)
from pml.evaluation.plan_parts import Transitions, chain
from pml.evaluation.questions import Plan, PlansQuestion
from tests.evaluation.sequences import flow, tools

VOTERS = st.lists(st.text("abcd", min_size=1, max_size=4), min_size=1, max_size=5)
NONE = Transitions([])


def chains(texts: list[str]) -> list[Plan]:
    return [chain(text) for text in texts]


def expected(plan: Plan, voters: list[Plan], weights: list[float]) -> float:
    return sum(w * likeness(plan, voter) for voter, w in zip(voters, weights, strict=True))


@given(texts=VOTERS, seed=st.integers(0, 99))
def test_no_voter_and_no_chain_of_the_most_voted_is_likelier(texts: list[str], seed: int) -> None:
    voters, weights = chains(texts), np.random.default_rng(seed).random(len(texts)).tolist()
    found = expected(agreed(voters, weights, NONE), voters, weights)
    votes = {
        tool: sum(w for text, w in zip(texts, weights, strict=True) if tool in text)
        for tool in "".join(texts)
    }
    ranked = sorted(votes, key=lambda tool: (-votes[tool], tool))
    made = [chain("".join(ranked[:size])) for size in range(1, len(ranked) + 1)]
    for plan in joined(voters, made):
        # With no transitions all orders are equal, and the first is taken.
        assert found >= expected(plan, voters, weights) - 1e-9


@given(text=st.text("abcd", min_size=2, max_size=4), count=st.integers(1, 4))
def test_where_all_say_the_same_that_is_it(text: str, count: int) -> None:
    assert agreed(chains([text] * count), [0.5] * count, NONE) == chain(text)


@given(text=st.text("abcd", min_size=2, max_size=4), others=VOTERS)
def test_one_voter_can_outweigh_all(text: str, others: list[str]) -> None:
    weights = [1000.0, *[0.001] * len(others)]
    found = agreed(chains([text, *others]), weights, NONE)
    assert set(found.nodes) == set(text)
    assert set(found.links) == set(chain(text).links)


def test_tools_that_most_have_make_a_plan_that_none_has() -> None:
    voters = chains([f"abc{other}" for other in "defghijkl"])
    found = agreed(voters, [1.0] * len(voters), NONE)
    assert found == chain("abc")
    assert found not in voters


def test_likeness_is_three_for_the_same_and_nothing_for_what_shares_nothing() -> None:
    assert likeness(chain("abc"), chain("abc")) == 3
    assert likeness(chain("abc"), chain("xyz")) == 0
    assert likeness(chain("ab"), chain("ba")) == 2


@settings(max_examples=30)
@given(one=VOTERS, other=VOTERS)
def test_likeness_does_not_ask_which_plan_is_right(one: list[str], other: list[str]) -> None:
    first, second = chain("".join(one)), chain("".join(other))
    assert likeness(first, second) == likeness(second, first)


@given(one=VOTERS, other=VOTERS, bare=st.booleans())
def test_likenesses_are_those_of_each_pair(one: list[str], other: list[str], *, bare: bool) -> None:
    """To the last bit; where ``bare``, of plans without links."""
    found, right = (
        [Plan(nodes=plan.nodes, links=()) if bare else plan for plan in chains(texts)]
        for texts in (one, other)
    )
    of_pairs = [[likeness(first, second) for second in right] for first in found]
    assert likenesses(found, right).tolist() == of_pairs


def question(train: list[tuple[str, str]], intents: list[str], **main: str) -> PlansQuestion:
    """Of pairs of intent and nodes, all of one main tool where ``main`` says so."""
    return PlansQuestion(
        tools=tools(),
        train=tuple(
            flow(nodes, None, intent=intent, key=str(at), main_tool=main.get("tool"))
            for at, (intent, nodes) in enumerate(train)
        ),
        intents=tuple(intents),
        sizes=(1,) * len(intents),
    )


TRAIN = [(f"walk the dog {at}", "abc") for at in range(4)] + [("feed the cat", "de")]


def test_similar_intents_outvote_others() -> None:
    plans = Consensus().answers(question(TRAIN, ["walk a dog", "feed some cat"]))
    assert plans is not None
    assert [plan.nodes for plan in plans] == [("a", "b", "c"), ("d", "e")]


def test_without_training_there_is_no_plan() -> None:
    assert Consensus().answers(question([], ["walk"])) is None


KINDS = ["".join(pair) for pair in permutations("abcd", 2)]
TWINS = [
    (intent, kind)
    for k, kind in enumerate(KINDS)
    for intent in (f"w{k} x{k} y{k} all", f"all w{k} x{k} y{k}")
]
CROWD = [("all " * (at + 1), "ef") for at in range(24)]
"""Each shares one word with everybody, and they are many."""


def test_where_only_the_nearest_are_right_the_power_is_great() -> None:
    assert chosen_power(question(TWINS + CROWD, ["x"]), NONE) > min(POWERS)
    assert chosen_power(question(CROWD, ["x"]), NONE) == min(POWERS)


@pytest.mark.parametrize("train", [TRAIN[:1], [TRAIN[0]] * 3])
def test_nothing_to_try_powers_on_leaves_the_smallest(train: list[tuple[str, str]]) -> None:
    """One plan alone, and the same intent again and again."""
    assert chosen_power(question(train, ["x"]), NONE) == min(POWERS)


def test_powers_are_not_tried_on_plans_of_the_same_group() -> None:
    assert chosen_power(question(TWINS + CROWD, ["x"], tool="a"), NONE) == min(POWERS)
