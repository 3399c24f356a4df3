"""Does the verdict hang on who was dealt into the judging fold?

Six deals of the training requests of errands: what the last fold alone says of each task, and what
all folds say in turn.  Requests for lost servers are left out here.

Run:  .venv/bin/python experiments/011-shgat/deals.py
"""

import tempfile
from pathlib import Path

from pml.learning.gate import GateVerdict
from pml.models.inputs import RankingTask
from pml.workspace.importing import checked
from pml.workspace.learning import prepared, with_seed
from pml.workspace.parameters import read_parameters
from pml.workspace.training import trained_and_judged, trained_on

DEALS = 6


def shown(verdict: GateVerdict) -> str:
    """In a few columns."""
    said = "on " if verdict.passes else "off"
    figures = f"{verdict.model:.3f}  {verdict.fallback:.3f}  {verdict.p:.4f}"
    return f"{verdict.intents:3d}  {figures}  {said}"


def main() -> None:
    """Print a row for each deal and task."""
    imported = checked(Path("data/errands"))
    print("deal  task          one fold: n, model, simple, p     all folds in turn")
    for seed in range(DEALS):
        parameters = with_seed(read_parameters(Path("params.yaml")), seed)
        with tempfile.TemporaryDirectory() as made:
            ready = prepared(imported, parameters, Path(made) / "encoder")
        once = trained_on(ready.folds, ready.full, parameters).verdicts
        turns = trained_and_judged(ready.folds, ready.full, parameters).verdicts
        for task in RankingTask:
            print(f"{seed}     {task:12s}  {shown(once[task])}  {shown(turns[task])}", flush=True)


if __name__ == "__main__":
    main()
