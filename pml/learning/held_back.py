"""How a model does on a fold that it was not trained on."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float32, Float64, Int64

from pml.learning.calibration import (
    Calibration,
    CalibrationReport,
    Cases,
    brier,
    calibration_error,
    fitted,
    log_loss,
)
from pml.learning.cold_start import ColdCases, merged
from pml.learning.contrastive import LossWeights, losses
from pml.learning.folds import TaskExamples, TrainingFold, in_blocks
from pml.learning.gate import Compared, ndcg
from pml.learning.prepared import PreparedFold, marks_of
from pml.learning.sampling import Candidates
from pml.learning.training_config import TrainingConfig
from pml.models.inputs import Queries, RankingTask
from pml.models.log_partition import log_partition
from pml.models.shgat import Shgat

Scores = Float32[np.ndarray, "queries candidates"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeldBack:
    """A model's scores on a fold, before calibration, and the loss in them."""

    loss: float
    scores: Mapping[RankingTask, Scores]
    """All rows of the task's queries, all candidates."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tried:
    """A model that was trained without some servers, and requests for these."""

    model: Shgat
    asked: TrainingFold
    """On a view of what is left."""
    needing: Mapping[str, str]
    """By source of what is asked, a lost server that it needs."""


@torch.no_grad()
def held_back(model: Shgat, fold: PreparedFold, config: TrainingConfig) -> HeldBack:
    """Score all candidates of all queries; nothing is dropped, nothing sampled."""
    states = model.states(fold.view)
    found: dict[RankingTask, Scores] = {}
    total = 0.0
    for task, examples in fold.tasks.items():

        def of(queries: Queries, task: RankingTask = task) -> Scores:
            scores: Scores = fold.scores(model, task, states, queries).numpy()
            return scores

        found[task] = in_blocks(examples, of)
        total += config.weight_of(task) * _loss(examples, found[task], config)
    return HeldBack(loss=total, scores=found)


def ndcg_by_task(
    fold: PreparedFold, scores: Mapping[RankingTask, Scores]
) -> dict[RankingTask, float]:
    """Means over the queries with a known answer; a task without any is left out."""
    each = {
        task: ndcg(scores[task], examples.targets.positives)
        for task, examples in fold.tasks.items()
    }
    return {
        task: float(np.nanmean(values))
        for task, values in each.items()
        if not np.isnan(values).all()
    }


def calibrated(examples: TaskExamples, scores: Scores) -> Calibration:
    """Fitted to all candidates of the queries (`cases`)."""
    return fitted(cases(examples, scores))


def report(examples: TaskExamples, scores: Scores, calibration: Calibration) -> CalibrationReport:
    """How true the chances are."""
    truth = cases(examples, scores)
    chances = calibration.chances(truth.scores, truth.log_partitions)
    return CalibrationReport(
        log_loss=log_loss(chances, truth.positive, truth.weights),
        brier=brier(chances, truth.positive, truth.weights),
        top_error=_top_error(examples, scores, calibration),
    )


def _top_error(examples: TaskExamples, scores: Scores, calibration: Calibration) -> float:
    """Of the best candidate's chance, over the queries that something served."""
    if not scores.shape[1]:
        return 0.0
    known = np.flatnonzero(examples.targets.served)
    asked = scores[known].astype(np.float64)
    hit = [
        place in examples.targets.positives[row].tolist()
        for row, place in zip(known.tolist(), asked.argmax(axis=1).tolist(), strict=True)
    ]
    top = calibration.chances(asked.max(axis=1), log_partition(asked))
    return calibration_error(top, np.array(hit, dtype=bool))


def compared(examples: TaskExamples, scores: Scores, *, fallback: str) -> Compared:
    """Model and the fallback of this name."""
    targets = examples.targets
    return Compared(
        model=ndcg(scores, targets.positives),
        fallback=ndcg(in_blocks(examples, examples.fallbacks[fallback]), targets.positives),
        groups=targets.groups,
    )


def cold_cases(
    tried: Iterable[Tried], config: TrainingConfig, *, share: float
) -> dict[RankingTask, ColdCases]:
    """How models do that were trained without the servers that they are asked for.

    Args:
        tried: One for each part of the servers.
        config: How they were trained.
        share: Of all requests to come, how many are expected to be such.
    """
    found: defaultdict[RankingTask, list[ColdCases]] = defaultdict(list)
    for one in tried:
        fold = PreparedFold(one.model, one.asked)
        scores = held_back(one.model, fold, config).scores
        number = {server: at for at, server in enumerate(sorted(set(one.needing.values())))}
        for task, examples in fold.tasks.items():
            servers = [number[one.needing[source]] for source in examples.targets.sources]
            cases = _cold_cases(examples, scores[task], np.array(servers, np.int64), share)
            found[task].append(cases)
    return {task: merged(cases) for task, cases in found.items()}


def _cold_cases(
    examples: TaskExamples, scores: Scores, servers: Int64[np.ndarray, " queries"], share: float
) -> ColdCases:
    positives = examples.targets.positives
    return ColdCases(
        model=ndcg(scores, positives),
        fallbacks={
            name: ndcg(in_blocks(examples, of), positives)
            for name, of in examples.fallbacks.items()
        },
        groups=examples.targets.groups,
        servers=servers,
        share=share,
    )


def _loss(examples: TaskExamples, scores: Scores, config: TrainingConfig) -> float:
    """Weighted mean over the examples with a known answer."""
    targets, weights = examples.targets, examples.targets.weights.astype(np.float64)
    known = [
        len(served) + len(failed) > 0
        for served, failed in zip(targets.positives, targets.failed, strict=True)
    ]
    counted = weights * known
    if not counted.sum():
        return 0.0
    count = scores.shape[1]
    everything = Candidates(places=np.arange(count), log_q=np.zeros(count, np.float32))
    of_loss = LossWeights(failures=config.failures, binary=config.binary)
    marks = marks_of(targets, np.arange(len(targets)), everything)
    each = losses(torch.from_numpy(scores), marks, torch.zeros(count), of_loss).double().numpy()
    return float(counted @ each / counted.sum())


def cases(examples: TaskExamples, scores: Scores) -> Cases:
    """All candidates of a query that something served, else those that failed.

    Where what served is no candidate, none of them serves: left out, such queries would make
    chances too high wherever much of what is asked is new.
    """
    targets = examples.targets
    positive, counted = np.zeros(scores.shape, dtype=bool), np.zeros(scores.shape, dtype=bool)
    for row, (served, failed) in enumerate(zip(targets.positives, targets.failed, strict=True)):
        positive[row, served] = True
        counted[row, failed] = True
        counted[row] |= targets.served[row]
    precise = scores.astype(np.float64)

    def of_query(values: np.ndarray) -> Float64[np.ndarray, " cases"]:
        return np.broadcast_to(values[:, None], scores.shape)[counted].astype(np.float64)

    return Cases(
        scores=precise[counted],
        log_partitions=of_query(log_partition(precise)),
        positive=positive[counted],
        weights=of_query(targets.weights),
    )
