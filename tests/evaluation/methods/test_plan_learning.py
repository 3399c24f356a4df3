"""Plans where servers are new: what is tried, and what then serves (LE-5, LE-6)."""

from dataclasses import replace

import numpy as np
import pytest

from pml.domain.capability import normalised_intent
from pml.embedding.static import default_encoder
from pml.evaluation.dataset import Tool, Workflow
from pml.evaluation.methods.plan_shgat import PlanShgat, chosen, of_both, of_sequences, of_texts
from pml.evaluation.plan_learning import PlanLearning
from pml.evaluation.questions import PlansQuestion
from tests.evaluation.catalogues import NEW, SERVERS, TOOLS, USED, VERBS, runs

KNOWN = tuple(tool for tool in TOOLS if tool.server in USED)


@pytest.fixture(scope="module")
def learned() -> PlanLearning:
    return PlanLearning(TOOLS, runs(), default_encoder())


def plans_for(tools: tuple[Tool, ...], servers: str) -> list[set[str]]:
    """Servers that the plans are made of."""
    intents = tuple(f"{verb} a {server * 3} soon" for server in servers for verb in VERBS)
    asked = PlansQuestion(tools=tools, train=runs(), intents=intents, sizes=(2,) * len(intents))
    return [{SERVERS[tool] for tool in plan.nodes} for plan in PlanShgat().answers(asked) or ()]


def test_a_request_for_a_new_server_gets_a_plan_of_its_tools() -> None:
    assert plans_for(TOOLS, NEW) == [{server} for server in NEW for _ in VERBS]


def test_a_request_for_a_used_server_gets_a_plan_of_its_tools_all_the_same() -> None:
    assert plans_for(TOOLS, USED) == [{server} for server in USED for _ in VERBS]
    assert plans_for(KNOWN, USED) == plans_for(TOOLS, USED)


def test_no_trial_knows_the_servers_or_the_intents_that_it_asks_for(learned: PlanLearning) -> None:
    trials = learned.cold_trials()
    assert len(trials) > 1
    for trial in trials:
        lost = {SERVERS[tool] for each in trial.right for tool in each.nodes}
        known = {SERVERS[tool] for each in trial.question.train for tool in each.nodes}
        assert not lost & known
        assert len(set(trial.servers.tolist())) == len(lost)
        assert trial.question.intents == tuple(each.intent for each in trial.right)


def test_the_warm_trial_asks_what_it_does_not_know_of_servers_that_it_knows(
    learned: PlanLearning,
) -> None:
    trial = learned.warm_trial()
    known = {normalised_intent(each.intent) for each in trial.question.train}
    assert not known & {normalised_intent(intent) for intent in trial.question.intents}
    assert {SERVERS[tool] for each in trial.question.train for tool in each.nodes} == set(USED)


def test_nothing_is_tried_where_no_server_is_new() -> None:
    learned = PlanLearning(KNOWN, runs(), default_encoder())
    assert learned.cold_trials() == ()
    assert learned.share == 0


def test_consensus_serves_unless_another_way_beats_it(learned: PlanLearning) -> None:
    warm, lost = learned.warm_trial(), learned.cold_trials()
    like_warm = replace(warm, servers=np.zeros(len(warm.right), np.int64))
    assert chosen(warm, lost, learned.share) in {of_sequences, of_texts}
    assert chosen(warm, [like_warm], learned.share) is of_both


def test_few_requests_tell_nothing(learned: PlanLearning) -> None:
    warm, lost = learned.warm_trial(), learned.cold_trials()
    asked = warm.question
    short = replace(
        warm,
        question=replace(asked, intents=asked.intents[:9], sizes=asked.sizes[:9]),
        right=warm.right[:9],
        servers=warm.servers[:9],
    )
    assert chosen(short, lost, learned.share) is of_both
    assert chosen(warm, [short], learned.share) is of_both


def plan_of(train: tuple[Workflow, ...]) -> set[str] | None:
    """Tools of the plan for one request."""
    asked = PlansQuestion(tools=TOOLS, train=train, intents=("book a aaa soon",), sizes=(2,))
    plans = PlanShgat().answers(asked)
    return None if plans is None else set(plans[0].nodes)


def test_intents_that_differ_by_spaces_alone_are_one_and_too_few() -> None:
    spaced = [replace(each, intent=f"book{' ' * at} a") for at, each in enumerate(runs(12), 1)]
    assert plan_of(tuple(spaced)) is None


def test_a_few_intents_many_times_over_are_asked_once_and_leave_something_known() -> None:
    repeated = tuple(replace(each, intent=f"{each.intent.rpartition(' ')[0]}") for each in runs())
    repeated += tuple(replace(each, id=f"one {each.id}") for each in runs(6))
    trial = PlanLearning(TOOLS, repeated, default_encoder()).warm_trial()
    assert trial.question.train
    asked = [normalised_intent(intent) for intent in trial.question.intents]
    assert len(asked) == len(set(asked)) == 3
    assert plan_of(repeated) == {"a:find", "a:book"}


def test_a_part_without_which_nothing_is_known_is_not_tried() -> None:
    both = tuple(replace(each, nodes=("a:find", "b:book")) for each in runs(40))
    assert PlanLearning(TOOLS, both, default_encoder()).cold_trials() == ()
    assert plan_of(both) == {"a:find", "b:book"}
