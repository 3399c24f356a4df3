"""Are chances truer when they know how far behind the rivals are?

Each of five folds judges once, what the fold before it calibrates; the others are learned from.
Beside the shipped calibration stands Platt's, which sees the score alone.

Run:  .venv/bin/python experiments/011-shgat/chances.py [FOLDER]
"""

import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from pml.learning.calibration import CalibrationReport, fitted
from pml.learning.held_back import cases, held_back, report
from pml.learning.prepared import PreparedFold
from pml.learning.training_config import TrainingConfig
from pml.workspace.importing import checked
from pml.workspace.learning import Prepared, prepared
from pml.workspace.parameters import Parameters, read_parameters
from pml.workspace.training import trained_on

Row = tuple[str, str, CalibrationReport]


def rows(ready: Prepared, parameters: Parameters, turn: int) -> Iterator[Row]:
    """Task, calibration and how true it is, where the folds are turned so far."""
    folds = [*ready.folds[turn:], *ready.folds[:turn]]
    model = trained_on(folds, ready.full, parameters).model
    calibrates, judges = (PreparedFold(model, fold) for fold in folds[-2:])
    of_calibrates, of_judges = (
        held_back(model, fold, TrainingConfig()).scores for fold in (calibrates, judges)
    )
    for task, examples in judges.tasks.items():
        known = cases(calibrates.tasks[task], of_calibrates[task])
        alone = replace(known, log_partitions=np.zeros_like(known.scores))
        for name, calibration in (("shipped", fitted(known)), ("Platt", fitted(alone))):
            yield task, name, report(examples, of_judges[task], calibration)


def main() -> None:
    """Print means over the folds."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "data/errands")
    parameters = read_parameters(Path("params.yaml")).with_values({"train.refit": False})
    found = defaultdict(list)
    with TemporaryDirectory() as made:
        ready = prepared(checked(folder), parameters, Path(made) / "encoder")
        for turn in range(len(ready.folds)):
            for task, name, told in rows(ready, parameters, turn):
                found[task, name].append((told.top_error, told.log_loss, told.brier))
    print("task | calibration | error of the best one's chance | log loss | Brier")
    for (task, name), values in found.items():
        error, loss, square = np.mean(values, axis=0)
        print(f"{task} | {name} | {error:.3f} | {loss:.4f} | {square:.4f}")


if __name__ == "__main__":
    main()
