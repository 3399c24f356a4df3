"""What the graph alone says of each tool and capability; computed when the graph has changed.

After a small change the old structure is a start: ranks are carried over and settle in a few
steps, groups keep their numbers.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64

from pml.features.adamic_adar import adamic_adar
from pml.features.clusters import spectral_clusters
from pml.features.communities import communities
from pml.features.graph import FeatureGraph
from pml.features.pagerank import carried, hypergraph_pagerank, pagerank


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Structure:
    """Rows are those of ``graph``."""

    graph: FeatureGraph
    pagerank: Float64[np.ndarray, " tools"]
    communities: Int64[np.ndarray, " tools"]
    adamic_adar: Float64[np.ndarray, " tools"]
    hypergraph_pagerank: Float64[np.ndarray, " capabilities"]
    clusters: Int64[np.ndarray, " capabilities"]
    """-1 without tools."""


def structure_of(
    graph: FeatureGraph, rng: np.random.Generator, *, previous: Structure | None = None
) -> Structure:
    """Everything about ``graph``; ``previous`` saves time and keeps the numbers of groups."""
    old = None if previous is None else previous.graph
    if previous is None or old is None:
        ranks = hyper_ranks = groups = clusters = None
    else:
        ranks = _start(old.tools, previous.pagerank, graph.tools)
        hyper_ranks = _start(old.capabilities, previous.hypergraph_pagerank, graph.capabilities)
        groups = _labels(old.tools, previous.communities, graph.tools)
        clusters = _labels(old.capabilities, previous.clusters, graph.capabilities)
    return Structure(
        graph=graph,
        pagerank=pagerank(graph, start=ranks),
        communities=communities(graph, rng, previous=groups),
        adamic_adar=adamic_adar(graph),
        hypergraph_pagerank=hypergraph_pagerank(graph, start=hyper_ranks),
        clusters=spectral_clusters(graph, previous=clusters),
    )


def _start(
    old: tuple[str, ...], ranks: Float64[np.ndarray, " old"], new: tuple[str, ...]
) -> Float64[np.ndarray, " new"] | None:
    return carried(dict(zip(old, ranks.tolist(), strict=True)), new) if new else None


def _labels(
    old: tuple[str, ...], labels: Int64[np.ndarray, " old"], new: tuple[str, ...]
) -> Int64[np.ndarray, " new"]:
    known = dict(zip(old, labels.tolist(), strict=True))
    return np.array([known.get(key, -1) for key in new], dtype=np.int64)
