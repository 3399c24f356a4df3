"""Cold start: requests for servers that nobody has used have a part in the verdict (LE-5)."""

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
    PARTS,
    ColdCases,
    ColdStart,
    cold_start,
    merged,
)
from pml.learning.examples import Example
from pml.learning.fallbacks import best_fallbacks
from pml.learning.gate import LEAST_INTENTS, ColdPair, gate
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
    assert (found is None) == (len(used) < PARTS)  # a quarter of the tools are new
    for part in () if found is None else found.parts:
        left = set().union(*(servers_of(examples, one.source) for one in part.known))
        lost = used - left
        assert all(servers_of(examples, one.source) & lost for one in part.asked)
        known, asked = (
            {normalised_intent(one.intent) for one in some} for some in (part.known, part.asked)
        )
        assert not known & asked


@given(REQUESTS, st.integers(0, 3))
def test_every_intent_is_asked_once_and_everything_of_it_but_capabilities(
    requests: list[tuple[int, list[str], str]], seed: int
) -> None:
    examples = examples_of(requests)
    found = dealt(examples, seed)
    if found is None:
        return
    asked = [{normalised_intent(one.intent) for one in part.asked} for part in found.parts]
    assert sum(map(len, asked)) == len(set().union(*asked))
    assert set().union(*asked) == {normalised_intent(one.intent) for one in examples}
    for part in found.parts:
        sources = {one.source for one in part.asked}
        assert part.asked == tuple(
            one
            for one in examples
            if one.source in sources and one.task is not RankingTask.CAPABILITIES
        )


@given(REQUESTS)
def test_every_used_server_is_lost_once(requests: list[tuple[int, list[str], str]]) -> None:
    """Each request calls one, so that what is left names all servers that are left."""
    called = [tool for _, tools, _ in requests for tool in tools]
    alone = [(at, [tool], "ask") for at, tool in enumerate(called)]
    examples = examples_of(alone)
    found = dealt(examples)
    if found is None:
        return
    used = {TOOLS[tool] for tool in called}
    known = [
        set().union(*(servers_of(examples, one.source) for one in part.known))
        for part in found.parts
    ]
    assert sorted(server for left in known for server in used - left) == sorted(used)


def test_as_many_requests_are_expected_as_call_a_new_server_by_chance() -> None:
    """A quarter of the tools are new; half of the requests call one server, half call two."""
    calls = [[USED[at]] if at % 2 else [USED[at], USED[at - 2]] for at in range(12)]
    found = dealt(examples_of([(at, tools, "ask") for at, tools in enumerate(calls)]))
    assert found is not None
    assert found.share == pytest.approx((1 - 0.75 + 1 - 0.75**2) / 2)


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
    assert max(asked) == MOST_ASKED


def cases(model: float, intents: int = 40, **fallbacks: float) -> ColdCases:
    return ColdCases(
        model=np.full(intents, model),
        fallbacks={name: np.full(intents, value) for name, value in fallbacks.items()},
        groups=np.arange(intents),
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
    cold = cases(0.7, words=0.6).against("words")
    verdict = gate(np.full(40, 0.9), np.full(40, 0.8), np.arange(40), seed=0, cold=cold)
    assert verdict.passes
    assert (verdict.model, verdict.fallback) == pytest.approx((0.8, 0.7))


def test_too_few_cold_intents_and_those_without_an_answer_say_nothing() -> None:
    warm, fallback, groups = np.full(40, 0.9), np.full(40, 0.8), np.arange(40)
    alone = gate(warm, fallback, groups, seed=0)
    few = cases(0.0, intents=LEAST_INTENTS - 1, words=1.0)
    unanswered = ColdPair(
        model=np.full(90, np.nan), fallback=np.full(90, np.nan), groups=np.arange(90), share=0.9
    )
    assert not few.enough
    for cold in (few.against("words"), unanswered):
        assert gate(warm, fallback, groups, seed=0, cold=cold) == alone


@given(st.integers(0, 5))
def test_labels_that_are_permuted_pass_about_as_often_as_is_said(first: int) -> None:
    rng = np.random.default_rng(first)
    passed = 0
    for seed in range(100):
        warm, lost = rng.random((30, 2)), rng.random((60, 2))
        cold = ColdPair(model=lost[:, 0], fallback=lost[:, 1], groups=np.arange(60), share=0.8)
        passed += gate(warm[:, 0], warm[:, 1], np.arange(30), seed=seed, cold=cold).passes
    assert passed <= 14  # 5 are expected; 15 come once in 10,000


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
    lost = cases(0.0, said=0.0, opposite=1.0)
    assert best_fallbacks(made, {task: lost})[task] == "opposite"
    found = train([*made], Catalogue().view, CONFIG, TrainingConfig(epochs=1), cold={task: lost})
    assert found.fallbacks[task] == "opposite"
    assert found.verdicts[task].cold_intents == 40
    assert found.figures["tools.cold_share"] == 0.5


def test_intents_of_several_parts_are_different_ones() -> None:
    found = merged([cases(1.0, intents=3, words=0.5), cases(0.0, intents=2, words=0.5)])
    assert found.groups.tolist() == [0, 1, 2, 3, 4]
    assert found.model.tolist() == [1, 1, 1, 0, 0]
    assert len(found.fallbacks["words"]) == 5
