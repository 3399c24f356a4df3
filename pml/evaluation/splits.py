"""Which workflows teach and which are asked about; the same for all tasks.

Samples are drawn by row number with fixed seeds, so that a set gives the same problems each time.
"""

from collections.abc import Sequence
from typing import TypeVar

import polars as pl

from pml.evaluation.dataset import Dataset

MOST_ASKED = 1_500
"""Workflows asked about in one problem: an interval gets no narrower that anybody would notice."""

T = TypeVar("T")


def held_out(dataset: Dataset) -> tuple[str, ...]:
    """``dev`` and the splits whose names begin with ``test``, as they come in the file."""
    names = dict.fromkeys(workflow.split for workflow in dataset.workflows)
    return tuple(name for name in names if name == "dev" or name.startswith("test"))


def sampled(items: Sequence[T], *, most: int = MOST_ASKED) -> tuple[T, ...]:
    """All of them, or ``most`` drawn without replacement, where there are more."""
    if len(items) <= most:
        return tuple(items)
    rows = pl.DataFrame({"row": range(len(items))}).sample(most, seed=0)
    return tuple(items[row] for row in rows["row"])


def shuffled(items: Sequence[T]) -> tuple[T, ...]:
    """All of them in a random order, the same each time."""
    rows = pl.DataFrame({"row": range(len(items))}).sample(fraction=1.0, shuffle=True, seed=1)
    return tuple(items[row] for row in rows["row"])
