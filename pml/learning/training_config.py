"""How SHGAT is trained, and what is told meanwhile; without torch, so that all may read it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from pml.models.inputs import RankingTask


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
        least_one = ("epochs", "patience", "batch", "sampled_candidates")
        not_negative = ("weight_decay", "failures", "binary", "hard_candidates")
        ranges = {
            **{name: getattr(self, name) >= 1 for name in least_one},
            **{name: getattr(self, name) >= 0 for name in not_negative},
            **{name: getattr(self, name) > 0 for name in ("learning_rate", "scalar_rate", "clip")},
            **{name: 0 <= getattr(self, name) < 1 for name in ("warm_up", "id_dropout")},
            "task_weights": all(weight >= 0 for _, weight in self.task_weights),
        }
        wrong = [name for name, fine in ranges.items() if not fine]
        if wrong:
            told = ", ".join(f"{name}={getattr(self, name)}" for name in wrong)
            msg = f"out of range: {told}"
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
