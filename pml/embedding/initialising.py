"""Where training starts: tokens that come in the same texts get similar rows.

Latent semantic analysis (S. Deerwester et al.: Indexing by Latent Semantic Analysis, JASIS
41(6), 1990) of texts by tokens, each token weighed by how rare it is (K. Sparck Jones: A
Statistical Interpretation of Term Specificity, Journal of Documentation 28(1), 1972).  A corpus of
some thousand tools is too small to learn the meaning of words by contrast alone; co-occurrence
gives most of it for nothing, and a random part keeps different words apart.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float32, Float64
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import svds


def idf(tokens: Sequence[Sequence[int]], size: int) -> Float64[np.ndarray, " tokens"]:
    """Inverse document frequency by token, smoothed; positive."""
    counts = np.zeros(size)
    for ids in tokens:
        counts[list(set(ids))] += 1
    return np.asarray(np.log((1 + len(tokens)) / (1 + counts)) + 1)


def initial_rows(
    tokens: Sequence[Sequence[int]],
    size: int,
    dimension: int,
    rng: np.random.Generator,
    *,
    random_share: float,
) -> Float32[np.ndarray, "tokens dim"]:
    """Rows by token; a token's length is its weight in a text.

    Args:
        tokens: Ids of each text.
        size: How many tokens there are.
        dimension: Of a row.
        rng: Of the random part, and of where the decomposition starts.
        random_share: Share of a row's squared length that is random, in [0, 1].
    """
    weights = idf(tokens, size)
    rows = np.sqrt(random_share / dimension) * rng.standard_normal((size, dimension))
    topics = min(dimension, len(tokens) - 1, size - 1)
    if topics > 0 and random_share < 1:
        found = _topics(tokens, weights, topics, rng)
        rows[:, :topics] += np.sqrt(1 - random_share) * found
    weighed: Float32[np.ndarray, "tokens dim"] = (rows * weights[:, None]).astype(np.float32)
    return weighed


def _topics(
    tokens: Sequence[Sequence[int]],
    weights: Float64[np.ndarray, " tokens"],
    topics: int,
    rng: np.random.Generator,
) -> Float64[np.ndarray, "tokens topics"]:
    """Unit rows by token, the strongest topic first; zero for a token of no text."""
    counted = [np.unique(ids, return_counts=True) for ids in tokens if len(ids)]
    starts = np.cumsum([0, *(len(ids) for ids, _ in counted)])
    ids = np.concatenate([ids for ids, _ in counted])
    values = np.concatenate([1 + np.log(counts) for _, counts in counted]) * weights[ids]
    lengths = np.sqrt(np.add.reduceat(values**2, starts[:-1]))
    values /= np.repeat(lengths, np.diff(starts))
    matrix = csr_matrix((values, ids, starts), shape=(len(counted), len(weights)))
    start = rng.standard_normal(min(matrix.shape))
    _, strengths, right = svds(matrix, k=min(topics, min(matrix.shape) - 1), v0=start)
    found = (right.T * strengths)[:, ::-1]
    norms = np.linalg.norm(found, axis=1, keepdims=True)
    unit = np.zeros((len(weights), topics))
    unit[:, : found.shape[1]] = np.divide(found, norms, out=np.zeros_like(found), where=norms > 0)
    return unit
