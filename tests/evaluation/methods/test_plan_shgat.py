"""Plans made call by call: what they are made of, and when nothing is said (LE-6, LE-8)."""

import pytest

from pml.embedding.static import default_encoder
from pml.evaluation.methods.plan_shgat import PlanShgat
from pml.evaluation.plan_learning import PlanLearning
from pml.evaluation.plan_parts import chain
from pml.evaluation.questions import PlansQuestion
from tests.evaluation.sequences import NAMES, flow, tools

TRAIN = tuple(
    flow(nodes, None, intent=f"{words} number {at}", key=f"{nodes} {at}")
    for at in range(15)
    for nodes, words in (("ab", "walk dogs"), ("cde", "feed cats"))
)


def question(*intents: str, taught: int = len(TRAIN)) -> PlansQuestion:
    sizes = (2,) * len(intents)
    return PlansQuestion(tools=tools(), train=TRAIN[:taught], intents=intents, sizes=sizes)


def test_the_plan_is_what_served_such_intents() -> None:
    plans = PlanShgat().answers(question("walk dogs today", "feed cats today"))
    assert plans == [chain("ab"), chain("cde")]


def test_chances_of_plans_are_chances() -> None:
    beams = PlanLearning(tools(), TRAIN, default_encoder()).beams()
    found = beams.warm.plans("walk dogs now")
    assert all(set(sequence) <= set(NAMES) and sequence for sequence in found)
    assert max(found, key=lambda sequence: found[sequence]) == ("a", "b")
    assert 0 < sum(found.values()) <= 1


def test_it_is_silent_with_little_training_and_where_workflows_are_graphs() -> None:
    assert PlanShgat().answers(question("walk dogs", taught=4)) is None
    graphs = tuple(
        flow("abc", [(0, 1), (0, 2)], intent=f"do {at}", key=str(at)) for at in range(20)
    )
    asked = PlansQuestion(tools=tools(), train=graphs, intents=("do it",), sizes=(3,))
    assert PlanShgat().answers(asked) is None


def test_too_few_intents_are_refused() -> None:
    with pytest.raises(ValueError, match="expected intents for 3 folds, got 1"):
        PlanLearning(tools(), TRAIN[:1], default_encoder())
