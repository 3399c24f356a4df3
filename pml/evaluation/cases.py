"""Which workflows are learned from and which are asked about."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int64

from pml.evaluation.dataset import TRAIN, Dataset, Workflow


def asked(dataset: Dataset) -> tuple[Workflow, ...]:
    """The workflows of the splits whose name begins with ``test``.

    All of them where the set has no split for training: nothing could be learned from them.
    """
    tested = tuple(one for one in dataset.workflows if one.split.startswith("test"))
    if tested or dataset.split(TRAIN):
        return tested
    return dataset.workflows


def groups(workflows: Sequence[Workflow]) -> Int64[np.ndarray, " cases"]:
    """Workflows that asked for the same main tool are one group; others are alone."""
    keys = [one.main_tool if one.main_tool is not None else ("alone", one.id) for one in workflows]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return np.array([numbers[key] for key in keys], np.int64)
