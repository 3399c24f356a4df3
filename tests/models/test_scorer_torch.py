"""What serves scores as what was trained: numpy within 1e-5 of torch, both in single precision."""

import numpy as np
import pytest
import torch

from pml.features.members import Members
from pml.models.config import ShgatConfig
from pml.models.hypergraph import Hypergraph, hypergraph
from pml.models.inputs import RankingTask
from pml.models.model_file import from_bytes, to_bytes
from pml.models.scorer import Scorer
from pml.models.shgat import Shgat
from pml.models.trained_ids import TrainedIds
from tests.models.exports import asked, exported, scores
from tests.models.worlds import inputs_of, queries_of

CONFIG = ShgatConfig(
    dim=256,
    evidence=((RankingTask.TOOLS, ("bm25", "past")), (RankingTask.CAPABILITIES, ("past",))),
    stats=("nearest",),
)
TOLERANCE = 1e-5


def drawn_graph() -> Hypergraph:
    """Three levels above 400 tools, of which some are in many capabilities."""
    rng = np.random.default_rng(3)
    tools = [f"t{number}" for number in range(400)]
    members = []
    for number in range(90):
        own = {tools[place] for place in (400 * rng.random(6) ** 3).astype(int)}
        lower = number // 30 * 30
        inner = rng.integers(lower, size=3).tolist() if lower else []
        inside = tuple(f"c{place}" for place in sorted(set(inner)))
        members.append(Members(id=f"c{number}", tools=tuple(sorted(own)), capabilities=inside))
    return hypergraph(tools, members)


@pytest.mark.parametrize("task", list(RankingTask))
def test_the_scorer_says_what_torch_says(task: RankingTask) -> None:
    graph = drawn_graph()
    assert len(graph.levels) == 4
    trained = TrainedIds(tools=graph.tools[:300], capabilities=graph.capabilities)
    model = exported(CONFIG, graph, trained=trained)
    twin = Shgat(CONFIG, trained, generator=torch.Generator())
    twin.load_state_dict({name: torch.tensor(one) for name, one in model.parameters.items()})
    inputs, queries = inputs_of(graph, config=CONFIG), queries_of(graph, task, config=CONFIG)
    scorer = Scorer(from_bytes(to_bytes(model)), graph, inputs)
    with torch.no_grad():
        states = twin.states(twin.view(graph, inputs))
        tensors = twin.query_tensors(task, graph, queries)
        raw = twin.scores(task, states, tensors)
        probabilities = twin.probabilities(task, raw).numpy()
        terms = twin.contributions(task, states, tensors).numpy()
    for place in range(len(queries.vectors)):
        query = asked(scorer, queries, place)
        found = scores(scorer, task, query)
        np.testing.assert_allclose(found.raw, raw[place], rtol=TOLERANCE, atol=TOLERANCE)
        np.testing.assert_allclose(found.probabilities, probabilities[place], atol=TOLERANCE)
        by_head = np.array(list(scorer.contributions(task, query).values()))
        np.testing.assert_allclose(by_head, terms[:, place], rtol=TOLERANCE, atol=TOLERANCE)
