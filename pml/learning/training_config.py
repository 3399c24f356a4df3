"""How SHGAT is trained, and what is told meanwhile; without torch, so that all may read it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import inf

from pml.models.inputs import RankingTask

_LEAST_ONE = ("epochs", "patience", "batch", "sampled_candidates")
_NOT_NEGATIVE = ("seed", "weight_decay", "failures", "binary", "hard_candidates")


class Draws(StrEnum):
    """Which traces a batch is made of."""

    UNIFORM = "uniform"
    """Each once per epoch, in random order."""
    PRIORITISED = "prioritised"
    """By the error of their last prediction, with importance weights (LE-3)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingConfig:
    """How to train.

    Raises:
        ValueError: a value is out of its range.
    """

    seed: int = 0
    """Of first values, draws and dropout: equal seeds give equal bits on one machine."""
    epochs: int = 30
    """At most: training stops where held-back examples say so."""
    patience: int = 4
    """Epochs without a smaller held-back loss after which training stops; the best epoch's
    parameters are kept."""
    batch: int = 64
    """Traces per step; all examples of a trace are in its batch."""
    learning_rate: float = 3e-3
    """The largest: it rises over the first ``warm_up`` of the steps, then falls as a cosine."""
    scalar_rate: float = 10.0
    """How much faster what is no matrix learns: biases, gates, weights of evidence.  A step of
    AdamW is as large for each number as the rate, and these few have farther to go."""
    warm_up: float = 0.05
    """Share of all steps."""
    weight_decay: float = 1e-2
    """Decoupled (AdamW), of matrices only: shrinking a bias or a gate says nothing."""
    id_dropout: float = 0.2
    """Chance that a node's id embedding is missing in a step, so that the rest of the model can
    score nodes that have none."""
    clip: float = 1.0
    """Largest norm of a step's gradient."""
    failures: float = 1.0
    """Weight of the loss of failed choices beside that of what served."""
    binary: float = 0.1
    """Weight of the log loss of each candidate by itself, which ties scores of different queries to
    one scale, so that one calibration fits all."""
    draws: Draws = Draws.UNIFORM
    """Prioritised ones were level with uniform ones in experiment 006."""
    hard_candidates: int = 16
    """Candidates per query, by evidence, that are in the loss for sure where candidates are
    sampled."""
    sampled_candidates: int = 4096
    """Random candidates per batch; up to as many, all are in the loss and none is sampled."""
    task_weights: tuple[tuple[RankingTask, float], ...] = ()
    """Weight of a task's loss where it is not 1."""
    refit: bool = False
    """Train again on all folds, for as many epochs as were best, after calibration and gate."""

    def __post_init__(self) -> None:
        ranges: Mapping[str, tuple[tuple[str, ...], Callable[[float], bool]]] = {
            "1 or more": (_LEAST_ONE, lambda x: x >= 1),
            "0 or more": (_NOT_NEGATIVE, lambda x: x >= 0),
            "a number above 0": (("learning_rate", "scalar_rate", "clip"), lambda x: 0 < x < inf),
            "0 or more, and less than 1": (("warm_up", "id_dropout"), lambda x: 0 <= x < 1),
        }
        for expected, (names, holds) in ranges.items():
            for name in names:
                if not holds(getattr(self, name)):
                    msg = f"out of range: {name}={getattr(self, name)}, expected {expected}"
                    raise ValueError(msg)
        if not all(weight >= 0 for _, weight in self.task_weights):
            msg = f"out of range: task_weights={self.task_weights}, expected 0 or more"
            raise ValueError(msg)

    def weight_of(self, task: RankingTask) -> float:
        """Of the task's loss."""
        return dict(self.task_weights).get(task, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Epoch:
    """What is told after each pass."""

    number: int
    """From 1."""
    loss: float
    """Mean over the steps."""
    held_back_loss: float
    """Of the stopping fold, weighted as in training, without importance weights."""
    held_back_ndcg: Mapping[RankingTask, float]
    """nDCG@10 on the stopping fold; a task without examples there is left out."""
    examples: int
    """Seen in this pass, over all tasks."""
