"""What shortest hyperpaths cost: from new sources, after an update, and to build (LE-6).

Hypergraphs are drawn: a fifth as many capabilities as tools, some of them of capabilities; tails of
one to five; who is needed follows Zipf's law, so that there are hubs; cycles come by themselves.
A query is one target from the start and three other nodes, which makes it a search.  An
update inserts, deletes or reweights one hyperedge, and is followed by a query from the start.

Named alternatives in the same run: computing all values anew in the same compiled code, the
published procedure in plain Python (`tests/oracle/hyperpaths.py`), and networkx's Dijkstra on
the 2-section graph, which answers another and easier question.  Growth is the exponent of the
number of hyperedges in a fit over all sizes.

Run:  .venv/bin/python experiments/bench/hyperpath.py
"""

import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import networkx as nx
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from pml.pathfinding.drdsp import DRDSP
from pml.pathfinding.records import START, Hyperedge, HyperedgeUpdate
from tests.oracle.hyperpaths import published

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000)
LARGE = 1_000_000
QUERIES = 200
UPDATES = 300
SLOW = 8
"""Queries of the alternatives in Python."""
BUILD = "--build"


class Drawn(NamedTuple):
    """A hypergraph as arrays; node 0 is the start."""

    heads: np.ndarray
    offsets: np.ndarray
    tails: np.ndarray
    weights: np.ndarray
    names: list[str]


POPULAR = 0.5
"""Share of sources that are drawn by Zipf's law, the others evenly."""
NESTED = 0.1
"""Share of a capability's members that are capabilities."""
NEEDS_NOTHING = 4
"""Every so manieth tool."""


def drawn(edges: int, seed: int) -> Drawn:
    """Two hyperedges for each tool on average, one for each capability."""
    rng = np.random.default_rng(seed)
    nodes = max(8, round(edges * 0.55))
    tools = nodes * 5 // 6
    into_tools = edges - (nodes - tools)
    heads = np.concatenate([rng.integers(1, tools, into_tools), np.arange(tools, nodes)])
    owner = np.repeat(np.arange(edges), rng.choice(5, edges, p=[0.4, 0.25, 0.15, 0.1, 0.1]) + 1)
    popular = rng.permutation(np.arange(1, tools))
    ranks = (rng.pareto(1.0, owner.size) * 20).astype(np.int64) % popular.size
    evenly = rng.integers(1, tools, owner.size)
    tails = np.where(rng.random(owner.size) < POPULAR, popular[ranks], evenly)
    of_tools = heads[owner] < tools
    nested = ~of_tools & (rng.random(owner.size) < NESTED)
    tails = np.where(nested, rng.integers(tools, nodes, owner.size), tails)
    tails = np.where(of_tools & (heads[owner] % NEEDS_NOTHING == 0), 0, tails)
    return _without_repetitions(heads, owner, tails, rng.exponential(1.0, edges), nodes)


def _without_repetitions(
    heads: np.ndarray, owner: np.ndarray, tails: np.ndarray, weights: np.ndarray, nodes: int
) -> Drawn:
    order = np.lexsort((tails, owner))
    owner, tails = owner[order], tails[order]
    keep = tails != heads[owner]
    keep[1:] &= (np.diff(owner) != 0) | (np.diff(tails) != 0)
    counts = np.bincount(owner[keep], minlength=heads.size)
    used = counts > 0
    return Drawn(
        heads=heads[used].astype(np.int32),
        offsets=np.concatenate(([0], np.cumsum(counts[used]))).astype(np.int64),
        tails=tails[keep].astype(np.int32),
        weights=weights[used],
        names=[START, *(f"tool{number}" for number in range(1, nodes))],
    )


def built(graph: Drawn) -> DRDSP:
    """The class, from arrays."""
    return DRDSP.from_arrays(
        heads=graph.heads,
        offsets=graph.offsets,
        tails=graph.tails,
        weights=graph.weights,
        nodes=graph.names,
    )


def times_ms(work: Callable[[int], object], times: int) -> list[float]:
    """Of each call with its number."""
    taken = []
    for number in range(times):
        started = time.perf_counter()
        work(number)
        taken.append((time.perf_counter() - started) * 1000)
    return taken


def updates(edges: list[Hyperedge], rng: np.random.Generator) -> list[HyperedgeUpdate]:
    """A third each of inserts, deletes and reweights, of hyperedges drawn alike."""
    chosen = rng.permutation(len(edges))[:UPDATES]
    made = []
    for turn, number in enumerate(chosen):
        edge = edges[number]
        if turn % 3 == 0:
            made.append(HyperedgeUpdate.delete(edge.id))
        elif turn % 3 == 1:
            made.append(HyperedgeUpdate.reweight(edge.id, float(rng.exponential())))
        else:
            other = edges[rng.integers(len(edges))]
            if other.target not in edge.sources:
                twin = Hyperedge(
                    id=f"new{turn}",
                    sources=edge.sources,
                    target=other.target,
                    weight=float(rng.exponential()),
                )
                made.append(HyperedgeUpdate.insert(twin))
    return made


def measured(size: int) -> dict[str, float]:
    """Medians at one size, in ms."""
    rng = np.random.default_rng(size)
    graph = drawn(size, seed=size)
    started = time.perf_counter()
    paths = built(graph)
    build_ms = (time.perf_counter() - started) * 1000
    edges = list(paths.hyperedges())
    reached = [name for name in paths.nodes[1:] if paths.cost(name) is not None]
    targets = [str(name) for name in rng.choice(reached, QUERIES + UPDATES)]
    sources = [[START, *map(str, rng.choice(graph.names[1:], 3))] for _ in range(QUERIES)]
    paths.find_shortest_hyperpath(sources[0], targets[0])
    asked = times_ms(lambda n: paths.find_shortest_hyperpath(sources[n], targets[n]), QUERIES)
    changes = updates(edges, rng)
    changed: list[int] = []

    def change(number: int) -> None:
        changed.append(paths.apply_update(changes[number]))

    def change_and_ask(number: int) -> None:
        change(number)
        paths.find_shortest_hyperpath([START], targets[number])

    tight = _tight(paths, targets)
    half = len(changes) // 2
    alone = times_ms(change, half)
    both = times_ms(lambda n: change_and_ask(half + n), len(changes) - half)
    return {
        "hyperedges": len(edges),
        "reached": len(reached) / len(graph.names),
        "build_ms": build_ms,
        "query_p50_ms": statistics.median(asked),
        "query_p95_ms": statistics.quantiles(asked, n=20)[-1],
        "update_p50_ms": statistics.median(alone),
        "update_p95_ms": statistics.quantiles(alone, n=20)[-1],
        "update_requery_p50_ms": statistics.median(both),
        "update_requery_p95_ms": statistics.quantiles(both, n=20)[-1],
        "values_changed_mean": statistics.mean(changed),
        "update_on_paths_p50_ms": statistics.median(tight),
        "update_on_paths_p95_ms": statistics.quantiles(tight, n=20)[-1],
        **_alternatives(paths, sources, targets),
        **_worst(paths),
    }


def _tight(paths: DRDSP, targets: list[str]) -> list[float]:
    """Updates that matter: hyperedges of shortest paths go, and come back."""
    found = (paths.find_shortest_hyperpath([START], target) for target in targets)
    edges = {edge.id: edge for path in found if path is not None for edge in path.hyperedges}
    steps = [
        step
        for edge in list(edges.values())[: UPDATES // 2]
        for step in (HyperedgeUpdate.delete(edge.id), HyperedgeUpdate.insert(edge))
    ]
    return times_ms(lambda n: paths.apply_update(steps[n]), len(steps))


def _alternatives(paths: DRDSP, sources: list[list[str]], targets: list[str]) -> dict[str, float]:
    edges = list(paths.hyperedges())
    number = {node: place for place, node in enumerate(paths.nodes)}
    lonely = Hyperedge(id="lonely", sources=("island",), target="far", weight=1.0)
    paths.apply_update(HyperedgeUpdate.insert(lonely))
    # A target that cannot be reached: the search settles all that can.
    anew = times_ms(lambda _: paths.find_shortest_hyperpath([START, "tool1"], "far"), 5 * SLOW)
    paths.apply_update(HyperedgeUpdate.delete("lonely"))
    plain = times_ms(lambda n: published(edges, sources[n], targets[n]), SLOW)
    pairs: nx.DiGraph[int] = nx.DiGraph()
    pairs.add_nodes_from(number.values())
    for edge in sorted(edges, key=lambda edge: -edge.weight):
        head = number[edge.target]
        pairs.add_weighted_edges_from((number[s], head, edge.weight) for s in edge.sources)
    section = times_ms(
        lambda n: nx.multi_source_dijkstra(
            pairs, [number[s] for s in sources[n]], number[targets[n]]
        ),
        SLOW,
    )
    return {
        "anew_p50_ms": statistics.median(anew),
        "published_python_p50_ms": statistics.median(plain),
        "networkx_two_section_p50_ms": statistics.median(section),
    }


def _worst(paths: DRDSP) -> dict[str, float]:
    """Everything that comes from the start now needs a login first, which goes and comes back."""
    edges = [edge for edge in paths.hyperedges() if edge.sources == (START,)]
    others = [edge for edge in paths.hyperedges() if edge.sources != (START,)]
    login = Hyperedge(id="login", sources=(START,), target="login", weight=1.0)
    moved = [
        Hyperedge(id=edge.id, sources=("login",), target=edge.target, weight=edge.weight)
        for edge in edges
    ]
    hanging = DRDSP.from_hyperedges([login, *moved, *others])
    steps = [HyperedgeUpdate.delete("login"), HyperedgeUpdate.insert(login)]
    taken = times_ms(lambda n: hanging.apply_update(steps[n % 2]), 10)
    return {
        "worst_delete_p50_ms": statistics.median(taken[::2]),
        "worst_insert_p50_ms": statistics.median(taken[1::2]),
    }


def exponent(rows: list[dict[str, float]], name: str) -> float:
    """Of the number of hyperedges, by least squares of the logarithms."""
    sizes = np.log([row["hyperedges"] for row in rows])
    return float(np.polyfit(sizes, np.log([row[name] for row in rows]), 1)[0])


def build_large() -> None:
    """In a process of its own, so that its peak memory is that of the build."""
    graph = drawn(LARGE, seed=1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    started = time.perf_counter()
    paths = built(graph)
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    update = HyperedgeUpdate.reweight("17", 3.0)
    update_ms = times_ms(lambda _: paths.apply_update(update), 1)[0]
    print(
        json.dumps(
            {
                "hyperedges": len(paths),
                "build_s": seconds,
                "peak_gb": peak,
                "peak_before_gb": before,
                "first_update_ms": update_ms,
            }
        )
    )


def figures(rows: list[dict[str, float]], large: Mapping[str, float]) -> dict[str, float]:
    """What the last line says."""
    by_size = dict(zip(SIZES, rows, strict=True))
    middle, top = by_size[10_000], by_size[100_000]
    return {
        "query_p50_ms": middle["query_p50_ms"],
        "query_p95_ms": middle["query_p95_ms"],
        "update_requery_p50_ms": middle["update_requery_p50_ms"],
        "update_requery_p95_ms": middle["update_requery_p95_ms"],
        "update_100k_p50_ms": top["update_p50_ms"],
        "update_100k_p95_ms": top["update_p95_ms"],
        "update_on_paths_p50_ms": middle["update_on_paths_p50_ms"],
        "update_on_paths_p95_ms": middle["update_on_paths_p95_ms"],
        "update_on_paths_100k_p50_ms": top["update_on_paths_p50_ms"],
        "million_build_s": large["build_s"],
        "million_peak_gb": large["peak_gb"],
        "anew_p50_ms": middle["anew_p50_ms"],
        "published_python_p50_ms": middle["published_python_p50_ms"],
        "networkx_two_section_p50_ms": middle["networkx_two_section_p50_ms"],
        "worst_delete_p50_ms": middle["worst_delete_p50_ms"],
        "worst_insert_p50_ms": middle["worst_insert_p50_ms"],
        "update_requery_to_anew": middle["update_requery_p50_ms"] / middle["anew_p50_ms"],
        "query_to_published_python": middle["query_p50_ms"] / middle["published_python_p50_ms"],
        "query_growth": exponent(rows, "query_p50_ms"),
        "update_growth": exponent(rows, "update_p50_ms"),
        "anew_growth": exponent(rows, "anew_p50_ms"),
    }


def main() -> None:
    """Measure and print; the last line is one JSON object."""
    if sys.argv[1:] == [BUILD]:
        build_large()
        return
    measured(SIZES[0])  # compiles what is not compiled yet
    rows = []
    for size in SIZES:
        rows.append(measured(size))
        print("  ".join(f"{name} {value:.4g}" for name, value in rows[-1].items()), flush=True)
    output = subprocess.run([sys.executable, __file__, BUILD], check=True, capture_output=True)  # noqa: S603
    large = json.loads(output.stdout)
    print(json.dumps(large))
    print(json.dumps({name: round(value, 4) for name, value in figures(rows, large).items()}))


if __name__ == "__main__":
    main()
