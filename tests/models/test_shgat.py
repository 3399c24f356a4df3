"""The torch model against a dense twin, and laws that hold whatever its parameters are (LE-5)."""

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pml.models.config import ShgatConfig, contribution_names, parameter_shapes
from pml.models.inputs import FeatureHead, RankingTask
from pml.models.shgat import Shgat
from pml.models.trained_ids import TrainedIds
from tests.models.dense import Dense
from tests.models.torch_models import arrays_of, model_of
from tests.models.worlds import (
    CONFIG,
    DEEP,
    World,
    inputs_of,
    queries_of,
    worlds,
)

TRAINED = TrainedIds(tools=("t1", "gone", "t0"), capabilities=("t0", "c0", "c2"))
MODEL = model_of(TRAINED)
TASKS = st.sampled_from(list(RankingTask))
CONFIGS = [
    CONFIG,
    ShgatConfig(dim=4, heads=1, head_dim=5, feature_dim=0),
    ShgatConfig(dim=3, message_passing=False, id_embeddings=False, feature_dim=1),
    ShgatConfig(dim=3, tasks=(RankingTask.CAPABILITIES,), feature_heads=(FeatureHead.TEMPORAL,)),
    ShgatConfig(dim=3, feature_heads=(), stats=("one",)),
]


def terms_of(world: World, task: RankingTask) -> np.ndarray:
    graph = world.graph
    states = MODEL.states(MODEL.view(graph, inputs_of(graph)))
    asked = MODEL.query_tensors(task, graph, queries_of(graph, task))
    return MODEL.contributions(task, states, asked).detach().numpy()


@pytest.mark.parametrize("config", CONFIGS)
def test_names_and_shapes_of_the_state_are_those_of_the_config(config: ShgatConfig) -> None:
    trained = TrainedIds(tools=("a", "b"), capabilities=("a",))
    model = Shgat(config, trained, generator=torch.Generator())
    found = {name: tuple(values.shape) for name, values in model.state_dict().items()}
    assert found == parameter_shapes(config, trained_nodes=3)


@settings(max_examples=40)
@given(worlds(), TASKS)
@example(World(tools=0, capabilities=()), RankingTask.TOOLS)
@example(World(tools=3, capabilities=()), RankingTask.CAPABILITIES)
@example(DEEP, RankingTask.TOOLS)
@example(DEEP, RankingTask.CAPABILITIES)
@example(DEEP, RankingTask.NEXT_TOOL)
def test_scores_are_those_of_the_dense_twin(world: World, task: RankingTask) -> None:
    graph = world.graph
    inputs, queries = inputs_of(graph), queries_of(graph, task)
    twin = Dense(
        config=CONFIG, parameters=arrays_of(MODEL), trained=TRAINED, graph=graph, inputs=inputs
    )
    expected = twin.terms(task, queries)
    found = terms_of(world, task)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_single_precision_is_precise_enough() -> None:
    graph, task = DEEP.graph, RankingTask.CAPABILITIES
    model = model_of(TRAINED).float()
    states = model.states(model.view(graph, inputs_of(graph)))
    found = model.scores(task, states, model.query_tensors(task, graph, queries_of(graph, task)))
    expected = torch.from_numpy(terms_of(DEEP, task).sum(0))
    torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-5)


def test_inputs_may_be_read_only() -> None:
    graph, inputs = DEEP.graph, inputs_of(DEEP.graph)
    for values in (inputs.vectors, inputs.tool_features, inputs.capability_features):
        values.flags.writeable = False
    assert torch.equal(MODEL.view(graph, inputs).vectors, torch.from_numpy(inputs.vectors.copy()))


@settings(max_examples=40)
@given(worlds(), TASKS)
def test_contributions_add_up_to_the_score(world: World, task: RankingTask) -> None:
    graph = world.graph
    states = MODEL.states(MODEL.view(graph, inputs_of(graph)))
    asked = MODEL.query_tensors(task, graph, queries_of(graph, task))
    terms = MODEL.contributions(task, states, asked)
    assert len(terms) == len(contribution_names(CONFIG))
    torch.testing.assert_close(terms.sum(0), MODEL.scores(task, states, asked))
