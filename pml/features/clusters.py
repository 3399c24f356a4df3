"""Clusters of capabilities: those that are made of the same tools.

Capabilities are hyperedges over tools; turned round, they are vertices, and each tool ties those
that have it.  The eigenvectors of that hypergraph's Laplacian with the smallest eigenvalues put
what is tied closely into the same place, and k-means there finds the clusters.

Reference: D. Zhou, J. Huang, B. Schölkopf, "Learning with Hypergraphs: Clustering,
Classification, and Embedding", NIPS 2006, sections 5 and 6; A. Ng, M. Jordan, Y. Weiss, "On
Spectral Clustering", NIPS 2001 (rows of length 1); U. von Luxburg, "A Tutorial on Spectral
Clustering", 2007, section 8.3 (the number of clusters from the largest gap).

Where we differ: each connected component is clustered by itself.  Eigenvalue 0 has a dimension per
component, so taken together they would fill the embedding with what is known without it.  And
k-means begins with points far from each other instead of random ones: that depends on distances
only, so signs and rotations of eigenvectors, which solvers choose freely, change nothing.
"""

import numpy as np
from jaxtyping import Float64, Int64
from scipy.sparse import csr_array, diags_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, eigsh

from pml.features.graph import FeatureGraph
from pml.features.labels import aligned, compact

MOST = 8
"""Clusters in one component."""
SMALLEST = 4
"""Capabilities of a component that may be split."""
DENSE = 400
"""Capabilities up to which all eigenvectors are computed; beyond, only the ones needed."""
_ROUNDS = 100
"""Of k-means; it settles in far fewer."""


def spectral_clusters(
    graph: FeatureGraph, *, previous: Int64[np.ndarray, " capabilities"] | None = None
) -> Int64[np.ndarray, " capabilities"]:
    """A label per capability; -1 without tools.  The largest cluster is 0.

    With ``previous`` labels stay what they were as far as the clusters do.
    """
    affinity = normalised_incidence(graph)
    labels = np.full(len(graph.capabilities), -1, dtype=np.int64)
    next_label = 0
    for rows in _components(graph.incidence):
        labels[rows] = next_label + _split(csr_array(affinity[:, rows]))
        next_label = int(labels.max()) + 1
    return compact(labels) if previous is None else aligned(labels, previous)


def normalised_incidence(graph: FeatureGraph) -> csr_array:
    """B = D_tools^-1/2 H D_capabilities^-1/2.

    B' B is the operator of Zhou et al. on the dual hypergraph, its Laplacian 1 - B' B.
    """
    incidence = graph.incidence
    by_tool = np.asarray(incidence.sum(axis=1)).reshape(-1)
    by_capability = np.asarray(incidence.sum(axis=0)).reshape(-1)
    left, right = (np.sqrt(np.maximum(degrees, 1.0)) for degrees in (by_tool, by_capability))
    return csr_array(diags_array(1 / left) @ incidence @ diags_array(1 / right))


def cluster_of(
    graph: FeatureGraph,
    labels: Int64[np.ndarray, " capabilities"],
    tools: Int64[np.ndarray, " members"],
) -> int:
    """Of a capability that is not in the graph; ``tools`` are rows.  -1 if nothing else uses them.

    The cluster to which a walk over a shared tool most likely leads, with the rest as it is.
    """
    chosen = csr_array(graph.incidence[tools])
    shares = chosen.T @ (1.0 / np.maximum(np.asarray(chosen.sum(axis=1)).reshape(-1), 1.0))
    inside = labels >= 0
    if not shares[inside].any():
        return -1
    return int(np.argmax(np.bincount(labels[inside], shares[inside])))


def _components(incidence: csr_array) -> list[Int64[np.ndarray, " rows"]]:
    """Rows of the capabilities of each connected component, without those that have no tools."""
    tools, capabilities = incidence.shape
    entries = incidence.tocoo()
    bipartite = csr_array(
        (entries.data, (entries.row, entries.col + tools)), shape=(tools + capabilities,) * 2
    )
    _, labels = connected_components(bipartite, directed=False)
    used = np.flatnonzero(np.diff(incidence.tocsc().indptr))
    order = used[np.argsort(labels[tools:][used], kind="stable")]
    starts = np.flatnonzero(np.diff(labels[tools:][order])) + 1
    return [rows for rows in np.split(order, starts) if len(rows)]


def _split(affinity: csr_array) -> Int64[np.ndarray, " rows"]:
    """Clusters of one component's capabilities, from 0."""
    count = affinity.shape[1]
    if count < SMALLEST:
        return np.zeros(count, dtype=np.int64)
    values, vectors = spectrum(affinity, min(MOST + 1, count))
    gaps = values[:-1] - values[1:]
    clusters = int(np.argmax(gaps)) + 1
    if clusters == 1:
        return np.zeros(count, dtype=np.int64)
    rows = vectors[:, :clusters]
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return _k_means(rows / np.maximum(lengths, 1e-300), clusters)


def spectrum(
    affinity: csr_array, most: int
) -> tuple[Float64[np.ndarray, " most"], Float64[np.ndarray, "rows most"]]:
    """Largest eigenvalues of B' B, the first being 1, and their eigenvectors as columns."""
    count = affinity.shape[1]
    if count <= max(DENSE, most):
        gram = np.asarray((affinity.T @ affinity).toarray())
        # All of them: asked for a few, LAPACK leaves some out where eigenvalues are equal.
        values, vectors = np.linalg.eigh(gram)
    else:
        operator = LinearOperator(
            (count, count), matvec=lambda x: affinity.T @ (affinity @ x), dtype=np.float64
        )
        # A start that no eigenvector is orthogonal to by symmetry, and the same each time.
        start = np.cos(np.arange(count, dtype=np.float64))
        values, vectors = eigsh(operator, k=most, which="LA", v0=start)
    order = np.argsort(-values, kind="stable")[:most]
    return values[order], vectors[:, order]


def _k_means(points: Float64[np.ndarray, "rows axes"], clusters: int) -> Int64[np.ndarray, " rows"]:
    centres = _far_apart(points, clusters)
    labels = np.full(len(points), -1, dtype=np.int64)
    for _ in range(_ROUNDS):
        distances = ((points[:, None, :] - centres[None]) ** 2).sum(axis=2)
        nearest = np.argmin(distances, axis=1)
        if np.array_equal(nearest, labels):
            break
        labels = nearest
        for cluster in np.unique(labels):  # one that lost all its points keeps its centre
            centres[cluster] = points[labels == cluster].mean(axis=0)
    return labels


def _far_apart(
    points: Float64[np.ndarray, "rows axes"], clusters: int
) -> Float64[np.ndarray, "clusters axes"]:
    """The point farthest from the mean, then each time the one farthest from those chosen."""
    chosen = [int(np.argmax(((points - points.mean(axis=0)) ** 2).sum(axis=1)))]
    nearest = np.full(len(points), np.inf)
    while len(chosen) < clusters:
        nearest = np.minimum(nearest, ((points - points[chosen[-1]]) ** 2).sum(axis=1))
        chosen.append(int(np.argmax(nearest)))
    return points[chosen].copy()
