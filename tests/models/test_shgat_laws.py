"""Laws of SHGAT that hold whatever its parameters and its graph are (LE-5)."""

from dataclasses import replace
from functools import cache
from random import Random

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from pml.features.members import Members
from pml.models.hypergraph import Hypergraph, hypergraph
from pml.models.inputs import NodeInputs, Queries, RankingTask
from pml.models.shgat import Shgat
from pml.models.tensors import NodeStates, View
from pml.models.trained_ids import UNKNOWN, TrainedIds
from tests.models.torch_models import model_of
from tests.models.worlds import CONFIG, DEEP, World, inputs_of, queries_of, worlds

TASKS = st.sampled_from(list(RankingTask))
TRAINED = TrainedIds(tools=("t0", "t1", "gone", "t3"), capabilities=("c1", "t0", "c0", "c4"))


@cache
def model() -> Shgat:
    return model_of(TRAINED)


def states_of(graph: Hypergraph, inputs: NodeInputs) -> Tensor:
    return together(model().states(model().view(graph, inputs)))


def together(states: NodeStates) -> Tensor:
    """Of tools, then of capabilities, without what the feature heads made."""
    return torch.cat([states.tools, states.capabilities])[:, : CONFIG.width]


def scores_of(graph: Hypergraph, inputs: NodeInputs, task: RankingTask, queries: Queries) -> Tensor:
    states = model().states(model().view(graph, inputs))
    return model().scores(task, states, model().query_tensors(task, graph, queries))


def neighbourhood(graph: Hypergraph, node: int) -> set[int]:
    """What is in the node, at any depth, and in whatever it is in."""
    pairs = list(zip(graph.members.tolist(), graph.containers.tolist(), strict=True))
    around = {node}
    for _ in graph.levels:
        around |= {container for member, container in pairs if member in around}
    for _ in graph.levels:
        around |= {member for member, container in pairs if container in around}
    return around


@settings(max_examples=40)
@given(worlds(), st.integers(0, 11))
def test_a_node_hears_of_its_neighbourhood_and_of_nothing_else(world: World, node: int) -> None:
    graph = world.graph
    if node >= graph.nodes:
        return
    view = model().view(graph, inputs_of(graph))
    view.vectors.requires_grad_()
    state = together(model().states(view))[node]
    (slope,) = torch.autograd.grad((state * torch.arange(1, CONFIG.width + 1)).sum(), view.vectors)
    heard = set(slope.any(dim=1).nonzero().flatten().tolist())
    assert heard == neighbourhood(graph, node)


def test_a_node_outside_the_neighbourhood_changes_no_bit() -> None:
    graph, inputs = DEEP.graph, inputs_of(DEEP.graph)
    changed = replace(inputs, vectors=inputs.vectors.copy())
    changed.vectors[4] += 1  # a tool in nothing
    differ = (states_of(graph, inputs) != states_of(graph, changed)).any(1)
    assert differ.nonzero().flatten().tolist() == [4]


@settings(max_examples=40)
@given(worlds(), TASKS, st.randoms(use_true_random=False))
def test_numbers_of_nodes_make_no_difference(
    world: World, task: RankingTask, random: Random
) -> None:
    tools, members = list(world.tool_ids), list(world.members)
    random.shuffle(tools)
    random.shuffle(members)
    graph, turned = world.graph, hypergraph(tools, members)
    places = [graph.tools.index(key) for key in turned.tools]
    inside = [graph.capabilities.index(key) for key in turned.capabilities]
    nodes = [*places, *(len(places) + at for at in inside)]
    inputs, queries = inputs_of(graph), queries_of(graph, task)
    new_number = {old: new for new, old in enumerate(places)}
    candidates = inside if task is RankingTask.CAPABILITIES else places
    turned_inputs = NodeInputs(
        vectors=inputs.vectors[nodes],
        tool_features=inputs.tool_features[places],
        capability_features=inputs.capability_features[inside],
    )
    turned_queries = replace(
        queries,
        evidence=queries.evidence[:, candidates],
        prefixes=tuple(
            np.array([new_number[tool] for tool in prefix.tolist()], dtype=np.int64)
            for prefix in queries.prefixes
        ),
    )
    torch.testing.assert_close(states_of(turned, turned_inputs), states_of(graph, inputs)[nodes])
    torch.testing.assert_close(
        scores_of(turned, turned_inputs, task, turned_queries),
        scores_of(graph, inputs, task, queries)[:, candidates],
    )


@settings(max_examples=40)
@given(worlds(), TASKS)
def test_a_node_that_is_new_leaves_those_that_it_does_not_touch(
    world: World, task: RankingTask
) -> None:
    """Inductive: it scores at once, by its vector, its features and what it is made of."""
    grown = replace(world, tools=world.tools + 1)
    graph, inputs = grown.graph, inputs_of(grown.graph)
    queries = queries_of(world.graph, task)
    before = [at for at in range(graph.nodes) if at != world.tools]
    without = NodeInputs(
        vectors=inputs.vectors[before],
        tool_features=inputs.tool_features[:-1],
        capability_features=inputs.capability_features,
    )
    torch.testing.assert_close(states_of(graph, inputs)[before], states_of(world.graph, without))
    assert scores_of(world.graph, without, task, queries).isfinite().all()


def test_a_node_that_was_never_trained_on_has_no_id_embedding() -> None:
    graph, inputs = DEEP.graph, inputs_of(DEEP.graph)
    stranger = Members(id="new", tools=("t9",))
    other = hypergraph(["t9"], [stranger])
    view = model().view(other, inputs_of(other))
    assert view.rows.tolist() == [UNKNOWN, UNKNOWN]
    assert model().states(view).tools.isfinite().all()
    view = model().view(graph, inputs)
    assert view.rows.tolist() == [0, 1, UNKNOWN, 3, UNKNOWN, 6, 4, 7, UNKNOWN, UNKNOWN]


def test_rows_can_be_dropped_as_if_the_nodes_were_unknown() -> None:
    graph = DEEP.graph
    view = model().view(graph, inputs_of(graph))
    dropped: View = replace(view, rows=torch.full_like(view.rows, UNKNOWN))
    stranger = Shgat(CONFIG, TrainedIds(), generator=torch.Generator()).double()
    own = {key: of for key, of in model().state_dict().items() if "id_embedding" not in key}
    stranger.load_state_dict(own, strict=False)
    expected = stranger.states(stranger.view(graph, inputs_of(graph)))
    found = model().states(dropped)
    torch.testing.assert_close(found.tools, expected.tools, rtol=0, atol=0)


@settings(max_examples=20)
@given(worlds(), TASKS, st.data())
def test_chosen_candidates_score_as_among_all(
    world: World, task: RankingTask, data: st.DataObject
) -> None:
    graph = world.graph
    states = model().states(model().view(graph, inputs_of(graph)))
    queries = queries_of(graph, task)
    rows = len(states.of(task))
    chosen = data.draw(st.lists(st.integers(0, rows - 1), max_size=4)) if rows else []
    some = replace(queries, evidence=queries.evidence[:, chosen])
    asked = model().query_tensors(task, graph, some, sampled=len(chosen))
    places = torch.tensor(chosen, dtype=torch.int64)
    every = model().scores(task, states, model().query_tensors(task, graph, queries))
    found = model().scores(task, states, asked, candidates=places)
    torch.testing.assert_close(found, every[:, places])
    terms = model().contributions(task, states, asked, candidates=places)
    torch.testing.assert_close(terms.sum(0), every[:, places])


@pytest.mark.parametrize("task", [RankingTask.CAPABILITIES, RankingTask.NEXT_TOOL])
def test_gradients_of_the_whole_model_agree_with_finite_differences(task: RankingTask) -> None:
    graph = DEEP.graph
    net = model_of(TRAINED)
    view = net.view(graph, inputs_of(graph))
    asked = net.query_tensors(task, graph, queries_of(graph, task))
    view.vectors.requires_grad_()
    parts = [view.vectors, net.up.score, net.up.gate, net.down.score, net.down.gate]

    def run(*_: Tensor) -> Tensor:  # gradcheck moves the parts in place
        return net.scores(task, net.states(view), asked)

    assert torch.autograd.gradcheck(run, parts)
