"""Small random hypergraphs with inputs and queries."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from pml.features.columns import CAPABILITY_COLUMNS, TOOL_COLUMNS
from pml.features.members import Members
from pml.models.config import ShgatConfig
from pml.models.hypergraph import Hypergraph, hypergraph
from pml.models.inputs import NodeInputs, Queries, RankingTask

EVIDENCE = {RankingTask.TOOLS: ("bm25", "vectors"), RankingTask.CAPABILITIES: ("past",)}
CONFIG = ShgatConfig(
    dim=6,
    heads=2,
    head_dim=3,
    feature_dim=2,
    evidence=tuple(EVIDENCE.items()),
    stats=("nearest", "second"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Members of capabilities by level: each is made of tools and of capabilities before it."""

    tools: int
    capabilities: tuple[tuple[frozenset[int], frozenset[int]], ...]

    @property
    def graph(self) -> Hypergraph:
        return hypergraph(self.tool_ids, self.members)

    @property
    def tool_ids(self) -> list[str]:
        return [f"t{tool}" for tool in range(self.tools)]

    @property
    def members(self) -> list[Members]:
        return [
            Members(
                id=f"c{own}",
                tools=tuple(f"t{tool}" for tool in sorted(tools)),
                capabilities=tuple(f"c{inner}" for inner in sorted(inside)),
            )
            for own, (tools, inside) in enumerate(self.capabilities)
        ]


@st.composite
def worlds(draw: st.DrawFn, *, most_tools: int = 6, most_capabilities: int = 6) -> World:
    """Of any depth that the number of capabilities allows; also without tools, or members."""
    tools = draw(st.integers(0, most_tools))
    some_tools = st.frozensets(st.integers(0, tools - 1), max_size=4) if tools else st.just(NONE)
    capabilities = []
    for before in range(draw(st.integers(0, most_capabilities))):
        inside = st.frozensets(st.integers(0, before - 1), max_size=3) if before else st.just(NONE)
        capabilities.append((draw(some_tools), draw(inside)))
    return World(tools=tools, capabilities=tuple(capabilities))


NONE: frozenset[int] = frozenset()
DEEP = World(
    tools=5,
    capabilities=(
        (frozenset({0, 1}), NONE),  # level 1
        (frozenset({1, 2}), NONE),
        (frozenset({3}), frozenset({0, 1})),  # level 2, a tool among its members
        (frozenset(), frozenset({0, 2})),  # level 3, members of levels 1 and 2
        (NONE, NONE),  # level 1, without members
    ),
)
"""Levels 0 to 3, members of mixed levels, a tool in nothing and a capability of nothing."""


def inputs_of(graph: Hypergraph, seed: int = 0, config: ShgatConfig = CONFIG) -> NodeInputs:
    rng = np.random.default_rng(seed)

    def drawn(*shape: int) -> np.ndarray:
        return rng.normal(size=shape).astype(np.float32)

    return NodeInputs(
        vectors=drawn(graph.nodes, config.dim),
        tool_features=drawn(len(graph.tools), len(TOOL_COLUMNS)),
        capability_features=drawn(len(graph.capabilities), len(CAPABILITY_COLUMNS)),
    )


def queries_of(
    graph: Hypergraph,
    task: RankingTask,
    *,
    asked: int = 3,
    seed: int = 1,
    config: ShgatConfig = CONFIG,
) -> Queries:
    """With prefixes of 0, 1, 2... tools for the next tool."""
    rng = np.random.default_rng(seed)
    candidates = len(graph.capabilities if task is RankingTask.CAPABILITIES else graph.tools)
    shape = (asked, candidates, len(config.evidence_of(task)))
    prefixes = [
        rng.integers(0, len(graph.tools), size=length if graph.tools else 0).astype(np.int64)
        for length in range(asked if task is RankingTask.NEXT_TOOL else 0)
    ]
    return Queries(
        vectors=rng.normal(size=(asked, config.dim)).astype(np.float32),
        evidence=rng.uniform(size=shape).astype(np.float32),
        stats=rng.uniform(size=(asked, len(config.stats))).astype(np.float32),
        prefixes=tuple(prefixes),
    )
