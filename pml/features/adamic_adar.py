"""Adamic-Adar: two tools are near if they have neighbours in common, rare ones above all.

A common neighbour counts 1 / log(degree): one that is tied to everything says little.  As a feature
of one tool it is the sum over its own neighbours, which says how tightly knit its surroundings are.

Reference: L. Adamic, E. Adar, "Friends and neighbors on the Web", Social Networks 25(3), 2003;
D. Liben-Nowell, J. Kleinberg, "The link-prediction problem for social networks", JASIST 58(7),
2007, section 3.1.  Weights of edges do not count.
"""

import math
from collections.abc import Iterable

import numpy as np
from jaxtyping import Float64
from scipy.sparse import csr_array, diags_array

from pml.features.graph import FeatureGraph


def adamic_adar(graph: FeatureGraph) -> Float64[np.ndarray, " tools"]:
    """Per tool the sum over its neighbours; 0 where no two of them are tied."""
    ones = csr_array(
        (np.ones(graph.ties.nnz), graph.ties.indices, graph.ties.indptr), shape=graph.ties.shape
    )
    degrees = np.diff(ones.indptr)
    rarity = np.array([_rarity(degree) for degree in degrees.tolist()])
    # Ones at both ends of a sum over common neighbours of neighbours: only pairs with an edge.
    paths = (ones @ diags_array(rarity) @ ones).multiply(ones)
    return np.asarray(paths.sum(axis=1), dtype=np.float64).reshape(-1)


class Neighbourhoods:
    """Adamic-Adar under insertion and removal of edges.

    Invariant: what `score` gives is what `adamic_adar` gives of the graph with these edges, but
    for the order of sums.  Scores are computed again from sets, never patched, so that rounding
    does not add up.
    """

    def __init__(self, edges: Iterable[tuple[str, str]] = ()) -> None:
        self._near: dict[str, set[str]] = {}
        self._scores: dict[str, float] = {}
        for one, other in edges:
            self.insert(one, other)

    def insert(self, one: str, other: str) -> None:
        """Tie two tools; nothing happens if they are tied, or the same."""
        if one != other:
            self._near.setdefault(one, set()).add(other)
            self._near.setdefault(other, set()).add(one)
            self._forget(one, other)

    def remove(self, one: str, other: str) -> None:
        """Take the tie away; nothing happens without one."""
        if other in self._near.get(one, ()):
            self._forget(one, other)
            self._near[one].discard(other)
            self._near[other].discard(one)

    def pair(self, one: str, other: str) -> float:
        """Of any two tools, tied or not; 0 for one that is not known."""
        near, far = self._near.get(one, set()), self._near.get(other, set())
        return math.fsum(_rarity(len(self._near[common])) for common in near & far)

    def score(self, tool: str) -> float:
        """Sum over the tool's neighbours."""
        if tool not in self._scores:
            near = self._near.get(tool, ())
            self._scores[tool] = math.fsum(self.pair(tool, other) for other in near)
        return self._scores[tool]

    def _forget(self, one: str, other: str) -> None:
        """A degree counts in pairs of neighbours, so their scores and those of the ends change."""
        for tool in {one, other} | self._near[one] | self._near[other]:
            self._scores.pop(tool, None)


def _rarity(degree: int) -> float:
    """A node of degree 1 is nobody's common neighbour."""
    return 1.0 / math.log(degree) if degree > 1 else 0.0
