"""Tells a tracking server of a training or an evaluation, so that it can be repeated (RW-3)."""

import hashlib
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pml.domain.evaluation import Evaluation
from pml.domain.record import encode
from pml.errors import NotFoundError
from pml.evaluation.page import page
from pml.tracking.mlflow_registry import Registry, Version
from pml.tracking.mlflow_runs import TrackedRun, Tracking, open_tracking
from pml.tracking.tracked import DataFacts, RunFacts, data_hash
from pml.workspace.curves import curves_svg
from pml.workspace.evaluating import headline_metrics, plots
from pml.workspace.layout import MODEL_NAME

if TYPE_CHECKING:  # torch takes seconds
    from pml.learning.trained import Trained

_MODEL = "model.sha256"


def tracking(folder: Path) -> Tracking:
    """The server that `MLFLOW_TRACKING_URI` names, else the store in ``folder``.

    Raises:
        StoreError: it cannot be had.
    """
    uri = os.environ.get("MLFLOW_TRACKING_URI") or None
    return open_tracking(folder, lambda: time.time_ns() // 1_000_000, uri=uri)


def tell_training(run: TrackedRun, trained: "Trained") -> None:
    """Metrics per epoch, figures of the gate, and the curves."""
    for epoch in trained.history:
        run.metrics(
            {
                "loss": epoch.loss,
                "held_back_loss": epoch.held_back_loss,
                **{f"held_back.{task}": value for task, value in epoch.held_back_ndcg.items()},
            },
            step=epoch.number,
        )
    run.metrics(trained.figures)
    run.files({"plots/curves.svg": curves_svg(trained.history).encode()})


def tell_evaluation(run: TrackedRun, report: Evaluation) -> None:
    """Headline metrics of all methods, the report and its plots."""
    run.metrics({_allowed(name): value for name, value in headline_metrics(report).items()})
    drawn = {f"plots/{name}": content for name, content in plots(report).items()}
    files: Mapping[str, bytes] = {
        "report.json": encode(report) + b"\n",
        "report.html": page(report).encode(),
        **drawn,
    }
    run.files(files)


def tell_sets(where: Tracking, report: Evaluation, folders: Sequence[Path]) -> Iterator[str]:
    """A run for each data set of a report, with its own problems; gives the runs' ids."""
    paths = {folder.resolve().name: str(folder) for folder in folders}
    for found in report.datasets:
        files = {each.name: each.sha256 for each in found.files}
        data = DataFacts(name=found.name, path=paths[found.name], hash=data_hash(files))
        own = tuple(each for each in report.problems if each.dataset == found.name)
        facts = RunFacts(
            name=f"evaluate {found.name}", kind="evaluation", data=data, seed=report.seed
        )
        with where.run(facts) as run:
            tell_evaluation(run, replace(report, datasets=(found,), problems=own))
        yield run.id


def tell_model(run: TrackedRun, model: bytes) -> None:
    """That a run made this model, so that it is found again."""
    run.tags({_MODEL: hashlib.sha256(model).hexdigest()})


def run_of(where: Tracking, model: bytes) -> str:
    """Id of the run that made a model, the latest where several made the same.

    Raises:
        NotFoundError: this store knows none, as where DVC took the model from its cache.
    """
    digest = hashlib.sha256(model).hexdigest()
    found = where.latest(_MODEL, digest)
    if found is None:
        raise NotFoundError("training-run", digest[:12], "`dvc repro --force train` makes it")
    return found


def register(where: Tracking, run_id: str, package: bytes) -> Version:
    """Register a package; it becomes champion if it beats the fallback."""
    registry = Registry(where, MODEL_NAME)
    made = registry.register(run_id, package, requirements())
    return registry.promote(made.number) if made.beats_fallback else made


def requirements() -> tuple[str, ...]:
    """What has to be installed to use a package of this PML."""
    return (f"pml=={version('pml')}",)


def _allowed(name: str) -> str:
    """As MLflow takes names of metrics."""
    return "".join(each if each.isalnum() or each in "_-./ " else "_" for each in name)
