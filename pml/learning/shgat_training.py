"""Training SHGAT on cross-fitted traces, calibrating it, and deciding whether it may serve (LE-5).

Of the folds the last judges and the last but one says when to stop and how scores become chances;
the model learns from all others.  What it has to beat is the best simple method on all but the
last (`pml.learning.fallbacks`); requests for new servers, where any are to be expected, count for
both (`pml.learning.cold_start`).  So the gate's verdict is about queries that had no part in
training, stopping or calibration, on a view that does not know them.

Same seed, same data, same machine and libraries: same bits.  All chance comes from the
configuration's seed, and torch is held to deterministic algorithms meanwhile.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import torch

from pml.learning.calibration import Calibration, CalibrationReport
from pml.learning.cold_start import ColdCases, verdict_on
from pml.learning.fallbacks import best_fallbacks
from pml.learning.fitting import fit, refit
from pml.learning.folds import TrainingFold, View
from pml.learning.gate import Compared
from pml.learning.held_back import calibrated, compared, held_back, report
from pml.learning.prepared import PreparedFold
from pml.learning.trained import Trained
from pml.learning.training_config import Epoch, TrainingConfig
from pml.models.config import ShgatConfig
from pml.models.inputs import RankingTask
from pml.models.shgat import Shgat
from pml.models.start import Start
from pml.models.trained_ids import TrainedIds
from pml.models.wiring import Library

LEAST_FOLDS = 3
"""To learn from, to stop by, to judge by."""


def train(
    folds: Sequence[TrainingFold],
    full: View,
    model: ShgatConfig,
    config: TrainingConfig,
    *,
    start: Start | None = None,
    known_errors: Mapping[str, float] | None = None,
    cold: Mapping[RankingTask, ColdCases] | None = None,
    on_epoch: Callable[[Epoch], None] = lambda _: None,
    library: Library = "torch",
) -> Trained:
    """Train a model; with fewer than `LEAST_FOLDS` folds it stays as it starts, and nothing passes.

    Args:
        folds: Examples, each fold on a view built without it (`pml.learning.folds`).
        full: What is known now; its nodes get id embeddings, its features are standardised by.
        model: Sizes.
        config: How to train.
        start: Values before training.
        known_errors: Of traces, from an earlier training (LE-3).
        cold: How models did that were trained the same way without some servers, where servers
            are new (`pml.learning.cold_start`).
        on_epoch: Told of each epoch; what it raises ends the training and goes through.
        library: What computes attention.

    Raises:
        ValueError: sizes do not fit the model, or a value is not finite.
    """
    lost = cold or {}
    with _deterministic():
        made = _fresh(full, model, config, start, library)
        if len(folds) < LEAST_FOLDS:
            return _untrained(made, full, known_errors or {}, best_fallbacks(folds, lost))
        *learned_from, stopping, judging = folds
        how = fit(
            made, learned_from, stopping, config, known_errors=known_errors, on_epoch=on_epoch
        )
        calibrations = _calibrate(made, stopping, config)
        fallbacks = {**_first(judging), **best_fallbacks(folds[:-1], lost)}
        against, reports = _compare(made, judging, calibrations, fallbacks, config=config)
        found = Trained(
            model=made.eval(),
            graph=full.graph,
            trained=made.trained,
            history=how.history,
            best_epoch=how.best_epoch,
            calibrations=calibrations,
            reports=reports,
            compared=against,
            verdicts={
                task: verdict_on(
                    one, seed=config.seed, cold=lost.get(task), fallback=fallbacks[task]
                )
                for task, one in against.items()
            },
            fallbacks=fallbacks,
            errors=how.errors,
        )
    if not config.refit:
        return found
    return refitted(found, folds, full, config, start=start, library=library)


def refitted(
    found: Trained,
    folds: Sequence[TrainingFold],
    full: View,
    config: TrainingConfig,
    *,
    start: Start | None = None,
    library: Library = "torch",
) -> Trained:
    """Trained again on all folds, for as many epochs as were best; all else stays as it was found.

    Args:
        found: By `train`, with as many folds as it needs.
        folds: At least two; what stopped and judged is learned from, too.
        full: What is known now.
        config: How to train.
        start: Values before training.
        library: What computes attention.
    """
    with _deterministic():
        made = _fresh(full, found.model.config, config, start, library)
        refit(made, folds, config, epochs=found.best_epoch)
        _set_calibration(made, found.calibrations)
        return replace(found, model=made.eval())


def _fresh(
    full: View, model: ShgatConfig, config: TrainingConfig, start: Start | None, library: Library
) -> Shgat:
    """As it is before training."""
    made = Shgat(
        model,
        TrainedIds.of(full.graph),
        generator=torch.Generator().manual_seed(config.seed),
        start=start,
        library=library,
    )
    made.standardise_by(full.inputs)
    return made


def _untrained(
    model: Shgat, full: View, errors: Mapping[str, float], fallbacks: Mapping[RankingTask, str]
) -> Trained:
    return Trained(
        model=model.eval(),
        graph=full.graph,
        trained=model.trained,
        history=(),
        best_epoch=0,
        calibrations={task: Calibration() for task in model.config.tasks},
        reports={},
        compared={},
        verdicts={},
        fallbacks=fallbacks,
        errors=errors,
    )


def _first(fold: TrainingFold) -> dict[RankingTask, str]:
    """The first fallback of each task."""
    return {task: next(iter(examples.fallbacks)) for task, examples in fold.tasks.items()}


def _calibrate(
    model: Shgat, stopping: TrainingFold, config: TrainingConfig
) -> dict[RankingTask, Calibration]:
    """Fit on the stopping fold and set in the model; the identity where that has no examples."""
    fold = PreparedFold(model, stopping)
    scores = held_back(model, fold, config).scores
    fitted = {task: calibrated(examples, scores[task]) for task, examples in fold.tasks.items()}
    found = {task: fitted.get(task, Calibration()) for task in model.config.tasks}
    _set_calibration(model, found)
    return found


def _compare(
    model: Shgat,
    judging: TrainingFold,
    calibrations: Mapping[RankingTask, Calibration],
    fallbacks: Mapping[RankingTask, str],
    *,
    config: TrainingConfig,
) -> tuple[dict[RankingTask, Compared], dict[RankingTask, CalibrationReport]]:
    fold = PreparedFold(model, judging)
    scores = held_back(model, fold, config).scores
    against = {
        task: compared(examples, scores[task], fallback=fallbacks[task])
        for task, examples in fold.tasks.items()
    }
    reports = {
        task: report(examples, scores[task], calibrations[task])
        for task, examples in fold.tasks.items()
    }
    return against, reports


def _set_calibration(model: Shgat, calibrations: Mapping[RankingTask, Calibration]) -> None:
    for task, found in calibrations.items():
        values = torch.tensor(found.numbers)
        model.calibration.get_buffer(task.value).copy_(values)


@contextmanager
def _deterministic() -> Iterator[None]:
    """Torch takes deterministic algorithms until the end; afterwards what it took before."""
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)
