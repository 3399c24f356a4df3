"""Rows of new nodes while the rest stays (LE-5, inductive), against the graph with them in it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pml.domain.trace import DependencyType
from pml.features.activity import Activity
from pml.features.columns import CAPABILITY_COLUMNS, TOOL_COLUMNS
from pml.features.graph import feature_graph
from pml.features.matrix import feature_matrices, node_heat
from pml.features.members import Members
from pml.features.new_capability import new_capability
from pml.features.new_tool import NewRow, new_tool
from pml.features.structure import structure_of
from tests.features.graphs import (
    RECORDS,
    TOOLS,
    Records,
    capabilities,
    edge,
    graph_of,
    planted,
    random_records,
)
from tests.features.runs import NOW_MS, activity_of, random_runs
from tests.features.test_clusters import planted as planted_capabilities

SEEDS = st.integers(0, 10**6)
EXACT_OF_TOOLS = [
    *("adamic_adar", "frequency", "recency", "activity", "association"),
    *("reliability_rate", "reliability_lower", "reliability_evidence"),
    *TOOL_COLUMNS[12:],
]
EXACT_OF_CAPABILITIES = [
    *("tools", "nested", "frequency", "recency", "activity", "association"),
    *("reliability_rate", "reliability_weakest_tool"),
    *CAPABILITY_COLUMNS[14:],
]


def values_of(row: NewRow, names: tuple[str, ...]) -> dict[str, float]:
    return dict(zip(names, row.values.tolist(), strict=True))


@settings(max_examples=30)
@given(records=RECORDS, seed=SEEDS)
def test_a_new_tool_has_the_row_that_it_would_have(records: Records, seed: int) -> None:
    """The last tool is taken out with its edges, and told anew."""
    _, edges = records
    last, runs = TOOLS[-1], random_runs(seed)
    own = [one for one in edges if last in (one.source, one.target)]
    rest = feature_graph(TOOLS[:-1], (), [one for one in edges if one not in own])
    activity, found = activity_of(runs), structure_of(rest, np.random.default_rng(0))
    warmth = node_heat(found, activity, NOW_MS)
    row = values_of(new_tool(found, activity, NOW_MS, warmth, tool=last, edges=own), TOOL_COLUMNS)
    whole = structure_of(feature_graph(TOOLS, (), edges), np.random.default_rng(0))
    tools, _ = feature_matrices(whole, activity, NOW_MS)
    for name in EXACT_OF_TOOLS:
        assert row[name] == pytest.approx(tools.column(name)[-1], abs=1e-6)
    assert all(-1 <= value <= 1 + 1e-6 for value in row.values())


@settings(max_examples=30)
@given(records=RECORDS, seed=SEEDS)
def test_a_new_capability_has_the_row_that_it_would_have(records: Records, seed: int) -> None:
    sets, edges = records
    new = Members(id="new", tools=(TOOLS[0], TOOLS[3]), capabilities=("c0", "unknown"))
    found, activity = structure_of(graph_of(records), np.random.default_rng(0)), Activity()
    for run in random_runs(seed):
        activity.add(run)
    warmth = node_heat(found, activity, NOW_MS)
    row = values_of(
        new_capability(found, activity, NOW_MS, warmth, members=new), CAPABILITY_COLUMNS
    )
    whole = feature_graph(TOOLS, [*capabilities(sets), new], edges)
    _, matrix = feature_matrices(structure_of(whole, np.random.default_rng(0)), activity, NOW_MS)
    for name in EXACT_OF_CAPABILITIES:
        assert row[name] == pytest.approx(matrix.column(name)[-1], abs=1e-6)
    assert all(-1 <= value <= 1 + 1e-6 for value in row.values())


@pytest.mark.parametrize("seed", range(3))
def test_rank_and_community_of_a_new_tool_are_near_what_they_will_be(seed: int) -> None:
    """In a graph of 120 tools one more changes little, so one step tells nearly all."""
    rng = np.random.default_rng(seed)
    graph, truth = planted(rng, 4, 30, inside=0.4, between=0.02)
    rows, columns = graph.links.nonzero()
    edges = [edge(graph.tools[a], graph.tools[b]) for a, b in zip(rows, columns, strict=True)]
    own = [edge(graph.tools[number], "s:new") for number in range(0, 30, 3)]
    found = structure_of(graph, np.random.default_rng(0))
    warmth = node_heat(found, Activity(), NOW_MS)
    row = new_tool(found, Activity(), NOW_MS, warmth, tool="s:new", edges=own)
    more = feature_graph([*graph.tools, "s:new"], (), [*edges, *own])
    after = structure_of(more, np.random.default_rng(0), previous=found)
    tools, _ = feature_matrices(after, Activity(), NOW_MS)
    assert row.group == after.communities[-1] == found.communities[truth.index(0)]
    for name in ("pagerank", "community_share", "community_inside"):
        value = values_of(row, TOOL_COLUMNS)[name]
        assert value == pytest.approx(tools.column(name)[-1], abs=0.05)


@pytest.mark.parametrize("seed", range(5))
def test_rank_of_a_new_capability_is_near_what_it_will_be(seed: int) -> None:
    sets = [one for number in range(20) for one in random_records(100 * seed + number)[0]]
    graph = feature_graph(TOOLS, capabilities(sets))
    found = structure_of(graph, np.random.default_rng(0))
    warmth = node_heat(found, Activity(), NOW_MS)
    new = Members(id="new", tools=TOOLS[:3])
    row = new_capability(found, Activity(), NOW_MS, warmth, members=new)
    whole = structure_of(
        feature_graph(TOOLS, [*capabilities(sets), new]), np.random.default_rng(0), previous=found
    )
    _, matrix = feature_matrices(whole, Activity(), NOW_MS)
    value = values_of(row, CAPABILITY_COLUMNS)["hypergraph_pagerank"]
    assert value == pytest.approx(matrix.column("hypergraph_pagerank")[-1], abs=0.003)


def test_a_new_capability_is_wholly_inside_a_cluster_that_nothing_leaves() -> None:
    sets, truth = planted_capabilities(1, 3, 20)
    found = structure_of(feature_graph((), capabilities(sets)), np.random.default_rng(0))
    warmth = node_heat(found, Activity(), NOW_MS)
    new = Members(id="new", tools=tuple(sorted(sets[0])[:2]))
    row = new_capability(found, Activity(), NOW_MS, warmth, members=new)
    assert row.group == found.clusters[truth == 0][0]
    assert values_of(row, CAPABILITY_COLUMNS)["cluster_inside"] == pytest.approx(1.0)
    assert values_of(row, CAPABILITY_COLUMNS)["cluster_share"] == pytest.approx(21 / 61)


def test_without_edges_a_tool_is_alone_and_its_neighbours_warm_it() -> None:
    graph = feature_graph(TOOLS, capabilities([frozenset(TOOLS[:2])]), [edge(TOOLS[0], TOOLS[1])])
    found, activity = structure_of(graph, np.random.default_rng(0)), activity_of(random_runs(5))
    warmth = node_heat(found, activity, NOW_MS)
    alone = new_tool(found, activity, NOW_MS, warmth, tool="s:new")
    tied = [
        edge("s:new", TOOLS[0]),
        edge("s:other", TOOLS[0]),
        edge("s:new", "s:unknown"),
        edge(TOOLS[1], "s:new", kind=DependencyType.CO_OCCURRENCE),
    ]
    near = new_tool(found, activity, NOW_MS, warmth, tool="s:new", edges=tied)
    assert (alone.group, near.group) == (-1, found.communities[0])
    assert values_of(alone, TOOL_COLUMNS)["heat"] == 0 < values_of(near, TOOL_COLUMNS)["heat"]
    row = new_capability(found, activity, NOW_MS, warmth, members=Members(id="new"))
    assert row.group == -1
    empty = values_of(row, CAPABILITY_COLUMNS)
    assert empty["heat"] == empty["cluster_share"] == empty["cluster_inside"] == 0


def test_the_first_nodes_of_all_have_rows() -> None:
    found = structure_of(feature_graph(()), np.random.default_rng(0))
    nothing = np.zeros(0)
    tool = new_tool(found, Activity(), NOW_MS, nothing, tool="s:a")
    members = Members(id="c", tools=("s:a",))
    capability = new_capability(found, Activity(), NOW_MS, nothing, members=members)
    for row in (tool, capability):
        assert row.group == -1
        assert np.isfinite(row.values).all()


def test_what_is_not_new_is_refused() -> None:
    graph = feature_graph(["s:a"], [Members(id="c")])
    found, activity = structure_of(graph, np.random.default_rng(0)), Activity()
    warmth = np.zeros(2)
    with pytest.raises(ValueError, match="tool 's:a' is in the graph"):
        new_tool(found, activity, NOW_MS, warmth, tool="s:a")
    with pytest.raises(ValueError, match="capability 'c' is in the graph"):
        new_capability(found, activity, NOW_MS, warmth, members=Members(id="c"))
    with pytest.raises(ValueError, match=r"edge 's:a' -> 's:b'"):
        new_tool(found, activity, NOW_MS, warmth, tool="s:b", edges=[edge("s:a", "s:b", weight=-1)])
