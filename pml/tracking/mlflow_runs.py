"""Runs in MLflow: parameters, metrics per epoch, plots, files, and the data that they are of.

Only `pml.tracking.mlflow_*` import mlflow (3 s), and only its client: the client has no global
state, so several stores can be open at once.  Without a server, runs lie in a SQLite file beside
the folder of their files; `MLFLOW_TRACKING_URI` names a server instead.
"""

import logging
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mlflow import MlflowClient
from mlflow.entities import Dataset, DatasetInput, Metric, Param, RunTag
from mlflow.exceptions import MlflowException
from mlflow.utils.mlflow_tags import MLFLOW_PARENT_RUN_ID
from sqlalchemy.exc import SQLAlchemyError

from pml.errors import StoreError
from pml.tracking.tracked import RunFacts

EXPERIMENT = "pml"
logging.getLogger("mlflow").setLevel(logging.WARNING)  # it tells of every table that it makes
_DIGEST_CHARS = 36  # what MLflow keeps of a data set's digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Tracking:
    """An open store of runs."""

    client: MlflowClient
    uri: str
    experiment_id: str
    clock_ms: Callable[[], int]

    @contextmanager
    def run(self, facts: RunFacts) -> Iterator["TrackedRun"]:
        """A run that ends with the block: finished, or failed where it raised."""
        tags = {"kind": facts.kind, "data.hash": facts.data.hash, "seed": str(facts.seed)}
        if facts.parent is not None:
            tags[MLFLOW_PARENT_RUN_ID] = facts.parent
        made = self.client.create_run(self.experiment_id, tags=tags, run_name=facts.name)
        run = TrackedRun(id=made.info.run_id, tracking=self)
        try:
            run.start(facts)
            yield run
        except BaseException:
            self.client.set_terminated(run.id, "FAILED")
            raise
        self.client.set_terminated(run.id, "FINISHED")

    def latest(self, tag: str, value: str) -> str | None:
        """Id of the latest run with that tag, which is no pattern; None where there is none."""
        found = self.client.search_runs(
            [self.experiment_id], f"tags.`{tag}` = '{value}'", order_by=["start_time DESC"],
            max_results=1,
        )  # fmt: skip
        return str(found[0].info.run_id) if found else None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackedRun:
    """A run under way."""

    id: str
    tracking: Tracking

    def start(self, facts: RunFacts) -> None:
        """Tell what is known before anything was computed."""
        client = self.tracking.client
        parameters = {"seed": facts.seed, **facts.parameters}
        client.log_batch(
            self.id, params=[Param(name, str(value)) for name, value in parameters.items()]
        )
        dataset = Dataset(
            name=facts.data.name,
            digest=facts.data.hash[:_DIGEST_CHARS],
            source_type="local",
            source=facts.data.path,
        )
        client.log_inputs(self.id, [DatasetInput(dataset, [])])

    def metrics(self, values: Mapping[str, float], *, step: int = 0) -> None:
        """Tell metrics; ``step`` is an epoch's number where they change."""
        now_ms = self.tracking.clock_ms()
        found = [Metric(name, float(value), now_ms, step) for name, value in values.items()]
        self.tracking.client.log_batch(self.id, metrics=found)

    def tags(self, values: Mapping[str, str]) -> None:
        """Tell what a run is to be found by."""
        self.tracking.client.log_batch(self.id, tags=[RunTag(*pair) for pair in values.items()])

    def files(self, files: Mapping[str, bytes]) -> None:
        """Keep files, as plots and reports, by their paths within the run."""
        with tempfile.TemporaryDirectory() as folder:
            for name, content in files.items():
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            self.tracking.client.log_artifacts(self.id, folder)


def open_tracking(folder: Path, clock_ms: Callable[[], int], *, uri: str | None = None) -> Tracking:
    """Open the server of ``uri``, else the store in ``folder``, which is made if need be.

    Raises:
        StoreError: it cannot be had.
    """
    if uri is None:
        folder.mkdir(parents=True, exist_ok=True)
        uri = sqlite_uri(folder)
        artifacts: str | None = (folder.absolute() / "artifacts").as_uri()
    else:
        artifacts = None
    try:
        client = MlflowClient(uri, registry_uri=uri)
        found = client.get_experiment_by_name(EXPERIMENT)
        experiment_id = (
            found.experiment_id
            if found is not None
            else client.create_experiment(EXPERIMENT, artifact_location=artifacts)
        )
    except (MlflowException, SQLAlchemyError, OSError) as exc:
        message = f"MLflow's store {uri} cannot be used: {str(exc).splitlines()[0]}"
        raise StoreError(message) from exc
    return Tracking(client=client, uri=uri, experiment_id=experiment_id, clock_ms=clock_ms)


def sqlite_uri(folder: Path) -> str:
    """The store that `open_tracking` makes in a folder."""
    return f"sqlite:///{folder.absolute()}/mlflow.db"
