"""SHGAT learns from training intents alone, and falls where recall is cut (LE-5, LE-8)."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from pml.evaluation.dataset import Dataset, Episode, Workflow
from pml.evaluation.measured import Mean
from pml.evaluation.methods.tools_bm25 import Bm25
from pml.evaluation.questions import Scores, ToolsQuestion
from pml.evaluation.sample.errands import errands
from pml.evaluation.shgat_asking import Asked
from pml.evaluation.shgat_examples import examples_of, runs_of
from pml.evaluation.shgat_folds import (
    COLUMNS,
    EXPECTED_VOTES,
    FALLBACKS,
    RANKED,
    Folds,
    ViewEvidence,
)
from pml.evaluation.shgat_questions import ids_of, of_capabilities, of_tools
from pml.evaluation.shgat_ranking import Ranker, Setting, Training, encoder_for, trained_ranker
from pml.evaluation.shgat_views import Source
from pml.evaluation.task import Problem
from pml.evaluation.tasks.capabilities import TASK as CAPABILITIES
from pml.evaluation.tasks.tools import TASK as TOOLS
from pml.learning.cold_start import cold_start
from pml.learning.folds import HeldQueries, cross_fitted
from pml.learning.gate import LEAST_INTENTS, ndcg
from pml.learning.training_config import TrainingConfig
from pml.models.inputs import Queries, RankingTask

QUICK = Setting(training=TrainingConfig(epochs=4), latent=32)
PAST = frozenset({"votes", "nearest", "alike", "popularity"})


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return errands()


@pytest.fixture(scope="module")
def problem(dataset: Dataset) -> Problem[ToolsQuestion, Scores]:
    (found,) = TOOLS.problems(dataset)
    return found


@pytest.fixture(scope="module")
def ranker(problem: Problem[ToolsQuestion, Scores]) -> Ranker:
    return trained_ranker(of_tools(problem.question), RankingTask.TOOLS, QUICK)


def figure(problem: Problem[ToolsQuestion, Scores], scores: Scores) -> float:
    metric = problem.judge(scores).metrics["nDCG10"]
    assert isinstance(metric, Mean)
    return float(np.nanmean(metric.values))


def test_trained_it_beats_search_by_words(
    problem: Problem[ToolsQuestion, Scores], ranker: Ranker
) -> None:
    question = problem.question
    ours = figure(problem, ranker.scores(question.intents))
    assert ours > figure(problem, Bm25().answers(question)) + 0.2


def test_with_recall_disconnected_it_falls(
    problem: Problem[ToolsQuestion, Scores], ranker: Ranker
) -> None:
    question = problem.question
    nothing_past = replace(of_tools(question), workflows=())
    without = trained_ranker(nothing_past, RankingTask.TOOLS, QUICK)
    assert without.passes  # search by text is all there is
    fallen = figure(problem, without.scores(question.intents))
    assert fallen < figure(problem, ranker.scores(question.intents)) - 0.2


def without_servers(question: ToolsQuestion, lost: set[str]) -> tuple[Dataset, list[Workflow]]:
    """What is left if nobody had used some servers, and the requests for them."""
    server = {tool.id: tool.server for tool in question.tools}
    needing = [each for each in question.train if lost & {server[node] for node in each.nodes}]
    left = tuple(each for each in question.train if each not in needing)
    return replace(of_tools(question), workflows=left), needing


def test_where_servers_are_new_requests_for_lost_ones_decide_with_the_others(
    problem: Problem[ToolsQuestion, Scores],
) -> None:
    dataset, needing = without_servers(problem.question, {"ferry", "bakery", "purse"})
    ranker = trained_ranker(dataset, RankingTask.TOOLS, QUICK)
    verdict = ranker.trained.verdicts[RankingTask.TOOLS]
    assert verdict.cold_intents >= LEAST_INTENTS
    assert 0.5 < verdict.cold_share < 1  # five of the twelve servers are new, requests need several
    assert not ranker.passes

    place = {tool: at for at, tool in enumerate(ranker.candidates)}
    right = [np.array(sorted({place[node] for node in each.nodes})) for each in needing]
    model, fallback = ranker.scores_and_fallback([each.intent for each in needing])
    assert ndcg(fallback, right).mean() > ndcg(model, right).mean() + 0.05


def test_models_that_judge_new_servers_know_nothing_of_the_lost_ones(
    problem: Problem[ToolsQuestion, Scores],
) -> None:
    """Not a node, a past intent or a word of what they are asked."""
    dataset, _ = without_servers(problem.question, {"ferry", "bakery", "purse"})
    examples = [one for one in examples_of(dataset) if one.task in RANKED]
    found = cold_start(examples, {tool.id: tool.server for tool in dataset.tools}, seed=0)
    assert found is not None
    training = Training(task=RankingTask.TOOLS, setting=QUICK)
    for part in found.parts:
        asked = training.tried(dataset, part).asked
        known = {example.source for example in part.known}
        left = replace(dataset, workflows=tuple(w for w in dataset.workflows if w.id in known))
        words = Source(left, encoder_for(left, QUICK.latent)).tool_vectors
        view, tools = asked.view, asked.view.graph.tools
        assert np.array_equal(view.inputs.vectors[: len(tools)], words)
        lost = {tool.id for tool in dataset.tools if tool.server in part.needing.values()}
        assert lost.isdisjoint(tools[at] for at in view.graph.members if at < len(tools))
        said = asked.tasks[RankingTask.TOOLS].queries.take(np.arange(2)).evidence
        columns = [at for at, tool in enumerate(tools) if tool in lost]
        past = [COLUMNS.index(name) for name in PAST]
        assert not said[:, columns][:, :, past].any()
        assert said[:, :, past].any()


def test_texts_stand_in_for_the_votes_that_a_tool_could_not_get() -> None:
    said = np.zeros((1, 4, len(COLUMNS)), np.float32)
    texts = [COLUMNS.index(name) for name in ("cosine", "grams", "meaning")]
    votes = [COLUMNS.index(name) for name in ("votes", "alike")]
    said[0, :, texts] = [1, 1, 0.5, 1]
    said[0, :, votes] = [0, 1, 1, 0]
    said[0, 1:, COLUMNS.index("popularity")] = 0.5  # the first never served
    queries = Queries(vectors=np.zeros((1, 2), np.float32), evidence=said, stats=said[:, 0])
    new, voted, less, passed_over = FALLBACKS[RankingTask.TOOLS]["texts and expected votes"](
        queries
    )[0].tolist()
    assert voted == pytest.approx(1)
    assert new == pytest.approx((1 + 2 * EXPECTED_VOTES) / 3)
    assert voted > less > new > passed_over == pytest.approx(1 / 3)


def test_training_reads_nothing_of_what_is_asked(
    problem: Problem[ToolsQuestion, Scores], ranker: Ranker
) -> None:
    some = replace(problem.question, intents=problem.question.intents[:3])
    alone = trained_ranker(of_tools(some), RankingTask.TOOLS, QUICK).scores(some.intents)
    among = ranker.scores(problem.question.intents)[:3]
    np.testing.assert_allclose(alone, among, rtol=1e-5, atol=1e-5)


def test_no_training_intent_finds_itself_among_the_past(dataset: Dataset) -> None:
    source = Source(dataset, encoder_for(dataset, 0))
    examples = [one for one in examples_of(dataset) if one.task in RANKED]
    folds = cross_fitted(examples, Folds(source), folds=3, seed=0)
    nearest = COLUMNS.index("nearest")
    for fold in folds:
        queries = fold.tasks[RankingTask.TOOLS].queries
        assert isinstance(queries, HeldQueries)
        assert queries.queries.evidence[:, :, nearest].max() < 1 - 1e-6


def test_hidden_columns_are_zeros_when_trained_and_when_asked(
    problem: Problem[ToolsQuestion, Scores],
) -> None:
    setting = replace(QUICK, without=PAST, training=TrainingConfig(epochs=1))
    hiding = trained_ranker(of_tools(problem.question), RankingTask.TOOLS, setting)
    (queries,) = hiding._blocks(problem.question.intents[:2])
    places = [COLUMNS.index(name) for name in sorted(PAST)]
    assert not queries.evidence[:, :, places].any()
    assert queries.evidence.any()


def test_a_column_that_there_is_not_cannot_be_hidden() -> None:
    with pytest.raises(ValueError, match="nowhere"):
        _ = Setting(without=frozenset({"nowhere"})).hidden


def test_model_and_fallback_are_of_the_same_evidence_asked_once(
    problem: Problem[ToolsQuestion, Scores], ranker: Ranker
) -> None:
    asked: list[int] = []

    class Counted(ViewEvidence):
        def queries(self, task: RankingTask, intents: Sequence[str]) -> Queries:
            asked.append(len(intents))
            return ranker.evidence.queries(task, intents)

    counting = replace(ranker, evidence=Counted.__new__(Counted))
    intents = (problem.question.intents * 300)[:300]
    model, fallback = counting.scores_and_fallback(intents)
    assert asked == [256, 44]
    assert np.array_equal(model, ranker.scores(intents))
    name = ranker.trained.fallbacks[RankingTask.TOOLS]
    said = ranker.evidence.queries(RankingTask.TOOLS, intents)
    np.testing.assert_allclose(fallback, FALLBACKS[RankingTask.TOOLS][name](said), rtol=1e-5)


@pytest.mark.parametrize(("passes", "expected"), [(True, 1), (False, 2)])
def test_the_gate_chooses(passes: bool, expected: float) -> None:
    model, fallback = (np.full((1, 2), value, np.float32) for value in (1, 2))
    assert (Asked(model=model, fallback=fallback, passes=passes).gated == expected).all()


def test_candidates_are_the_capabilities_that_are_learned(dataset: Dataset) -> None:
    question = CAPABILITIES.problems(dataset)[0].question
    made = of_capabilities(question)
    ranker = trained_ranker(
        made, RankingTask.CAPABILITIES, replace(QUICK, trained=False, training=TrainingConfig())
    )
    assert sorted(ranker.candidates) == sorted(ids_of(question.candidates))
    intents: Sequence[str] = [i for one in question.candidates for i in one.past_intents]
    assert sorted(workflow.intent for workflow in made.workflows) == sorted(intents)


def test_recorded_runs_of_what_is_asked_about_teach_nothing_however_it_is_spaced() -> None:
    asked = Workflow(id="w", intent="Find a ferry", nodes=("a",), edges=(), split="test")
    intents = ("find  a ferry.", "find a train")
    dataset = Dataset(
        name="runs",
        tools=(),
        workflows=(asked,),
        episodes=tuple(
            Episode(id=intent, workflow_id=None, intent=intent, reward=None) for intent in intents
        ),
    )
    assert [episode.intent for episode, _ in runs_of(dataset)] == ["find a train"]
