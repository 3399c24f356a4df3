"""Tuples of arrays that grow: all along an axis together, by the axis names in their types."""

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np

from pml.pathfinding.heap import Heap
from pml.pathfinding.kernel import FAR
from pml.pathfinding.search import Search
from pml.pathfinding.stars import Stars
from pml.pathfinding.tree import Tree

T = TypeVar("T", bound=NamedTuple)

_BLANK: Mapping[type, Mapping[str, float]] = {
    Stars: dict.fromkeys(("head", "in_first", "out_first"), -1),
    Heap: {"place": -1},
    Search: {"only": -1},
    Tree: {
        **dict.fromkeys(("cost", "best_cost", "edge_cost"), np.inf),
        **dict.fromkeys(("depth", "best_depth", "edge_depth"), FAR),
    },
}
"""What stands where nothing was written, if it is not 0."""


def blank(kind: type[T], sizes: Mapping[str, int]) -> T:
    """A tuple of blank arrays.

    Args:
        kind: `Stars`, `Search`, `Tree` or `Heap`.
        sizes: by axis.
    """
    return kind(*(_blank(kind, name, shape, sizes) for name, shape in kind.__annotations__.items()))


def grown(record: T, sizes: Mapping[str, int]) -> T:
    """The same values in arrays of other sizes, at least as large."""
    larger = blank(type(record), sizes)
    for old, new in zip(record, larger, strict=True):
        if isinstance(old, Heap):
            for inner, outer in zip(old, new, strict=True):
                outer[: inner.size] = inner
        else:
            new[: old.size] = old
    return larger


def _blank(kind: type, name: str, shape: Any, sizes: Mapping[str, int]) -> Any:  # noqa: ANN401
    if shape is Heap:
        return blank(Heap, sizes)
    size = 1 if shape.dim_str == "one" else sizes[shape.dim_str]
    return np.full(size, _BLANK[kind].get(name, 0), dtype=shape.dtypes[0])
