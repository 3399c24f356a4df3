"""Communities of tools: groups with more edges inside than chance would give (Louvain).

Each node moves to the neighbouring community that raises modularity most, until none moves; then
communities become nodes and it begins again.

Reference: V. Blondel, J.-L. Guillaume, R. Lambiotte, E. Lefebvre, "Fast unfolding of communities
in large networks", J. Stat. Mech. 2008 P10008; V. Traag, L. Waltman, N. J. van Eck, "From
Louvain to Leiden", Scientific Reports 9, 2019 (only nodes whose neighbours moved are looked at
again).  Own code, as rustworkx has no Louvain and networkx is a tool for tests here.

Where we differ: after communities have moved, single nodes may move again, until neither raises
modularity; the paper ends after one pass over the levels.  A second run begins with the
communities of the first, and keeps what comes of them unless a fresh start is better by `SWITCH`;
features that hang on communities do not jump because one edge was added (`pml.features.labels`
has the numbers).
"""

from collections import deque
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float64, Int64
from scipy.sparse import csr_array

from pml.features.graph import FeatureGraph
from pml.features.labels import aligned, compact

SWITCH = 0.01
"""Modularity by which a fresh start has to be better than what grew."""
_LEAST_GAIN = 1e-12
"""Of a move, as a share of all weight: rounding makes no moves."""


def communities(
    graph: FeatureGraph,
    rng: np.random.Generator,
    *,
    previous: Int64[np.ndarray, " tools"] | None = None,
) -> Int64[np.ndarray, " tools"]:
    """A label per tool; the largest community is 0, a tool without ties is alone in one.

    With ``previous`` (-1 for a tool that is new) labels stay what they were as far as the
    communities do.  The same ``rng`` state gives the same answer.
    """
    ties = _shares(graph.ties)
    fresh = _louvain(ties, np.arange(ties.shape[0]), rng)
    if previous is None:
        return compact(fresh)
    grown = _louvain(ties, _filled(previous), rng)
    better = modularity(graph.ties, fresh) > modularity(graph.ties, grown) + SWITCH
    return aligned(fresh if better else grown, previous)


def modularity(ties: csr_array, labels: Int64[np.ndarray, " nodes"]) -> float:
    """Share of weight inside communities, less what chance would put there; 0 without ties."""
    ties = _shares(ties)
    degrees = np.asarray(ties.sum(axis=1)).reshape(-1)
    rows = np.repeat(np.arange(ties.shape[0]), np.diff(ties.indptr))
    inside = float(ties.data[labels[rows] == labels[ties.indices]].sum())
    volumes = np.bincount(compact(labels), degrees)
    return inside - float(volumes @ volumes)


def community_of(
    graph: FeatureGraph,
    labels: Int64[np.ndarray, " tools"],
    ties: Float64[np.ndarray, " tools"],
) -> int:
    """Of a tool that is not in the graph, with these ties to those that are; -1 without any.

    The one that raises modularity most, with the rest as it is; of equals the smallest label.  One
    that it has ties to always does: the gains of those sum to more than 0, all others are below.
    """
    if not ties.any():
        return -1
    degrees = np.asarray(graph.ties.sum(axis=1)).reshape(-1) + ties
    own = np.bincount(labels, ties)
    volumes = np.bincount(labels, degrees)
    gains = own - volumes * ties.sum() / (degrees.sum() + ties.sum())
    return int(np.argmax(gains))


def _shares(ties: csr_array) -> csr_array:
    """Weights as shares of all weight, which changes no modularity."""
    # Dividing the array by a number would multiply with its inverse, which may be infinite.
    shares = ties.data / ties.data.sum()
    return csr_array((shares, ties.indices, ties.indptr), shape=ties.shape)


def _filled(previous: Int64[np.ndarray, " nodes"]) -> Int64[np.ndarray, " nodes"]:
    """New nodes begin alone."""
    new = previous < 0
    filled = previous.copy()
    filled[new] = previous.max(initial=-1) + 1 + np.arange(int(new.sum()))
    return compact(filled)


def _louvain(
    ties: csr_array, start: Int64[np.ndarray, " nodes"], rng: np.random.Generator
) -> Int64[np.ndarray, " nodes"]:
    """Moves of nodes and of whole communities in turns, until neither finds anything."""
    labels = compact(start)
    while True:
        moved = compact(_moved(ties, labels, rng))
        merged = _merged(ties, moved, rng)
        if np.array_equal(merged, labels):
            return labels
        labels = merged


def _merged(
    ties: csr_array, labels: Int64[np.ndarray, " nodes"], rng: np.random.Generator
) -> Int64[np.ndarray, " nodes"]:
    """Communities as nodes, moved together, again and again."""
    while len(labels):
        places = (np.arange(len(labels)), labels)
        members = csr_array((np.ones(len(labels)), places))
        # Weight inside a community becomes a loop, so that degrees stay what they are.
        between = csr_array(members.T @ ties @ members)
        outer = _moved(between, np.arange(between.shape[0]), rng)
        if len(np.unique(outer)) == between.shape[0]:
            break
        labels = compact(outer[labels])
    return labels


def _moved(
    ties: csr_array, start: Int64[np.ndarray, " nodes"], rng: np.random.Generator
) -> Int64[np.ndarray, " nodes"]:
    """Communities after moves of single nodes; every move raises modularity, so it ends."""
    count = ties.shape[0]
    degrees = np.asarray(ties.sum(axis=1)).reshape(-1).tolist()
    neighbours, labels = _neighbours(ties), start.tolist()
    volumes = np.bincount(start, degrees, minlength=count).tolist()
    queue = deque(rng.permutation(count).tolist())
    waiting = [True] * count
    while queue:
        node = queue.popleft()
        waiting[node] = False
        own, degree = labels[node], degrees[node]
        volumes[own] -= degree
        best = labels[node] = _best(neighbours[node], labels, volumes, own, degree)
        volumes[best] += degree
        if best == own:
            continue
        for other, _ in neighbours[node]:
            if not waiting[other] and labels[other] != best:
                waiting[other] = True
                queue.append(other)
    return np.array(labels, dtype=np.int64)


def _neighbours(ties: csr_array) -> list[list[tuple[int, float]]]:
    """Per node its neighbours and weights, without loops."""
    ends, weights, places = ties.indices.tolist(), ties.data.tolist(), ties.indptr.tolist()
    return [
        [(ends[k], weights[k]) for k in range(places[n], places[n + 1]) if ends[k] != n]
        for n in range(len(places) - 1)
    ]


def _best(
    neighbours: Sequence[tuple[int, float]],
    labels: Sequence[int],
    volumes: Sequence[float],
    own: int,
    degree: float,
) -> int:
    """The community that a node is best in, once it has left its own; that unless one is better."""
    links: dict[int, float] = {own: 0.0}
    for other, weight in neighbours:
        label = labels[other]
        links[label] = links.get(label, 0.0) + weight
    best, best_gain = own, links[own] - volumes[own] * degree + _LEAST_GAIN
    for label, weight in links.items():
        gain = weight - volumes[label] * degree
        if label != own and gain > best_gain:
            best, best_gain = label, gain
    return best
