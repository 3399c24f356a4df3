"""What features cost over 10,000 tools, 2,000 capabilities and 60,000 edges.

The graph is made here: tools in 100 communities, degrees by a power law, capabilities of two to
eight tools of one community, one tool in ten from elsewhere.  The named alternative is networkx on
the same graph in the same run; for the heat of nodes scipy's `expm_multiply`.  What is kept up is
compared with computing it anew: `update` is one more edge or run, `anew` is everything.

Run:  .venv/bin/python experiments/bench/features.py
"""

import itertools
import json
import statistics
import time
from collections.abc import Callable

import networkx as nx
import numpy as np
from scipy.sparse import diags_array, identity
from scipy.sparse.linalg import expm_multiply

from pml.domain.trace import DependencyType, ToolDependency
from pml.features.activity import Activity, CallSeen, RunSeen
from pml.features.adamic_adar import Neighbourhoods, adamic_adar
from pml.features.arguments import argument_pattern, argument_vector
from pml.features.clusters import spectral_clusters
from pml.features.communities import communities, modularity
from pml.features.graph import FeatureGraph, feature_graph
from pml.features.heat import heat
from pml.features.matrix import feature_matrices, node_heat
from pml.features.members import Members
from pml.features.new_tool import new_tool
from pml.features.pagerank import hypergraph_pagerank, pagerank
from pml.features.structure import Structure, structure_of
from pml.features.walks import activity_walk

TOOLS = 10_000
CAPABILITIES = 2_000
EDGES = 60_000
GROUPS = 100
RUNS = 5_000
CHANGES = 200
FAR = 0.1
"""Chance that a tool of an edge or a capability is from anywhere."""
SUCCESS = 0.9
NOW_MS = 10**12
ARGUMENTS = {"path": "/data/in.json", "channel": "#general", "limit": 20, "text": "a few words"}


def records(rng: np.random.Generator) -> tuple[list[str], list[Members], list[ToolDependency]]:
    """Tools, capabilities and edges."""
    tools = [f"server{number % 200}:tool{number}" for number in range(TOOLS)]
    weights = 1.0 / np.arange(1, TOOLS // GROUPS + 1) ** 0.6
    chances = weights / weights.sum()

    def drawn(group: int, count: int) -> list[str]:
        places = rng.choice(len(chances), size=count, p=chances) * GROUPS + group
        far = rng.integers(TOOLS, size=count)
        return [tools[p] for p in np.where(rng.random(count) < FAR, far, places).tolist()]

    members = [
        Members(id=f"cap_{number}", tools=tuple(set(drawn(number % GROUPS, 2 + number % 7))))
        for number in range(CAPABILITIES)
    ]
    kinds = list(DependencyType)
    edges = [
        ToolDependency(
            source=source, target=target, type=kind, edge_source="observed", weight=kind.weight
        )
        for number in range(EDGES)
        for kind, (source, target) in [(kinds[number % 5], drawn(number % GROUPS, 2))]
    ]
    return tools, members, edges


def timed_ms(work: Callable[[], object], times: int = 3) -> float:
    """Median of so many."""
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        work()
        taken.append((time.perf_counter() - started) * 1000)
    return statistics.median(taken)


def runs(rng: np.random.Generator, graph: FeatureGraph) -> list[RunSeen]:
    """Of the capabilities, each with its tools."""
    members = graph.incidence.tocsc()
    seen = []
    for number in range(RUNS):
        column = int(rng.integers(CAPABILITIES))
        rows = members.indices[members.indptr[column] : members.indptr[column + 1]].tolist()
        calls = [
            CallSeen(
                tool=graph.tools[row], arguments=ARGUMENTS, success=bool(rng.random() < SUCCESS)
            )
            for row in rows
        ]
        seen.append(
            RunSeen(
                at_ms=NOW_MS - 60_000 * number,
                calls=tuple(calls),
                capability=graph.capabilities[column],
                arguments=ARGUMENTS,
                success=True,
            )
        )
    return seen


def of_the_graph(graph: FeatureGraph, rng: np.random.Generator) -> dict[str, float]:
    """Each feature anew, beside networkx."""
    other = nx.from_scipy_sparse_array(graph.ties)
    directed = nx.from_scipy_sparse_array(graph.links, create_using=nx.DiGraph)
    labels = communities(graph, rng)
    started = time.perf_counter()
    theirs = nx.community.louvain_communities(other, seed=1)
    their_louvain = (time.perf_counter() - started) * 1000
    return {
        "pagerank_ms": timed_ms(lambda: pagerank(graph)),
        "pagerank_networkx_ms": timed_ms(lambda: nx.pagerank(directed)),
        "hypergraph_pagerank_ms": timed_ms(lambda: hypergraph_pagerank(graph)),
        "louvain_ms": timed_ms(lambda: communities(graph, np.random.default_rng(1)), 1),
        "louvain_networkx_ms": their_louvain,
        "louvain_again_ms": timed_ms(lambda: communities(graph, rng, previous=labels), 1),
        "modularity": modularity(graph.ties, labels),
        "modularity_networkx": nx.community.modularity(other, theirs),
        "adamic_adar_ms": timed_ms(lambda: adamic_adar(graph)),
        "adamic_adar_networkx_ms": timed_ms(
            lambda: sum(v for *_, v in nx.adamic_adar_index(other, other.edges)), 1
        ),
        "clusters_ms": timed_ms(lambda: spectral_clusters(graph)),
    }


def of_heat(graph: FeatureGraph, rng: np.random.Generator) -> dict[str, float]:
    """Ours, and `expm_multiply` of the same operator."""
    walk = activity_walk(graph)
    sources = rng.random(len(walk.leak))
    (factor,) = walk.factors
    operator = factor + diags_array(walk.leak) - identity(len(walk.leak))
    return {
        "heat_ms": timed_ms(lambda: heat(walk, sources)),
        "heat_expm_multiply_ms": timed_ms(lambda: expm_multiply(operator, sources)),
    }


def of_changes(graph: FeatureGraph, rng: np.random.Generator) -> dict[str, float]:
    """One more edge: what is kept up, against what is computed anew."""
    rows, columns = graph.ties.nonzero()
    pairs = [(graph.tools[a], graph.tools[b]) for a, b in zip(rows, columns, strict=True)]
    kept = Neighbourhoods(pairs)
    for tool in graph.tools:
        kept.score(tool)
    ends = iter(rng.choice(graph.tools, size=(CHANGES, 2)).tolist())

    def insert() -> None:
        one, other = next(ends)
        kept.insert(one, other)
        for tool in graph.tools[:10]:
            kept.score(tool)
        kept.score(one)

    ranks = pagerank(graph)
    nudged = ranks * (1 + 1e-6 * rng.random(len(ranks)))
    return {
        "adamic_adar_update_ms": timed_ms(insert, CHANGES),
        "pagerank_update_ms": timed_ms(lambda: pagerank(graph, start=nudged)),
    }


def of_runs(structure: Structure, rng: np.random.Generator) -> dict[str, float]:
    """One more run, all runs anew, the matrices, and the row of a new tool."""
    seen = runs(rng, structure.graph)
    activity = Activity()
    started = time.perf_counter()
    for run in seen:
        activity.add(run)
    anew = (time.perf_counter() - started) * 1000
    more = itertools.cycle(seen[:CHANGES])
    warmth = node_heat(structure, activity, NOW_MS)
    edges = [
        ToolDependency(
            source="new:tool",
            target=tool,
            type=DependencyType.SEQUENCE,
            edge_source="observed",
            weight=0.5,
        )
        for tool in structure.graph.tools[:5]
    ]
    return {
        "arguments_ms": timed_ms(lambda: argument_vector(argument_pattern(ARGUMENTS)), CHANGES),
        "runs_anew_ms": anew,
        "run_update_ms": timed_ms(lambda: activity.add(next(more)), CHANGES),
        "matrices_ms": timed_ms(lambda: feature_matrices(structure, activity, NOW_MS)),
        "new_tool_ms": timed_ms(
            lambda: new_tool(structure, activity, NOW_MS, warmth, tool="new:tool", edges=edges), 9
        ),
    }


def main() -> None:
    """Measure and print; the last line is one JSON object."""
    rng = np.random.default_rng(1)
    tools, members, edges = records(rng)
    graph = feature_graph(tools, members, edges)
    structure = structure_of(graph, rng)
    figures = {
        "graph_ms": timed_ms(lambda: feature_graph(tools, members, edges)),
        **of_the_graph(graph, rng),
        **of_heat(graph, rng),
        **of_changes(graph, rng),
        **of_runs(structure, rng),
        "structure_again_ms": timed_ms(lambda: structure_of(graph, rng, previous=structure), 1),
    }
    for name in ("pagerank", "louvain", "adamic_adar"):
        figures[f"{name}_ratio_to_networkx"] = (
            figures[f"{name}_ms"] / figures[f"{name}_networkx_ms"]
        )
    figures["heat_ratio_to_expm_multiply"] = figures["heat_ms"] / figures["heat_expm_multiply_ms"]
    print(f"{TOOLS} tools, {CAPABILITIES} capabilities, {EDGES} edges, {RUNS} runs")
    print(json.dumps({name: round(value, 3) for name, value in figures.items()}))


if __name__ == "__main__":
    main()
