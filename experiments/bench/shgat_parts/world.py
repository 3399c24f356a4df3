"""A catalogue of any size, with vectors, features, a model and queries, all drawn."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pml.features.columns import CAPABILITY_COLUMNS, TOOL_COLUMNS
from pml.features.members import Members
from pml.models.config import ShgatConfig
from pml.models.exported import ExportedShgat
from pml.models.hypergraph import Hypergraph, hypergraph
from pml.models.inputs import NodeInputs, RankingTask
from pml.models.scorer import Query
from tests.models.exports import exported

DIM = 1024
EVIDENCE = ("lexical", "vector", "past", "fused", "popular")
CONFIG = ShgatConfig(
    dim=DIM,
    evidence=((RankingTask.TOOLS, EVIDENCE), (RankingTask.CAPABILITIES, EVIDENCE)),
    stats=("nearest", "second", "length"),
)
FOUND = 100
"""Candidates that retrievers say something of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A catalogue, drawn."""

    graph: Hypergraph
    inputs: NodeInputs
    model: ExportedShgat


def drawn(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """In single precision from the start: a million vectors are 4 GB."""
    return rng.standard_normal(shape, dtype=np.float32)


def unit(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Vectors of length 1, as encoders give."""
    vectors = drawn(rng, *shape)
    vectors /= np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors


def members_of(rng: np.random.Generator, key: str, tools: int) -> Members:
    """Of two to eight tools, the first ones more often."""
    places = (tools * rng.random(rng.integers(2, 9)) ** 2).astype(int)
    return Members(id=key, tools=tuple({f"t{place}" for place in places.tolist()}))


def nested_of(rng: np.random.Generator, key: str, tools: int, capabilities: int) -> Members:
    """Of two to five capabilities of level 1, and a tool."""
    inner = {f"c{place}" for place in rng.integers(capabilities, size=rng.integers(2, 6)).tolist()}
    return Members(id=key, tools=(f"t{rng.integers(tools)}",), capabilities=tuple(inner))


def world(tools: int, seed: int = 0) -> World:
    """A tenth as many capabilities as tools, and a tenth of those of level 2."""
    rng = np.random.default_rng(seed)
    capabilities, nested = tools // 10, tools // 100
    members = [members_of(rng, f"c{at}", tools) for at in range(capabilities)]
    members += [nested_of(rng, f"n{at}", tools, capabilities) for at in range(nested)]
    graph = hypergraph([f"t{at}" for at in range(tools)], members)
    inputs = NodeInputs(
        vectors=unit(rng, graph.nodes, DIM),
        tool_features=drawn(rng, tools, len(TOOL_COLUMNS)),
        capability_features=drawn(rng, capabilities + nested, len(CAPABILITY_COLUMNS)),
    )
    return World(graph=graph, inputs=inputs, model=exported(CONFIG, graph))


def queries(rng: np.random.Generator, candidates: int, count: int) -> Iterator[Query]:
    """With evidence for `FOUND` candidates."""
    for _ in range(count):
        evidence = np.zeros((candidates, len(EVIDENCE)), np.float32)
        found = rng.integers(candidates, size=FOUND)
        evidence[found] = rng.random((FOUND, len(EVIDENCE)), dtype=np.float32)
        stats = rng.random(len(CONFIG.stats), dtype=np.float32)
        yield Query(vector=unit(rng, DIM), evidence=evidence, stats=stats)
