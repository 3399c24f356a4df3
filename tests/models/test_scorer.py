"""The numpy scorer against a dense oracle, and what it says of wrong queries (LE-5, LE-7)."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logsumexp

from pml.features.members import Members
from pml.models.checked import LARGEST
from pml.models.config import ShgatConfig, contribution_names
from pml.models.hypergraph import hypergraph
from pml.models.inputs import FeatureHead, RankingTask
from pml.models.scorer import Query, Scorer
from pml.models.trained_ids import TrainedIds
from tests.models.dense import Dense
from tests.models.exports import asked, exported, scores
from tests.models.worlds import CONFIG, DEEP, World, inputs_of, queries_of, worlds

TASKS = st.sampled_from(list(RankingTask))
CONFIGS = st.sampled_from(
    [
        CONFIG,
        ShgatConfig(dim=4, heads=1, head_dim=5, feature_dim=0),
        ShgatConfig(dim=3, message_passing=False, id_embeddings=False, feature_dim=1),
        ShgatConfig(dim=3, feature_heads=(FeatureHead.TEMPORAL, FeatureHead.STRUCTURE)),
        ShgatConfig(dim=3, feature_heads=(), stats=("one",)),
    ]
)


def scorer_of(world: World, config: ShgatConfig = CONFIG) -> Scorer:
    graph = world.graph
    return Scorer(exported(config, graph), graph, inputs_of(graph, config=config))


@given(worlds(), TASKS, CONFIGS)
def test_scores_are_those_of_a_dense_oracle(
    world: World, task: RankingTask, config: ShgatConfig
) -> None:
    # Trained on another graph, of which some nodes are left.
    past = hypergraph(("t1", "gone", "t0"), [Members(id="t0"), Members(id="c0")])
    trained = TrainedIds(tools=("t1", "gone"), capabilities=("t0", "c0"))
    model = exported(config, past, trained=trained)
    graph, inputs = world.graph, inputs_of(world.graph, config=config)
    queries = queries_of(graph, task, config=config)
    oracle = Dense(
        config=config,
        parameters=model.parameters,
        trained=trained,
        graph=graph,
        inputs=inputs,
    )
    terms = oracle.terms(task, queries)
    scorer = Scorer(model, graph, inputs)
    for place in range(len(queries.vectors)):
        query = asked(scorer, queries, place)
        found = scores(scorer, task, query)
        expected = terms[:, place].sum(axis=0)
        np.testing.assert_allclose(found.raw, expected, rtol=1e-5, atol=1e-5)
        by_name = scorer.contributions(task, query)
        assert tuple(by_name) == contribution_names(config)
        heads = np.array(list(by_name.values()))
        np.testing.assert_allclose(heads, terms[:, place], rtol=1e-5, atol=1e-5)


@given(worlds(), TASKS)
def test_probabilities_are_the_calibrated_sigmoid_of_the_scores(
    world: World, task: RankingTask
) -> None:
    scorer = scorer_of(world)
    model = exported(CONFIG, world.graph)
    slope, rivalry, intercept = model.parameters[f"calibration.{task}"].astype(np.float64)
    found = scores(scorer, task, asked(scorer, queries_of(world.graph, task), 0))
    raw = found.raw.astype(np.float64)
    expected = expit(slope * raw + rivalry * logsumexp(raw) + intercept)
    np.testing.assert_allclose(found.probabilities, expected, rtol=1e-5)


def test_attention_of_any_size_is_a_weighted_mean() -> None:
    graph, inputs = DEEP.graph, inputs_of(DEEP.graph)
    large = replace(inputs, vectors=inputs.vectors * np.float32(1e4))
    model = exported(CONFIG, graph)
    oracle = Dense(
        config=CONFIG,
        parameters=model.parameters,
        trained=model.trained,
        graph=graph,
        inputs=large,
    )
    found = Scorer(model, graph, large).nodes.called(graph.tools)
    expected = oracle.states[: len(graph.tools)]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_score_of_any_size_has_a_probability(sign: int) -> None:
    scorer = scorer_of(DEEP)
    vector = np.full(CONFIG.dim, sign * LARGEST, np.float32)
    found = scorer.score_all_tools(Query(vector=vector))
    assert np.isfinite(found.raw).all()
    assert np.isin(found.probabilities, (0, 1)).all()


@pytest.mark.parametrize(
    "world", [World(tools=0, capabilities=()), World(tools=2, capabilities=())]
)
def test_a_graph_may_lack_capabilities_and_tools(world: World) -> None:
    scorer = scorer_of(world)
    query = Query(vector=np.ones(CONFIG.dim, np.float32))
    assert scorer.score_all_capabilities(query).raw.shape == (0,)
    assert scorer.score_all_tools(query).probabilities.shape == (world.tools,)
    assert scorer.predict_next(query).raw.shape == (world.tools,)


def test_no_evidence_is_as_if_retrievers_said_nothing() -> None:
    scorer = scorer_of(DEEP)
    queries = queries_of(DEEP.graph, RankingTask.TOOLS)
    silent = Query(vector=queries.vectors[0], evidence=np.zeros_like(queries.evidence[0]))
    alone = Query(vector=queries.vectors[0])
    np.testing.assert_array_equal(
        scorer.score_all_tools(alone).raw, scorer.score_all_tools(silent).raw
    )


def test_the_next_tool_depends_on_the_order_of_those_called() -> None:
    scorer = scorer_of(DEEP)
    vector = np.ones(CONFIG.dim, np.float32)
    one, other = (
        scorer.predict_next(Query(vector=vector, called=called)).raw
        for called in (("t0", "t1"), ("t1", "t0"))
    )
    assert (one != other).all()


def test_a_called_tool_that_is_not_known_is_passed_over() -> None:
    scorer = scorer_of(DEEP)
    vector = np.ones(CONFIG.dim, np.float32)
    one, other = (
        scorer.predict_next(Query(vector=vector, called=called)).raw
        for called in (("t0", "was removed"), ("t0",))
    )
    np.testing.assert_array_equal(one, other)


def test_a_vector_of_another_encoder_is_refused() -> None:
    with pytest.raises(ValueError, match=r"vector must be 6 dim, got 7"):
        scorer_of(DEEP).score_all_tools(Query(vector=np.ones(7, np.float32)))


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        (Query(vector=np.full(6, np.nan, np.float32)), "vector must be finite"),
        (
            Query(vector=np.ones(6, np.float32), evidence=np.zeros((1, 2), np.float32)),
            "evidence must be 5 candidates x 2 columns, got 1 x 2",
        ),
        (
            Query(vector=np.ones(6, np.float32), evidence=np.full((5, 2), np.inf, np.float32)),
            "evidence must be finite",
        ),
        (
            Query(vector=np.ones(6, np.float32), stats=np.zeros(1, np.float32)),
            "stats must be 2 stats, got 1",
        ),
    ],
)
def test_a_query_that_does_not_fit_is_refused(query: Query, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        scorer_of(DEEP).score_all_tools(query)


def test_a_task_that_the_model_does_not_rank_for_is_refused() -> None:
    config = ShgatConfig(dim=3, tasks=(RankingTask.TOOLS,))
    with pytest.raises(ValueError, match="ranks tools, not next_tool"):
        scorer_of(DEEP, config).predict_next(Query(vector=np.ones(3, np.float32)))


def test_inputs_of_another_size_are_refused() -> None:
    graph = DEEP.graph
    with pytest.raises(ValueError, match="vectors must be"):
        Scorer(exported(CONFIG, graph), graph, inputs_of(World(tools=1, capabilities=()).graph))


def test_what_serves_imports_neither_torch_nor_dgl() -> None:
    heavy = ("torch", "dgl", "sentence_transformers", "sklearn", "numba")
    program = (
        "import json, sys, pml.models.scorer, pml.models.model_file;"
        f"print(json.dumps([name for name in {heavy!r} if name in sys.modules]))"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, check=True, timeout=60)
    assert json.loads(done.stdout) == []
