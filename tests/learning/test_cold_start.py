"""Cold start: requests for servers that nobody has used have a part in the verdict (LE-5)."""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.domain.capability import normalised_intent
from pml.learning.cold_start import (
    LEAST_NEW,
    MOST_ASKED,
    MOST_PARTS,
    ColdCases,
    ColdStart,
    cold_start,
    merged,
)
from pml.learning.examples import Example
from pml.learning.fallbacks import best_fallbacks
from pml.learning.gate import LEAST_INTENTS, LEAST_SERVERS, ColdPair, gate, ndcg
from pml.learning.held_back import Tried, cold_cases, held_back
from pml.learning.prepared import PreparedFold
from pml.learning.shgat_training import train
from pml.learning.training_config import TrainingConfig
from pml.models.inputs import RankingTask
from tests.learning.catalogues import CONFIG, Catalogue

TOOLS = {f"{server}:{tool}": server for server, tool in product("abcdefgh", ("x", "y"))}
USED = [tool for tool, server in TOOLS.items() if server in "abcdef"]
REQUESTS = st.lists(
    st.tuples(
        st.integers(0, 30),
        st.lists(st.sampled_from(USED), min_size=1, max_size=4, unique=True),
        st.sampled_from(["ask", "Ask ", "seek"]),
    ),
    min_size=1,
    max_size=60,
)


def examples_of(requests: list[tuple[int, list[str], str]]) -> list[Example]:
    """Of each request its tools, its next tools and a capability."""
    found = []
    for at, (number, tools, verb) in enumerate(requests):
        source, intent = f"run-{at}", f"{verb} {number}"
        found.append(
            Example(
                task=RankingTask.TOOLS,
                source=source,
                intent=intent,
                positives=tuple(tools[:1]),
                failed=tuple(tools[1:]),
            )
        )
        found += [
            Example(
                task=RankingTask.NEXT_TOOL,
                source=source,
                intent=intent,
                positives=(after,),
                prefix=tuple(tools[: place + 1]),
            )
            for place, after in enumerate(tools[1:])
        ]
        found.append(
            Example(
                task=RankingTask.CAPABILITIES, source=source, intent=intent, positives=(f"c{at}",)
            )
        )
    return found


def dealt(examples: list[Example], seed: int = 0) -> ColdStart | None:
    return cold_start(examples, TOOLS, seed=seed)


def servers_of(examples: list[Example], source: str) -> set[str]:
    return {
        TOOLS[tool]
        for one in examples
        if one.source == source
        for tool in (*one.positives, *one.failed, *one.prefix)
        if tool in TOOLS
    }


@given(REQUESTS, st.integers(0, 3))
def test_what_is_known_calls_no_server_that_is_lost_and_asks_no_intent_that_is_asked(
    requests: list[tuple[int, list[str], str]], seed: int
) -> None:
    examples = examples_of(requests)
    found = dealt(examples, seed)
    used = set().union(*(servers_of(examples, one.source) for one in examples))
    assert (found is None) == (len(used) < 2)  # a quarter of the tools are new
    for part in () if found is None else found.parts:
        left = set().union(*(servers_of(examples, one.source) for one in part.known))
        lost = used - left
        assert all(servers_of(examples, one.source) & lost for one in part.asked)
        known, asked = (
            {normalised_intent(one.intent) for one in some} for some in (part.known, part.asked)
        )
        assert not known & asked


@given(REQUESTS, st.integers(0, 3))
def test_intents_are_asked_once_and_of_what_is_asked_everything_but_capabilities(
    requests: list[tuple[int, list[str], str]], seed: int
) -> None:
    examples = examples_of(requests)
    found = dealt(examples, seed)
    if found is None:
        return
    asked = [{normalised_intent(one.intent) for one in part.asked} for part in found.parts]
    assert sum(map(len, asked)) == len(set().union(*asked))
    for part in found.parts:
        sources = {one.source for one in part.asked}
        assert part.asked == tuple(
            one
            for one in examples
            if one.source in sources and one.task is not RankingTask.CAPABILITIES
        )
        assert part.needing.keys() == sources
        of_intent = {
            (normalised_intent(one.intent), part.needing[one.source]) for one in part.asked
        }
        assert len(of_intent) == len({intent for intent, _ in of_intent})


@given(REQUESTS)
def test_parts_of_at_most_the_share_that_is_new_are_lost(
    requests: list[tuple[int, list[str], str]],
) -> None:
    """Each request calls one server, so that what is left names all servers that are left."""
    called = [tool for _, tools, _ in requests for tool in tools]
    examples = examples_of([(at, [tool], "ask") for at, tool in enumerate(called)])
    found = dealt(examples)
    if found is None:
        return
    used = {TOOLS[tool] for tool in called}
    new = 1 - len(used) / len(set(TOOLS.values()))  # each has two tools
    lost = [
        used - set().union(*(servers_of(examples, one.source) for one in part.known))
        for part in found.parts
    ]
    assert len(lost) == min(MOST_PARTS, len(used), math.ceil(1 / new))
    assert sum(map(len, lost)) == len(set().union(*lost))
    for servers in lost:
        assert 1 <= len(servers) <= math.ceil(max(new, 1 / len(used)) * len(used))
    asked = [one.source for part in found.parts for one in part.asked]
    assert len(set(asked)) == sum(TOOLS[tool] in set().union(*lost) for tool in called)


def test_as_many_requests_are_expected_as_call_a_new_server_by_chance() -> None:
    """A quarter of the tools are new; half of the requests call one server, half call two."""
    calls = [[USED[at]] if at % 2 else [USED[at], USED[at - 2]] for at in range(12)]
    found = dealt(examples_of([(at, tools, "ask") for at, tools in enumerate(calls)]))
    assert found is not None
    assert found.share == pytest.approx((1 - 0.75 + 1 - 0.75**2) / 2)


ONCE = Example(task=RankingTask.TOOLS, source="one", intent="once")


@pytest.mark.parametrize(
    "own",
    [
        replace(ONCE, positives=("a:x",)),
        replace(ONCE, failed=("a:x",)),
        replace(ONCE, task=RankingTask.NEXT_TOOL, prefix=("a:x",)),
    ],
)
def test_whatever_was_called_is_no_new_server(own: Example) -> None:
    """One source says so in one way; it is asked for when that server is lost."""
    others = examples_of([(at, [tool], "ask") for at, tool in enumerate(USED[2:])])
    found = dealt([own, *others])
    assert found is not None
    asked = [part.needing["one"] for part in found.parts if own in part.asked]
    known = [own in part.known for part in found.parts]
    assert asked == ["a"]
    assert sum(known) == MOST_PARTS - 1


def test_where_few_tools_are_on_new_servers_nothing_is_lost() -> None:
    examples = examples_of([(at, [tool], "ask") for at, tool in enumerate(USED * 3)])
    enough = {tool: server for tool, server in TOOLS.items() if server in "abcdefg"}
    few = {**{f"a:{at}": "a" for at in range(100)}, **enough}
    assert cold_start(examples, enough, seed=0) is not None  # 2 of 14 are new
    assert 2 / len(few) < LEAST_NEW
    assert cold_start(examples, few, seed=0) is None
    assert cold_start([], TOOLS, seed=0) is None


def test_no_more_intents_are_asked_of_a_part_than_the_limit() -> None:
    """All of them call one server, which is lost in one part."""
    many = examples_of([(at, [USED[0]], "ask") for at in range(MOST_ASKED + 50)])
    others = examples_of([(at, [tool], "seek") for at, tool in enumerate(USED[2:])])
    found = dealt([*many, *[one for one in others if one.source != "run-0"]])
    assert found is not None
    asked = [len({one.intent for one in part.asked}) for part in found.parts]
    assert max(asked) == MOST_ASKED  # USED[0] is on a part that is lost


def cases(model: float, *, intents: int = 40, servers: int = 40, **fallbacks: float) -> ColdCases:
    return ColdCases(
        model=np.full(intents, model),
        fallbacks={name: np.full(intents, value) for name, value in fallbacks.items()},
        groups=np.arange(intents),
        servers=np.arange(intents) % servers,
        share=0.5,
    )


def test_a_model_that_is_better_where_all_is_known_and_worse_where_servers_are_new_fails() -> None:
    warm, fallback, groups = np.full(40, 0.9), np.full(40, 0.8), np.arange(40)
    assert gate(warm, fallback, groups, seed=0).passes
    verdict = gate(warm, fallback, groups, seed=0, cold=cases(0.1, words=0.6).against("words"))
    assert not verdict.passes
    assert (verdict.model, verdict.fallback) == pytest.approx((0.5, 0.7))
    assert (verdict.intents, verdict.cold_intents, verdict.cold_share) == (40, 40, 0.5)


def test_a_model_that_is_better_on_both_passes_with_both_figures_weighed() -> None:
    cold = cases(0.7, intents=100, words=0.6).against("words")
    verdict = gate(np.full(40, 0.9), np.full(40, 0.8), np.arange(40), seed=0, cold=cold)
    assert verdict.passes
    assert (verdict.model, verdict.fallback) == pytest.approx((0.8, 0.7))


def test_too_few_cold_intents_and_those_without_an_answer_say_nothing() -> None:
    warm, fallback, groups = np.full(40, 0.9), np.full(40, 0.8), np.arange(40)
    alone = gate(warm, fallback, groups, seed=0)
    few = cases(0.0, intents=LEAST_INTENTS - 1, words=1.0)
    unanswered = ColdPair(
        model=np.full(90, np.nan),
        fallback=np.full(90, np.nan),
        groups=np.arange(90),
        servers=np.arange(90),
        share=0.9,
    )
    assert not few.enough
    for cold in (few.against("words"), unanswered):
        assert gate(warm, fallback, groups, seed=0, cold=cold) == alone


def test_a_model_that_does_better_on_one_new_server_does_not_pass_by_how_often_it_is_asked() -> (
    None
):
    """On each lost server one of the two is better by luck, whatever is asked of it."""
    rng = np.random.default_rng(0)
    passed = 0
    for seed in range(400):
        warm, lost = rng.random((30, 2)), rng.random((LEAST_SERVERS, 2))
        asked = np.arange(100) % LEAST_SERVERS
        cold = ColdPair(
            model=lost[asked, 0],
            fallback=lost[asked, 1],
            groups=np.arange(100),
            servers=asked,
            share=0.8,
        )
        passed += gate(warm[:, 0], warm[:, 1], np.arange(30), seed=seed, cold=cold).passes
    assert passed <= 32  # 20 are expected


def test_with_two_used_servers_a_model_that_is_better_on_either_may_pass() -> None:
    """Servers as units would have four patterns of signs: nothing could be as rare as 1 in 20."""
    rng = np.random.default_rng(0)
    same = rng.random(40)
    better = cases(0.8, servers=2, words=0.2).against("words")
    assert gate(same, same, np.arange(40), seed=0, cold=better).passes
    level = cases(0.5, servers=2, words=0.5).against("words")
    assert not gate(same, same, np.arange(40), seed=0, cold=level).passes


def test_cold_intents_are_weighed_alike_whatever_server_they_need() -> None:
    """One server is asked thirty times and another ten times."""
    servers = np.repeat([0, 1], [30, 10])
    cold = ColdPair(
        model=np.where(servers == 0, 0.4, 0.8),
        fallback=np.zeros(40),
        groups=np.arange(40),
        servers=servers,
        share=1.0,
    )
    assert gate(np.ones(30), np.ones(30), np.arange(30), seed=0, cold=cold).model == pytest.approx(
        0.5
    )


def test_the_fallback_is_the_best_of_both_kinds_together() -> None:
    folds = Catalogue().folds()
    task = RankingTask.TOOLS
    both = [
        {
            "said": one.tasks[task].fallbacks["said"],
            "opposite": lambda queries: -queries.evidence[..., 0],
        }
        for one in folds
    ]
    made = [
        replace(fold, tasks={task: replace(fold.tasks[task], fallbacks=named)})
        for fold, named in zip(folds, both, strict=True)
    ]
    assert best_fallbacks(made)[task] == "said"
    few = cases(0.0, intents=LEAST_INTENTS - 1, said=0.0, opposite=1.0)
    assert best_fallbacks(made, {task: few})[task] == "said"
    lost = cases(0.0, said=0.0, opposite=1.0)
    assert best_fallbacks(made, {task: lost})[task] == "opposite"
    found = train([*made], Catalogue().view, CONFIG, TrainingConfig(epochs=1), cold={task: lost})
    assert found.fallbacks[task] == "opposite"
    assert found.verdicts[task].cold_intents == 40
    assert found.figures["tools.cold_share"] == 0.5


def test_cases_are_of_what_models_say_of_what_they_are_asked() -> None:
    catalogue, task = Catalogue(), RankingTask.TOOLS
    asked = [one for one in catalogue.examples if one.task is task][:60]
    twice = [replace(one, intent=f"please do {at // 2}") for at, one in enumerate(asked)]
    fold = catalogue.fold([], twice)
    needing = {one.source: f"server {at // 6}" for at, one in enumerate(twice)}
    trained = train(catalogue.folds(), catalogue.view, CONFIG, TrainingConfig(epochs=1))
    tried = Tried(model=trained.model, asked=fold, needing=needing)

    found = cold_cases([tried, tried], TrainingConfig(), share=0.3)[task]

    prepared = PreparedFold(trained.model, fold)
    scores = held_back(trained.model, prepared, TrainingConfig()).scores[task]
    examples = fold.tasks[task]
    reached = ndcg(scores, examples.targets.positives)
    assert found.share == 0.3
    assert np.array_equal(found.model, np.concatenate([reached, reached]))
    said = examples.queries.take(np.arange(60)).evidence[..., 0]
    once = ndcg(said, examples.targets.positives)
    assert np.array_equal(found.fallbacks["said"], np.concatenate([once, once]))
    assert found.groups.tolist() == [at // 2 for at in range(120)]
    assert found.servers.tolist() == [at // 6 for at in range(120)]


def test_intents_of_several_parts_are_different_ones() -> None:
    found = merged([cases(1.0, intents=3, words=0.5), cases(0.0, intents=2, servers=1, words=0.5)])
    assert found.groups.tolist() == [0, 1, 2, 3, 4]
    assert found.model.tolist() == [1, 1, 1, 0, 0]
    assert found.servers.tolist() == [0, 1, 2, 3, 3]
    assert len(found.fallbacks["words"]) == 5
