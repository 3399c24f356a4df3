"""Scoring a large catalogue in torch, on a GPU."""

import statistics

import numpy as np
import torch

from experiments.bench.shgat_parts.training import now_s
from experiments.bench.shgat_parts.world import CONFIG, DIM, EVIDENCE, World, unit
from pml.models.hypergraph import Hypergraph
from pml.models.inputs import Queries, RankingTask
from pml.models.shgat import Shgat
from pml.models.wiring import Library

INTENTS = 20
TOOLS, CAPABILITIES = RankingTask.TOOLS, RankingTask.CAPABILITIES


def scoring(made: World, device: torch.device, library: Library) -> dict[str, float]:
    """One pass, then one intent at a time for all tools and all capabilities.

    Evidence is given in the memory of the host and its way to the device is counted.
    """
    model = Shgat(CONFIG, made.model.trained, generator=torch.Generator(), library=library)
    named = made.model.parameters.items()
    model.load_state_dict({name: torch.from_numpy(values) for name, values in named})
    model.to(device)
    rng, taken = np.random.default_rng(0), []
    with torch.no_grad():
        view = model.view(made.graph, made.inputs)
        started = now_s(device)
        states = model.states(view)
        pass_s = now_s(device) - started
        for _ in range(INTENTS):
            asked = [(task, _query(made.graph, task, rng)) for task in (TOOLS, CAPABILITIES)]
            started = now_s(device)
            for task, query in asked:
                tensors = model.query_tensors(task, made.graph, query)
                model.probabilities(task, model.scores(task, states, tensors)).cpu()
            taken.append((now_s(device) - started) * 1000)
    return {
        "device_nodes": float(made.graph.nodes),
        "device_pass_s": pass_s,
        "device_score_p50_ms": statistics.median(taken),
    }


def _query(graph: Hypergraph, task: RankingTask, rng: np.random.Generator) -> Queries:
    candidates = len(graph.tools if task is TOOLS else graph.capabilities)
    return Queries(
        vectors=unit(rng, 1, DIM),
        evidence=rng.random((1, candidates, len(EVIDENCE)), dtype=np.float32),
        stats=rng.random((1, len(CONFIG.stats)), dtype=np.float32),
    )
