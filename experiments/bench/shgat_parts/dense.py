"""The same mathematics, dense: the alternative that the benchmark names.

Masks of nodes by nodes in place of pairs; terms of heads and features computed per query in place
of kept rows.  In single precision and vectorised, as somebody would write it who does not mind the
zeros.  (`tests/models/dense.py` is the oracle of the tests: in loops, in double precision.)
"""

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from experiments.bench.shgat_parts.world import CONFIG, World
from pml.features.columns import CAPABILITY_COLUMNS, TOOL_COLUMNS
from pml.features.standardising import Standardiser
from pml.models.inputs import RankingTask, columns_of
from pml.models.scorer import Query

TARGETS = 16
"""Rows of a mask at a time: bounds the memory."""


def dense_pass(made: World) -> np.ndarray:
    """States of all nodes, by masks of nodes by nodes."""
    graph, of, tools = made.graph, made.model.parameters, len(made.graph.tools)
    states = np.concatenate(
        [
            made.inputs.vectors[:tools] @ of["project.tools.weight"].T,
            made.inputs.vectors[tools:] @ of["project.capabilities.weight"].T,
        ]
    )
    states += of["id_embedding.weight"]
    contains = np.zeros((graph.nodes, graph.nodes), dtype=bool)
    contains[graph.containers, graph.members] = True
    starts = graph.starts
    for low, high in pairwise(starts[1:]):
        level, below = slice(low, high), slice(0, low)
        dense_attention(of, "up", states, contains, targets=level, sources=below)
    for high, low in pairwise(starts[-2::-1]):
        level, above = slice(low, high), slice(high, graph.nodes)
        dense_attention(of, "down", states, contains.T, targets=level, sources=above)
    return states


def dense_attention(
    of: Mapping[str, np.ndarray],
    direction: str,
    states: np.ndarray,
    mask: np.ndarray,
    *,
    targets: slice,
    sources: slice,
) -> None:
    """Every target attends to every source, and the mask takes back what is no pair; in place."""
    split = (-1, CONFIG.heads, CONFIG.head_dim)
    values = states[sources] @ of[f"{direction}.source.weight"].T
    asks = states[targets] @ of[f"{direction}.target.weight"].T
    allowed = mask[targets, sources]
    pooled = np.zeros_like(asks).reshape(split)
    for at in range(0, len(asks), TARGETS):
        rows = slice(at, at + TARGETS)
        hidden = asks[rows, None] + values  # (targets, sources, width)
        np.maximum(hidden, np.float32(0.2) * hidden, out=hidden)
        hidden = hidden.reshape(*hidden.shape[:2], *split[1:])
        logits = np.einsum("tshd,hd->tsh", hidden, of[f"{direction}.score"])
        logits = np.where(allowed[rows, :, None], logits, -np.float32(1e30))
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        weights *= allowed[rows, :, None]
        weights /= np.maximum(weights.sum(axis=1, keepdims=True), np.float32(1e-30))
        pooled[rows] = np.einsum("tsh,shd->thd", weights, values.reshape(split))
    pooled *= of[f"{direction}.gate"][:, None]
    states[targets] += pooled.reshape(len(asks), -1)


def dense_scores(made: World, states: np.ndarray, task: RankingTask, query: Query) -> np.ndarray:
    """The formula as it stands, term by term, for all candidates."""
    of, tools = made.model.parameters, len(made.graph.tools)
    if task is RankingTask.TOOLS:
        kind, own, features = "tools", states[:tools], made.inputs.tool_features
        columns = TOOL_COLUMNS
    else:
        kind, own, features = "capabilities", states[tools:], made.inputs.capability_features
        columns = CAPABILITY_COLUMNS
    asked = (of[f"query.{task}.weight"] @ query.vector).reshape(CONFIG.heads, CONFIG.head_dim)
    own = own.reshape(-1, CONFIG.heads, CONFIG.head_dim)
    scores: np.ndarray = np.einsum("nhd,hd->nh", own, asked).sum(axis=1)
    scores /= np.float32(CONFIG.head_dim**0.5)
    scaled = Standardiser(
        mean=of[f"standardise.{kind}.mean"], deviation=of[f"standardise.{kind}.deviation"]
    ).apply(features)
    for head in CONFIG.feature_heads:
        weight, bias = (of[f"features.{head}.{kind}.{part}"] for part in ("weight", "bias"))
        terms = np.tanh(scaled[:, columns_of(head, columns)] @ weight.T + bias)
        wanted = of[f"features.{head}.query.{task}.weight"] @ query.vector
        scores += terms @ (wanted + of[f"features.{head}.query.{task}.bias"])
    evidence = of[f"evidence.{task}.base"] + of[f"evidence.{task}.by_stats"] @ query.stats
    scores += query.evidence @ evidence + of[f"bias.{task}"]
    return scores
