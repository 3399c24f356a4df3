"""Which pairs attend in which step: the hypergraph, cut by level, up and then down.

Every step is an `Aggregation` over the pairs of one level, made once per graph and used in every
pass.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from pml.errors import ConfigError
from pml.models.attention import Aggregation, PairAttention, Pairs, TorchAggregation
from pml.models.hypergraph import Hypergraph

Library = Literal["torch", "dgl"]
"""What computes attention; both compute the same."""

_SOURCE = "library of attention"
_LAST_PYTHON_OF_DGL = (3, 11)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Wiring:
    """Aggregations of one graph, on one device."""

    sizes: list[int]
    """Of the levels."""
    up: tuple[Aggregation, ...]
    """Into level 1, 2..., each from all levels below it."""
    down: tuple[Aggregation, ...]
    """Into level 0, 1..., each from all levels above it; the highest level has none."""


def fastest_library() -> Library:
    """The dgl library where it is installed and works, else torch."""
    works = sys.version_info[:2] <= _LAST_PYTHON_OF_DGL and find_spec("dgl") is not None
    return "dgl" if works else "torch"


def wiring(graph: Hypergraph, library: Library, device: torch.device) -> Wiring:
    """Of a graph.

    Raises:
        ConfigError: dgl is asked for and cannot be imported, or the device is not the CPU.
    """
    if library == "dgl" and device.type != "cpu":
        msg = f"dgl computes on the CPU, and the model is on {device}: choose torch"
        raise ConfigError(_SOURCE, msg)
    make, starts = aggregations_of(library), graph.starts
    # By member, then container, so that the members of a level are a stretch as well.
    order = np.lexsort((graph.containers, graph.members))
    upward = (graph.members, graph.containers)
    downward = (graph.containers[order], graph.members[order])
    steps = range(len(graph.levels) - 1)
    up = [_cut(*upward, (0, starts[n + 1]), starts[n + 1 : n + 3], device) for n in steps]
    above = [(starts[n + 1], graph.nodes) for n in steps]
    down = [_cut(*downward, above[n], starts[n : n + 2], device) for n in steps]
    return Wiring(
        sizes=[len(level) for level in graph.levels],
        up=tuple(map(make, up)),
        down=tuple(map(make, down)),
    )


def aggregations_of(library: Library) -> Callable[[Pairs], Aggregation]:
    """Maker of aggregations.

    Raises:
        ConfigError: dgl is asked for and cannot be imported.
    """
    if library == "torch":
        return TorchAggregation
    try:
        from pml.models.dgl_attention import DglAggregation  # noqa: PLC0415  (dgl is optional)
    except ImportError as problem:
        msg = (
            f"dgl cannot be imported ({problem}): install pml[research] on Python 3.11, or choose "
            "torch, which computes the same"
        )
        raise ConfigError(_SOURCE, msg) from problem
    return DglAggregation


def passed(
    states: Float[Tensor, "nodes width"], wiring: Wiring, up: PairAttention, down: PairAttention
) -> Float[Tensor, "nodes width"]:
    """States after one pass up and down."""
    # In lists by level, not in one tensor that is written to: autograd keeps what it has read.
    levels = list(torch.split(states, wiring.sizes))
    below: list[Tensor] = []
    for level, aggregate in enumerate(wiring.up, start=1):
        below.append(up.values(levels[level - 1]))
        levels[level] = up(torch.cat(below), levels[level], aggregate)
    above: list[Tensor] = []
    for level in reversed(range(len(wiring.down))):
        above.insert(0, down.values(levels[level + 1]))
        levels[level] = down(torch.cat(above), levels[level], wiring.down[level])
    return torch.cat(levels)


def _cut(
    sources: Int64[np.ndarray, " pairs"],
    targets: Int64[np.ndarray, " pairs"],
    from_nodes: tuple[int, ...],
    to_nodes: tuple[int, ...],
    device: torch.device,
) -> Pairs:
    """Pairs whose target is in the range ``to_nodes``, numbered from the starts of the ranges."""
    stretch = slice(*np.searchsorted(targets, to_nodes).tolist())
    return Pairs(
        sources=torch.from_numpy(sources[stretch] - from_nodes[0]).to(device),
        targets=torch.from_numpy(targets[stretch] - to_nodes[0]).to(device),
        n_sources=from_nodes[1] - from_nodes[0],
        n_targets=to_nodes[1] - to_nodes[0],
    )
