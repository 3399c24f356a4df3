"""Training in torch: the learner as `pml train` runs it, and bare steps to compare with.

A bare step is forward, cross-entropy over all tools, backward, AdamW.  The same steps with dense
masks in place of pairs are the alternative; parameters, inputs and queries are equal.
"""

import math
import time
from dataclasses import replace
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import cross_entropy, leaky_relu

from experiments.bench.shgat_parts.world import CONFIG, DIM, EVIDENCE, World, unit
from pml.learning.folds import HeldQueries, Targets, TaskExamples, TrainingFold
from pml.learning.folds import View as Known
from pml.learning.learner import Learner
from pml.learning.training_config import TrainingConfig
from pml.models.attention import SLOPE
from pml.models.hypergraph import Hypergraph
from pml.models.inputs import Queries, RankingTask
from pml.models.shgat import Shgat
from pml.models.wiring import Library, Wiring

BATCH = 256
WARM_UP, STEPS = 2, 10


class MaskPool:
    """A pool over a mask of targets by sources: every target attends to every source."""

    def __init__(self, mask: np.ndarray, device: torch.device) -> None:
        self._mask = torch.from_numpy(mask).to(device)

    def __call__(
        self,
        values: Float[Tensor, "sources heads head_dim"],
        queries: Float[Tensor, "targets heads head_dim"],
        score: Float[Tensor, "heads head_dim"],
    ) -> Float[Tensor, "targets heads head_dim"]:
        """Of `pml.models.attention.Pool`."""
        logits = (leaky_relu(queries[:, None] + values, SLOPE) * score).sum(-1)
        logits = logits.masked_fill(~self._mask[:, :, None], -math.inf)  # (targets, sources, heads)
        weights = torch.softmax(logits, dim=1).nan_to_num(0.0)
        return torch.einsum("tsh,shd->thd", weights, values)


def masked(graph: Hypergraph, device: torch.device) -> Wiring:
    """The wiring of a graph, dense."""
    contains = np.zeros((graph.nodes, graph.nodes), dtype=bool)
    contains[graph.containers, graph.members] = True
    spans = list(pairwise(graph.starts))
    up = [contains[low:high, :low] for low, high in spans[1:]]
    down = [contains.T[low:high, high:] for low, high in spans[:-1]]
    return Wiring(
        sizes=[high - low for low, high in spans],
        up=tuple(MaskPool(mask, device) for mask in up),
        down=tuple(MaskPool(mask, device) for mask in down),
    )


def learner_examples_per_s(made: World, library: Library) -> float:
    """Throughput of the learner on the CPU: one pass over a few thousand traces, after a first."""
    batches = [_batch(made, seed) for seed in range(STEPS)]
    queries = Queries(
        vectors=np.concatenate([one.vectors for one, _ in batches]),
        evidence=np.concatenate([one.evidence for one, _ in batches]),
        stats=np.concatenate([one.stats for one, _ in batches]),
    )
    answers = np.concatenate([answers for _, answers in batches])
    targets = Targets(
        positives=tuple(answers[:, None]),
        failed=(np.zeros(0, np.int64),) * len(answers),
        served=np.ones(len(answers), dtype=bool),
        weights=np.ones(len(answers), np.float32),
        sources=tuple(f"trace{at}" for at in range(len(answers))),
        groups=np.arange(len(answers)),
    )
    task = TaskExamples(
        queries=HeldQueries(queries=queries),
        targets=targets,
        fallbacks={"said": lambda asked: asked.evidence[:, :, 0]},
    )
    fold = TrainingFold(
        view=Known(graph=made.graph, inputs=made.inputs), tasks={RankingTask.TOOLS: task}
    )
    generator = torch.Generator().manual_seed(0)
    model = Shgat(CONFIG, made.model.trained, generator=generator, library=library)
    model.standardise_by(made.inputs)
    learner = Learner(model, [fold], TrainingConfig(batch=BATCH, epochs=2))
    learner.run()
    started = time.perf_counter()
    seen = learner.run().examples
    return seen / (time.perf_counter() - started)


def examples_per_s(
    made: World, device: torch.device, library: Library, *, dense: bool = False
) -> float:
    """Throughput of bare steps."""
    generator = torch.Generator().manual_seed(0)
    model = Shgat(CONFIG, made.model.trained, generator=generator, library=library).to(device)
    view = model.view(made.graph, made.inputs)
    if dense:
        view = replace(view, wiring=masked(made.graph, device))
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3)
    batches = [_batch(made, seed) for seed in range(WARM_UP + STEPS)]
    for number, (queries, answers) in enumerate(batches):
        if number == WARM_UP:
            started = now_s(device)
        asked = model.query_tensors(RankingTask.TOOLS, made.graph, queries)
        scores = model.scores(RankingTask.TOOLS, model.states(view), asked)
        optimiser.zero_grad()
        loss = cross_entropy(scores, torch.from_numpy(answers).to(device))
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    return BATCH * STEPS / (now_s(device) - started)


def _batch(made: World, seed: int) -> tuple[Queries, np.ndarray]:
    rng = np.random.default_rng(seed)
    tools = len(made.graph.tools)
    queries = Queries(
        vectors=unit(rng, BATCH, DIM),
        evidence=rng.random((BATCH, tools, len(EVIDENCE)), dtype=np.float32),
        stats=rng.random((BATCH, len(CONFIG.stats)), dtype=np.float32),
    )
    return queries, rng.integers(tools, size=BATCH)


def now_s(device: torch.device) -> float:
    """The clock, once the device has done what it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()
