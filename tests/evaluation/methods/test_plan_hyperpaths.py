"""Plans as hyperpaths: the likeliest known sequence, or one tool more (LE-6, RW-6)."""

import math
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.evaluation.methods.plan_hyperpaths import DrDsp
from pml.evaluation.plan_graph import PlanGraph
from pml.evaluation.questions import PlansQuestion
from tests.evaluation.sequences import flow, tools

TOOLS = "abcd"
log_odds = st.integers(-24, 24).map(lambda n: n / 4)
sequences = st.lists(st.text(TOOLS, min_size=1, max_size=3), min_size=1, max_size=6)


def plan_graph(shown: list[str], frequency: float = 1.0) -> PlanGraph:
    return PlanGraph([tuple(each) for each in shown], TOOLS, frequency=frequency)


def likelihood(nodes: tuple[str, ...], shown: list[str], odds: dict[str, float]) -> float:
    """Log of the odds of the tools and of the plan's frequency, by the definition."""
    counts, total = Counter(map(tuple, shown)), len(shown) + 1
    after = Counter(pair for each in shown for pair in pairwise(each))

    def known(plan: tuple[str, ...]) -> float:
        alone = 0.5 / len(TOOLS) if len(plan) == 1 else 0
        return (counts[plan] or alone) / total

    chances = [known(nodes)]
    follows = sum(times for (first, _), times in after.items() if first == nodes[-2:][0])
    if len(nodes) > 1 and nodes[-1] not in nodes[:-1] and follows:
        chances.append(known(nodes[:-1]) * 0.05 * after[nodes[-2], nodes[-1]] / follows)
    best = max(chances)
    return sum(odds[t] for t in set(nodes)) + (math.log(best) if best > 0 else -math.inf)


@given(sequences, st.fixed_dictionaries(dict.fromkeys(TOOLS, log_odds)))
def test_no_known_or_longer_plan_is_likelier(shown: list[str], odds: dict[str, float]) -> None:
    found = plan_graph(shown).plan(odds)
    plans = {tuple(each) for each in shown} | {(tool,) for tool in TOOLS}
    plans |= {(*each, tool) for each in plans for tool in TOOLS}
    best = max(likelihood(each, shown, odds) for each in plans)
    assert likelihood(found.nodes, shown, odds) == pytest.approx(best)


@given(sequences, st.lists(st.fixed_dictionaries(dict.fromkeys(TOOLS, log_odds)), max_size=4))
def test_what_was_asked_before_does_not_matter(
    shown: list[str], asked: list[dict[str, float]]
) -> None:
    kept = plan_graph(shown)
    for odds in asked:
        assert kept.plan(odds) == plan_graph(shown).plan(odds)


def test_a_plan_is_linked_in_the_order_that_was_shown() -> None:
    found = plan_graph(["cab"]).plan(dict.fromkeys("abc", 9.0) | {"d": -9.0})
    assert found.nodes == ("c", "a", "b")
    assert found.links == (("c", "a"), ("a", "b"))


def test_it_finds_the_plan_that_the_intents_name() -> None:
    pairs = ["ab", "cd", "ef"]
    train = [
        flow(nodes, None, intent=" ".join(f"tool_{n}" for n in nodes), key=f"{nodes}{n}")
        for nodes in pairs
        for n in range(8)
    ]
    question = PlansQuestion(
        tools=tools(),
        train=tuple(train),
        intents=tuple(" ".join(f"tool_{n}" for n in nodes) for nodes in pairs),
        sizes=(),
    )
    plans = DrDsp().answers(question)
    assert plans is not None
    assert [plan.nodes for plan in plans] == [tuple(each) for each in pairs]


def test_without_training_it_has_no_answer() -> None:
    question = PlansQuestion(tools=tools(), train=(), intents=("a",), sizes=(1,))
    assert DrDsp().answers(question) is None
