"""Random graphs for the laws of features, and dense twins of what is sparse."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from hypothesis import strategies as st

from pml.domain.trace import DependencyType, ToolDependency
from pml.features.graph import FeatureGraph, feature_graph
from pml.features.members import Members

TOOLS = tuple(f"s:t{number}" for number in range(8))
WEIGHTS = (0.0, 0.1, 0.5, 1.0, 3.0)
Records: TypeAlias = tuple[list[frozenset[str]], list[ToolDependency]]
"""Tools of each capability, and edges."""


def edge(
    source: str,
    target: str,
    kind: DependencyType = DependencyType.DEPENDENCY,
    weight: float = 1.0,
) -> ToolDependency:
    return ToolDependency(
        source=source, target=target, type=kind, edge_source="observed", weight=weight
    )


def capabilities(tool_sets: Sequence[frozenset[str]]) -> list[Members]:
    return [
        Members(id=f"c{number}", tools=tuple(sorted(tools)))
        for number, tools in enumerate(tool_sets)
    ]


def random_records(seed: int) -> Records:
    """From none to many of each; a seed is drawn a hundred times faster than its records are."""
    rng = np.random.default_rng(seed)
    sets = [
        frozenset(rng.choice(TOOLS, size=rng.integers(5), replace=False).tolist())
        for _ in range(rng.integers(8))
    ]
    ends = rng.choice(TOOLS, size=(rng.integers(21), 2)).tolist()
    kinds, weights = list(DependencyType), rng.choice(WEIGHTS, size=len(ends)).tolist()
    edges = [
        edge(source, target, kind=kinds[rng.integers(len(kinds))], weight=weight)
        for (source, target), weight in zip(ends, weights, strict=True)
    ]
    return sets, edges


RECORDS = st.integers(0, 10**6).map(random_records)


def graph_of(records: Records) -> FeatureGraph:
    """Not in a strategy: the checks of shapes may not draw there."""
    sets, edges = records
    return feature_graph(TOOLS, capabilities(sets), edges)


def planted(
    rng: np.random.Generator, groups: int, size: int, *, inside: float, between: float
) -> tuple[FeatureGraph, list[int]]:
    """Tools in groups with many edges inside and few between, and the group of each."""
    tools = [f"s:t{number}" for number in range(groups * size)]
    truth = [number // size for number in range(len(tools))]
    edges = [
        edge(tools[a], tools[b])
        for a in range(len(tools))
        for b in range(a)
        if rng.random() < (inside if truth[a] == truth[b] else between)
    ]
    return feature_graph(tools, (), edges), truth


def relabelled(records: Records) -> FeatureGraph:
    """The same graph with everything given in the opposite order."""
    sets, edges = records
    return feature_graph(TOOLS[::-1], capabilities(sets)[::-1], edges[::-1])
