"""What SHGAT costs: the numpy scorer that serves, and training (LE-5, LE-7).

The hypergraph is drawn: a capability for every ten tools, of two to eight of them, who is used
following a power law; for every ten of those one of level 2, of two to five capabilities and a
tool.  Parameters are drawn too; what they are costs nothing.

`score_p50_ms` is one intent with evidence given, for all tools and then for all capabilities, with
probabilities.  `add_node_ms` is the median of the kind of node that takes longest.  `rss_mb` is the
peak of the process until then, with the vectors of all nodes, before anything dense or torch.

Named alternative in the same run: a dense implementation of the same mathematics
(`shgat_parts/dense.py`), for which to add a node is to pass over all again.  In training it is the
torch model with dense masks, bare step for bare step (`shgat_parts/training.py`).

Run:  .venv/bin/python experiments/bench/shgat.py [--device cuda]

With a GPU, throughput of training and of scoring 1,000,000 nodes in torch come with it.
"""

import argparse
import json
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from experiments.bench.shgat_parts.dense import dense_pass, dense_scores
from experiments.bench.shgat_parts.world import (
    DIM,
    World,
    drawn,
    members_of,
    nested_of,
    queries,
    unit,
    world,
)
from pml.features.columns import CAPABILITY_COLUMNS, TOOL_COLUMNS
from pml.models.inputs import RankingTask
from pml.models.model_file import from_bytes, to_bytes
from pml.models.scorer import Query, Scorer

TOOLS, MANY = 10_000, 100_000
TRAINED = 1_000
ON_GPU = 900_900
"""Tools; with their capabilities 999,999 nodes."""
QUERIES, DENSE_QUERIES, ADDED = 200, 10, 100


def taken_ms(work: Callable[[], object]) -> float:
    """Once."""
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


def peak_mb() -> float:
    """Of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def intents(scorer: Scorer, rng: np.random.Generator, count: int) -> list[tuple[Query, Query]]:
    """Each asked of all tools, and of all capabilities."""
    of_tools = queries(rng, len(scorer.nodes.tools), count)
    return list(zip(of_tools, queries(rng, len(scorer.nodes.capabilities), count), strict=True))


def scoring_ms(scorer: Scorer, rng: np.random.Generator) -> float:
    """Median of one intent."""

    def score(of_tools: Query, of_capabilities: Query) -> None:
        scorer.score_all_tools(of_tools)
        scorer.score_all_capabilities(of_capabilities)

    asked = intents(scorer, rng, QUERIES)
    return statistics.median(taken_ms(partial(score, *pair)) for pair in asked)


def adding_ms(scorer: Scorer, tools: int, rng: np.random.Generator) -> dict[str, float]:
    """Median by what happens."""
    nodes = scorer.nodes
    of_tool, of_capability = drawn(rng, len(TOOL_COLUMNS)), drawn(rng, len(CAPABILITY_COLUMNS))

    def add_tool(at: int) -> None:
        nodes.add_tool(f"new-t{at}", unit(rng, DIM), of_tool)

    def add_capability(at: int) -> None:
        nodes.add_capability(members_of(rng, f"new-c{at}", tools), unit(rng, DIM), of_capability)

    def add_nested(at: int) -> None:
        members = nested_of(rng, f"new-n{at}", tools, tools // 10)
        nodes.add_capability(members, unit(rng, DIM), of_capability)

    def new_past_intent(at: int) -> None:
        nodes.change_capability(f"c{at}", vector=unit(rng, DIM))

    def change_hub(at: int) -> None:
        """The first tools are in most capabilities: their messages reach farthest."""
        nodes.change_tool(f"t{at % 10}", vector=unit(rng, DIM))

    happens = (add_tool, add_capability, add_nested, new_past_intent, change_hub)
    return {
        work.__name__: statistics.median(taken_ms(partial(work, at)) for at in range(ADDED))
        for work in happens
    }


def dense(made: World, scorer: Scorer, rng: np.random.Generator) -> dict[str, float]:
    """Times of the alternative, and how far its scores are from ours."""
    started = time.perf_counter()
    states = dense_pass(made)
    pass_s = time.perf_counter() - started
    taken, farthest = [], 0.0
    for of_tools, of_capabilities in intents(scorer, rng, DENSE_QUERIES):
        started = time.perf_counter()
        tools = dense_scores(made, states, RankingTask.TOOLS, of_tools)
        others = dense_scores(made, states, RankingTask.CAPABILITIES, of_capabilities)
        taken.append((time.perf_counter() - started) * 1000)
        for ours, theirs in (
            (scorer.score_all_tools(of_tools).raw, tools),
            (scorer.score_all_capabilities(of_capabilities).raw, others),
        ):
            farthest = max(farthest, float(np.abs(ours - theirs).max()))
    score_ms = statistics.median(taken)
    return {"pass_s": pass_s, "score_ms": score_ms, "largest_difference": farthest}


def serving() -> dict[str, float | int | dict[str, float]]:
    """At 10,000 tools, beside the alternative."""
    rng = np.random.default_rng(1)
    made = world(TOOLS)
    file = to_bytes(made.model)
    started = time.perf_counter()
    model = from_bytes(file)
    read_s = time.perf_counter() - started
    started = time.perf_counter()
    scorer = Scorer(model, made.graph, made.inputs)
    pass_s = time.perf_counter() - started
    score_ms, rss_mb = scoring_ms(scorer, rng), peak_mb()
    other = dense(made, scorer, rng)
    added = adding_ms(scorer, TOOLS, rng)
    add_ms = max(added[name] for name in ("add_tool", "add_capability", "add_nested"))
    return {
        "tools": TOOLS,
        "capabilities": len(made.graph.capabilities),
        "file_mb": len(file) / 1e6,
        "read_s": read_s,
        "first_pass_s": pass_s,
        "first_pass_dense_ratio": other["pass_s"] / pass_s,
        "score_p50_ms": score_ms,
        "score_dense_ratio": other["score_ms"] / score_ms,
        "largest_difference_from_dense": other["largest_difference"],
        "rss_mb": rss_mb,
        "add_node_ms": add_ms,
        "add_node_dense_ratio": 1000 * other["pass_s"] / add_ms,
        "changes_ms": added,
    }


def serving_many() -> dict[str, float]:
    """At 100,000 tools."""
    made = world(MANY)
    started = time.perf_counter()
    scorer = Scorer(made.model, made.graph, made.inputs)
    pass_s = time.perf_counter() - started
    rng = np.random.default_rng(2)
    return {
        "many_tools": MANY,
        "many_first_pass_s": pass_s,
        "many_score_p50_ms": scoring_ms(scorer, rng),
        "many_add_tool_ms": adding_ms(scorer, MANY, rng)["add_tool"],
    }


def training() -> dict[str, float]:
    """At 1,000 tools, in torch."""
    # Not before: what serves is measured without torch in memory.
    import torch  # noqa: PLC0415

    from experiments.bench.shgat_parts.training import (  # noqa: PLC0415
        BATCH,
        examples_per_s,
        learner_examples_per_s,
    )
    from pml.models.wiring import fastest_library  # noqa: PLC0415

    made, cpu = world(TRAINED), torch.device("cpu")
    steps = examples_per_s(made, cpu, "torch")
    found = {
        "train_tools": TRAINED,
        "train_batch": BATCH,
        "train_examples_per_s": learner_examples_per_s(made, "torch"),
        "train_steps_examples_per_s": steps,
        "train_dense_ratio": steps / examples_per_s(made, cpu, "torch", dense=True),
    }
    if fastest_library() == "dgl":
        found["train_dgl_examples_per_s"] = learner_examples_per_s(made, "dgl")
    return found


def on_gpu(tools: int, device: str) -> dict[str, float]:
    """Training at 1,000 tools, and scoring a million nodes, in torch."""
    import torch  # noqa: PLC0415

    from experiments.bench.shgat_parts.large import scoring  # noqa: PLC0415
    from experiments.bench.shgat_parts.training import examples_per_s  # noqa: PLC0415

    where = torch.device(device)
    per_s = examples_per_s(world(TRAINED), where, "torch")
    return {"device_train_examples_per_s": per_s, **scoring(world(tools), where, "torch")}


def main() -> None:
    """Print one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    device: str = parser.parse_args().device
    found: dict[str, object] = {"threads": os.environ.get("OMP_NUM_THREADS", "all")}
    found |= serving()
    found |= serving_many()
    found |= training()
    if device == "cuda":
        found |= on_gpu(ON_GPU, device)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
