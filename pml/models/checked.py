"""What is handed to a model is checked once, before anything is computed from it.

A NaN would go through every attention into all scores, and so would what a product overflows to; a
vector of another encoder would give scores that look like any others.  All are refused, with the
place.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float32, Int64

from pml.features.columns import CAPABILITY_COLUMNS, TOOL_COLUMNS
from pml.models.config import ShgatConfig
from pml.models.hypergraph import Hypergraph
from pml.models.inputs import NodeInputs, Queries, RankingTask

LARGEST = 1e6
"""Vectors are about 1 long and features at most 1, so what is larger is damaged; products of what
is not stay finite in 32 bits."""


def checked_inputs(config: ShgatConfig, graph: Hypergraph, inputs: NodeInputs) -> NodeInputs:
    """Pass them on.

    Raises:
        ValueError: sizes differ from those of the graph or of the model, or a value is not finite.
    """
    tools, capabilities = len(graph.tools), len(graph.capabilities)
    check_shape("vectors", inputs.vectors, (graph.nodes, config.dim), ("nodes", "dim"))
    columns = (tools, len(TOOL_COLUMNS))
    check_shape("tool_features", inputs.tool_features, columns, ("tools", "columns"))
    columns = (capabilities, len(CAPABILITY_COLUMNS))
    axes = ("capabilities", "columns")
    check_shape("capability_features", inputs.capability_features, columns, axes)
    for name in ("vectors", "tool_features", "capability_features"):
        check_finite(name, getattr(inputs, name))
    return inputs


def checked_queries(
    config: ShgatConfig,
    task: RankingTask,
    graph: Hypergraph,
    queries: Queries,
    *,
    sampled: int | None = None,
) -> Queries:
    """Pass them on.

    Args:
        config: Sizes of the model.
        task: What is ranked.
        graph: Whose nodes are candidates.
        queries: To check.
        sampled: How many candidates the evidence is of; ``None`` for all.

    Raises:
        ValueError: the model does not rank for this task, sizes differ from those of the graph or
            of the model, a value is not finite, or a prefix names what is no tool of the graph.
    """
    if task not in config.tasks:
        msg = f"the model ranks {', '.join(config.tasks)}, not {task}"
        raise ValueError(msg)
    asked = len(queries.vectors)
    candidates = candidates_of(task, graph) if sampled is None else sampled
    evidence = (asked, candidates, len(config.evidence_of(task)))
    check_shape("vectors", queries.vectors, (asked, config.dim), ("queries", "dim"))
    check_shape("evidence", queries.evidence, evidence, ("queries", "candidates", "columns"))
    check_shape("stats", queries.stats, (asked, len(config.stats)), ("queries", "stats"))
    for name in ("vectors", "evidence", "stats"):
        check_finite(name, getattr(queries, name))
    _check_prefixes(task, asked, len(graph.tools), queries.prefixes)
    return queries


def candidates_of(task: RankingTask, graph: Hypergraph) -> int:
    """How many candidates a task has in a graph."""
    return len(graph.capabilities if task is RankingTask.CAPABILITIES else graph.tools)


def check_shape(
    name: str,
    values: Float32[np.ndarray, "..."],
    expected: tuple[int, ...],
    axes: tuple[str, ...],
) -> None:
    """Say which axes were expected, where the shape differs.

    Raises:
        ValueError: it does.
    """
    if values.shape != expected:
        shape = " x ".join(f"{size} {axis}" for size, axis in zip(expected, axes, strict=True))
        found = " x ".join(map(str, values.shape))
        msg = f"{name} must be {shape}, got {found}"
        raise ValueError(msg)


def check_finite(name: str, values: Float32[np.ndarray, "..."]) -> None:
    """Say where the first value is that is not finite, or larger than any encoder gives.

    Raises:
        ValueError: there is one.
    """
    if values.max(initial=0) <= LARGEST and values.min(initial=0) >= -LARGEST:  # false for NaN
        return
    finite = np.isfinite(values)
    wrong = ~(np.abs(values) <= LARGEST) if finite.all() else ~finite
    wanted = f"from -{LARGEST:g} to {LARGEST:g}" if finite.all() else "finite"
    place = ", ".join(map(str, np.argwhere(wrong)[0].tolist()))
    found = f"{values[wrong][0]} at [{place}] and {wrong.sum()} such in all"
    msg = f"{name} must be {wanted}, got {found}"
    raise ValueError(msg)


def _check_prefixes(
    task: RankingTask,
    asked: int,
    tools: int,
    prefixes: Sequence[Int64[np.ndarray, " _"]],
) -> None:
    expected = asked if task is RankingTask.NEXT_TOOL else 0
    if len(prefixes) != expected:
        msg = f"task {task} needs {expected} prefixes for {asked} queries, got {len(prefixes)}"
        raise ValueError(msg)
    for query, prefix in enumerate(prefixes):
        outside = prefix[(prefix < 0) | (prefix >= tools)]
        if len(outside):
            msg = (
                f"the prefix of query {query} names node {outside[0]}, which is no tool: "
                f"tools have the numbers below {tools}; leave out tools that the graph has not"
            )
            raise ValueError(msg)
