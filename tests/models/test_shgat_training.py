"""Where training begins, that it moves as it should, and that seeds repeat it (LE-5)."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from pml.models.config import ShgatConfig
from pml.models.inputs import RankingTask
from pml.models.shgat import Shgat
from pml.models.start import Start, random_axes
from pml.models.trained_ids import TrainedIds
from pml.models.wiring import Library
from tests.models.torch_models import model_of
from tests.models.worlds import CONFIG, DEEP, inputs_of, queries_of

GRAPH = DEEP.graph
TRAINED = TrainedIds.of(GRAPH)


def fresh(config: ShgatConfig = CONFIG, *, seed: int = 0, start: Start | None = None) -> Shgat:
    generator = torch.Generator().manual_seed(seed)
    return Shgat(config, TRAINED, generator=generator, start=start)


def trained(*, steps: int = 20, library: Library = "torch") -> Shgat:
    """On one query, whose wish is the first tool and not the second."""
    generator = torch.Generator().manual_seed(3)
    model = Shgat(CONFIG, TRAINED, generator=generator, library=library)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    view = model.view(GRAPH, inputs_of(GRAPH))
    task = RankingTask.TOOLS
    asked = model.query_tensors(task, GRAPH, queries_of(GRAPH, task, asked=1))
    for _ in range(steps):
        scores = model.scores(task, model.states(view), asked)
        loss = scores[0, 1] - scores[0, 0]
        optimiser.zero_grad()
        torch.autograd.backward(loss)
        optimiser.step()
    return model


def margin(model: Shgat) -> float:
    """How far the first tool is above the second."""
    task = RankingTask.TOOLS
    asked = model.query_tensors(task, GRAPH, queries_of(GRAPH, task, asked=1))
    scores = model.scores(task, model.states(model.view(GRAPH, inputs_of(GRAPH))), asked)
    return (scores[0, 0] - scores[0, 1]).item()


@pytest.mark.parametrize("task", list(RankingTask))
def test_the_score_begins_as_a_multiple_of_the_cosine(task: RankingTask) -> None:
    model = fresh(start=Start(scale=7.0))
    inputs, queries = inputs_of(GRAPH), queries_of(GRAPH, task)
    states = model.states(model.view(GRAPH, inputs))
    found = model.scores(task, states, model.query_tensors(task, GRAPH, queries))
    tools = len(GRAPH.tools)
    nodes = inputs.vectors[tools:] if task is RankingTask.CAPABILITIES else inputs.vectors[:tools]
    expected = torch.from_numpy(7 * queries.vectors @ nodes.T)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def test_evidence_begins_with_the_weights_given() -> None:
    model = fresh(start=Start(scale=0.0, evidence={RankingTask.TOOLS: (2.0, -1.0)}))
    queries = queries_of(GRAPH, RankingTask.TOOLS)
    asked = model.query_tensors(RankingTask.TOOLS, GRAPH, queries)
    found = model.scores(
        RankingTask.TOOLS, model.states(model.view(GRAPH, inputs_of(GRAPH))), asked
    )
    expected = 2 * queries.evidence[..., 0] - queries.evidence[..., 1]
    torch.testing.assert_close(found, torch.from_numpy(expected))


def test_weights_of_evidence_must_be_as_many_as_its_columns() -> None:
    with pytest.raises(ValueError, match="evidence of tools must start with 2 weights, got 1"):
        fresh(start=Start(evidence={RankingTask.TOOLS: (2.0,)}))


@pytest.mark.parametrize(("rows", "dim"), [(8, 5), (5, 5)])
def test_axes_that_are_enough_keep_inner_products(rows: int, dim: int) -> None:
    axes = random_axes(rows, dim, torch.Generator().manual_seed(0))
    torch.testing.assert_close(axes.T @ axes, torch.eye(dim), rtol=1e-5, atol=1e-6)


def test_fewer_axes_keep_inner_products_on_average() -> None:
    generator = torch.Generator().manual_seed(0)
    drawn = [random_axes(4, 8, generator) for _ in range(500)]
    mean = torch.stack([axes.T @ axes for axes in drawn]).mean(0)
    torch.testing.assert_close(mean, torch.eye(8), rtol=0, atol=0.1)


def test_a_narrow_model_begins_with_the_cosine_of_vectors_that_fill_few_dimensions() -> None:
    rng, task = np.random.default_rng(0), RankingTask.TOOLS
    inside = rng.normal(size=(3, 9)).astype(np.float32)
    config = replace(CONFIG, dim=9, heads=1, head_dim=4)
    inputs = inputs_of(GRAPH, config=config)
    queries = queries_of(GRAPH, task, config=config)
    inputs = replace(inputs, vectors=rng.normal(size=(GRAPH.nodes, 3)).astype(np.float32) @ inside)
    queries = replace(queries, vectors=inputs.vectors[:3])
    model = fresh(config, start=Start(scale=2.0, vectors=inputs.vectors))
    states = model.states(model.view(GRAPH, inputs))
    found = model.scores(task, states, model.query_tensors(task, GRAPH, queries))
    expected = torch.from_numpy(2 * queries.vectors @ inputs.vectors[: len(GRAPH.tools)].T)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def test_every_head_begins_with_a_share_of_what_vectors_differ_in() -> None:
    rng = np.random.default_rng(0)
    vectors = (rng.normal(size=(50, 16)) * np.geomspace(100, 0.01, 16)).astype(np.float32)
    config = replace(CONFIG, dim=16, heads=4, head_dim=2)
    model = fresh(config, start=Start(vectors=vectors))
    projected = torch.from_numpy(vectors) @ model.query["tools"].weight.T
    per_head = projected.square().sum(0).view(4, 2).sum(1)
    assert per_head.min() > 0.02 * per_head.sum()


def test_what_begins_at_nothing_has_gradients() -> None:
    model = fresh()
    for task in RankingTask:
        asked = model.query_tensors(task, GRAPH, queries_of(GRAPH, task))
        states = model.states(model.view(GRAPH, inputs_of(GRAPH)))
        torch.autograd.backward(model.scores(task, states, asked).square().sum())
    still = {
        name
        for name, of in model.named_parameters()
        if of.numel() and (of.grad is None or not of.grad.any())
    }
    behind_gates = {
        f"{way}.{part}"
        for way in ("up", "down")
        for part in ("source.weight", "target.weight", "score")
    }
    of_features = {
        f"features.{head}.{kind}.{part}"
        for head in CONFIG.feature_heads
        for kind in ("tools", "capabilities")
        for part in ("weight", "bias")
    }
    assert still == behind_gates | of_features


def test_training_opens_the_gates_and_makes_a_failing_choice_less_likely() -> None:
    before, after = trained(steps=0), trained()
    assert margin(after) > margin(before)
    assert after.down.gate.all()
    assert after.down.score.any()


@pytest.mark.parametrize("library", ["torch", "dgl"])
def test_a_seed_repeats_a_training_to_the_bit(library: Library) -> None:
    one, other = (trained(steps=5, library=library).state_dict() for _ in range(2))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_the_global_generator_is_left_alone() -> None:
    before = torch.get_rng_state()
    fresh()
    assert torch.equal(torch.get_rng_state(), before)


def test_another_seed_begins_elsewhere() -> None:
    assert not torch.equal(fresh().query["tools"].weight, fresh(seed=1).query["tools"].weight)


def test_features_are_standardised_by_what_was_seen() -> None:
    model, inputs = fresh(), inputs_of(GRAPH)
    shifted = replace(inputs, tool_features=inputs.tool_features * 3 + 7)
    model.standardise_by(shifted)
    made = model.standardise["tools"](torch.from_numpy(shifted.tool_features))
    torch.testing.assert_close(made.mean(0), torch.zeros(made.shape[1]), rtol=0, atol=1e-5)
    torch.testing.assert_close(made.std(0, correction=0), torch.ones(made.shape[1]))


def test_probabilities_are_calibrated_scores() -> None:
    model = fresh()
    model.calibration.get_buffer("tools").copy_(torch.tensor([2.0, -0.5, -1.0]))
    task = RankingTask.TOOLS
    asked = model.query_tensors(task, GRAPH, queries_of(GRAPH, task))
    states = model.states(model.view(GRAPH, inputs_of(GRAPH)))
    scores = model.scores(task, states, asked)
    rivals = scores.exp().sum(dim=1, keepdim=True).log()
    expected = torch.sigmoid(2 * scores - rivals / 2 - 1)
    torch.testing.assert_close(model.score_all_tools(states, asked), expected)


def test_the_named_scores_are_those_of_their_tasks() -> None:
    model = model_of(TRAINED)
    states = model.states(model.view(GRAPH, inputs_of(GRAPH)))
    for task, score_all in (
        (RankingTask.CAPABILITIES, model.score_all_capabilities),
        (RankingTask.NEXT_TOOL, model.predict_next),
    ):
        asked = model.query_tensors(task, GRAPH, queries_of(GRAPH, task))
        expected = model.probabilities(task, model.scores(task, states, asked))
        assert torch.equal(score_all(states, asked), expected)
