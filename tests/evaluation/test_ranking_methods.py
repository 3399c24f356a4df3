"""Methods that rank: what each knows, and that recall is what makes PML's search good (LE-8)."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from pml.evaluation.dataset import Dataset
from pml.evaluation.measured import Mean, Measured
from pml.evaluation.methods import (
    capabilities_dense,
    capabilities_hybrid,
    capabilities_nearest,
    capabilities_pml,
    capabilities_popularity,
    capabilities_random,
    capabilities_rrf,
    capabilities_texts,
    closure_dr_dsp,
    closure_texts,
    tools_bm25,
    tools_bm25_knn,
    tools_dense,
    tools_hybrid,
    tools_knn,
    tools_likeness,
    tools_lsa,
    tools_pml,
    tools_popularity,
    tools_random,
    tools_rrf,
    tools_tfidf,
)
from pml.evaluation.questions import Candidate, CapabilitiesQuestion, ToolsQuestion
from pml.evaluation.task import Method, Problem
from pml.evaluation.tasks import capabilities, closure, tools
from tests.evaluation.made import chain, made, workshop

ENCODING = {"dense", "hybrid", "pml", "pml without recall"}
"""Methods with an encoder, which knows words that no tool has."""
TOOL_METHODS: Sequence[Method[ToolsQuestion, Any]] = (
    tools_bm25.Bm25(),
    tools_bm25_knn.Bm25AndKnn(),
    tools_dense.Dense(),
    tools_hybrid.Hybrid(),
    tools_knn.Knn(),
    tools_likeness.ByLikeness(),
    tools_lsa.Lsa(),
    tools_pml.Pml(),
    tools_pml.PmlWithoutRecall(),
    tools_popularity.Popularity(),
    tools_random.Random(),
    tools_rrf.Fused(),
    tools_tfidf.TfIdf(),
)
CAPABILITY_METHODS: Sequence[Method[CapabilitiesQuestion, Any]] = (
    capabilities_dense.Dense(),
    capabilities_hybrid.Hybrid(),
    capabilities_nearest.Nearest(),
    capabilities_pml.Pml(),
    capabilities_pml.PmlWithoutRecall(),
    capabilities_popularity.Popularity(),
    capabilities_random.Random(),
    capabilities_rrf.Fused(),
    *capabilities_texts.METHODS,
)
NEED_PAST = {
    "knn20 past intents",
    "bm25+knn",
    "bm25+knn by likeness",
    "popularity",
    "pml without recall",
}
FIXED_ERROR_RATE = 1e-6
"""Of the tests on recall: how often they would fail if recall made no difference either way."""


def reached(problem: Problem[Any, Any], method: Method[Any, Any]) -> dict[str, np.ndarray]:
    answer = method.answers(problem.question)
    assert answer is not None
    found: Measured = problem.judge(answer)
    return {name: one.values for name, one in found.metrics.items() if isinstance(one, Mean)}


def scored(method: Method[Any, Any], question: Any) -> np.ndarray:  # noqa: ANN401  # any question
    scores = method.answers(question)
    assert isinstance(scores, np.ndarray)
    return scores


def tool_problem(dataset: Dataset) -> Problem[ToolsQuestion, Any]:
    (problem,) = tools.TASK.problems(dataset)
    return problem


def capability_problem(dataset: Dataset) -> Problem[CapabilitiesQuestion, Any]:
    (problem,) = capabilities.TASK.problems(dataset)
    return problem


def wins_and_losses(one: np.ndarray, other: np.ndarray) -> tuple[int, int]:
    return int((one > other).sum()), int((one < other).sum())


@pytest.mark.parametrize(
    ("problem", "served", "ablated"),
    [
        (tool_problem(made()), tools_pml.Pml(), tools_pml.PmlWithoutRecall()),
        (
            capability_problem(made()),
            capabilities_pml.Pml(),
            capabilities_pml.PmlWithoutRecall(),
        ),
    ],
    ids=["tools", "capabilities"],
)
def test_search_with_recall_is_better_than_without(
    problem: Problem[Any, Any], served: Method[Any, Any], ablated: Method[Any, Any]
) -> None:
    # A sign test over cases; fails when past intents are no longer connected to the ranking.
    with_recall = reached(problem, served)["nDCG10"]
    without = reached(problem, ablated)["nDCG10"]
    wins, losses = wins_and_losses(with_recall, without)
    assert binomtest(wins, wins + losses, alternative="greater").pvalue < FIXED_ERROR_RATE


def test_every_retriever_that_knows_history_beats_those_that_read_only_texts() -> None:
    problem = tool_problem(made())
    found = {one.name: reached(problem, one)["nDCG10"].mean() for one in TOOL_METHODS}
    past = [found[name] for name in ("knn20 past intents", "bm25+knn by likeness", "rrf", "pml")]
    texts = [found[name] for name in ("bm25", "tfidf", "lsa", "pml without recall")]
    assert min(past) > max(texts) > found["random"]


def test_methods_that_need_history_do_not_answer_without() -> None:
    known = tool_problem(made()).question
    nothing_past = replace(known, train=())
    silent = {one.name for one in TOOL_METHODS if one.answers(nothing_past) is None}
    assert silent == NEED_PAST


def test_methods_that_need_past_intents_do_not_answer_where_there_are_only_titles() -> None:
    tool = made().tools[0]
    titled = CapabilitiesQuestion(
        candidates=(Candidate(tools=(tool,), past_intents=(), title="send mail", notes="often"),),
        intents=("send mail",),
    )
    silent = {one.name for one in CAPABILITY_METHODS if one.answers(titled) is None}
    expected = {"nearest past intent", "popularity", "pml without recall"}
    assert silent == expected | {f"{one} on past intents" for one in ("bm25", "tfidf", "lsa")}


def test_intents_without_known_words_get_no_candidate_before_another() -> None:
    intents = ("", "  ", "the of", "unheard", "\u5929")
    asked = replace(tool_problem(made()).question, intents=intents)
    for method in TOOL_METHODS:
        scores = scored(method, asked)
        assert scores.shape == (len(intents), len(asked.tools))
        if method.name not in {"random", "popularity"}:
            told = scores[:2] if method.name in ENCODING else scores
            assert (np.ptp(told, axis=1) == 0).all(), method.name
    cases = replace(capability_problem(made()).question, intents=intents)
    for ranking in CAPABILITY_METHODS:
        found = ranking.answers(cases)
        if found is not None and ranking.name not in {"random", "popularity"}:
            told = found[:2] if ranking.name in ENCODING else found
            assert (np.ptp(told, axis=1) == 0).all(), ranking.name


def test_a_single_tool_is_always_found() -> None:
    question = tool_problem(made()).question
    alone = replace(question, tools=question.tools[:1], train=question.train[:1])
    for method in TOOL_METHODS:
        assert scored(method, alone).shape == (len(alone.intents), 1)


def test_the_order_of_tools_in_the_file_changes_no_score() -> None:
    question = tool_problem(made()).question
    turned = replace(question, tools=question.tools[::-1])
    for method in TOOL_METHODS:
        if method.name not in {"random", "lsa"}:  # the topics' sign and order may change
            np.testing.assert_allclose(
                scored(method, turned)[:, ::-1], scored(method, question), rtol=1e-5, atol=1e-6
            )


def test_the_nearest_past_intent_is_the_best_of_each_capability() -> None:
    tool = made().tools[0]
    pasts = (("send mail",), (), ("read a file", "send a file by mail"))
    question = CapabilitiesQuestion(
        candidates=tuple(Candidate(tools=(tool,), past_intents=past) for past in pasts),
        intents=("send mail", "read file"),
    )
    scores = capabilities_nearest.Nearest().answers(question)
    assert scores is not None
    np.testing.assert_allclose(scores[[0, 1], [0, 2]], 1.0, rtol=1e-6)
    assert not scores[:, 1].any()
    assert 0 < scores[0, 2] < 1


def test_popularity_counts_workflows_not_calls() -> None:
    question = tool_problem(made()).question
    twice = replace(question.train[0], nodes=(*question.train[0].nodes, *question.train[0].nodes))
    popular = tools_popularity.Popularity()
    scores = popular.answers(replace(question, train=(twice, *question.train[1:])))
    np.testing.assert_array_equal(scores, popular.answers(question))


def test_the_closure_of_the_first_tool_comes_first_and_is_what_is_chosen() -> None:
    every, _ = closure.TASK.problems(chain())
    for method in closure_texts.METHODS:
        found = reached(every, method)
        if "closure" in method.name:
            assert found["mAP10"].tolist() == found["exact_set"].tolist() == [1.0] * 4
        else:
            assert np.isnan(found["exact_set"]).all()
            assert found["mAP10"].mean() < 1


def test_the_hyperpath_to_the_first_tool_is_its_closure() -> None:
    every, _ = closure.TASK.problems(chain())
    found = reached(every, closure_dr_dsp.METHODS[0])
    assert found["mAP10"].tolist() == found["exact_set"].tolist() == [1.0] * 4


def test_what_past_workflows_teach_makes_closures_better_step_by_step() -> None:
    # Tools declare to need a lamp that nobody fetches, and are asked for in words of their own.
    # Sign tests over 80 intents: error rate 1e-4 each.
    _, test = closure.TASK.problems(workshop())
    results = [reached(test, method) for method in closure_dr_dsp.METHODS]
    assert not results[0]["exact_set"].any()
    for before, after in pairwise(results):
        wins, losses = wins_and_losses(after["exact_set"], before["exact_set"])
        assert binomtest(wins, wins + losses, alternative="greater").pvalue < 1e-4
    assert results[2]["exact_set"].mean() > 0.8


def test_methods_that_learn_closures_do_not_answer_where_nothing_may_be_known() -> None:
    every, _ = closure.TASK.problems(chain())
    nothing = replace(every.question, known=((),) * len(every.question.intents))
    answered = [method.answers(nothing) is not None for method in closure_dr_dsp.METHODS]
    assert answered == [True, False, False]


def test_closures_with_cycles_end() -> None:
    found = chain()
    last = found.dependencies[0]
    back = replace(last, provider=last.consumer, consumer=last.provider)
    every, _ = closure.TASK.problems(replace(found, dependencies=(*found.dependencies, back)))
    (answer, *_) = closure_texts.METHODS[2].answers(every.question)
    assert len(set(answer.ranking)) == len(answer.ranking)
