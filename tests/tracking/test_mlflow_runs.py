"""A run in MLflow holds all that is needed to repeat it, and says how it ended (RW-3)."""

from pathlib import Path

import pytest
from mlflow import MlflowClient
from mlflow.artifacts import download_artifacts

from pml.errors import StoreError
from pml.tracking.mlflow_runs import Tracking, open_tracking, sqlite_uri
from pml.tracking.tracked import DataFacts, RunFacts, data_hash

DATA = DataFacts(name="errands", path="data/errands", hash=data_hash({"tools.parquet": "ab"}))
FACTS = RunFacts(name="first", kind="training", data=DATA, seed=7, parameters={"train.batch": 64})


def test_a_run_has_its_data_seed_parameters_metrics_by_epoch_and_files(tracking: Tracking) -> None:
    with tracking.run(FACTS) as run:
        for epoch, loss in enumerate([1.0, 0.5], start=1):
            run.metrics({"loss": loss}, step=epoch)
        run.files({"plots/loss.svg": b"<svg/>"})
        run.tags({"verdict": "on"})

    found = tracking.client.get_run(run.id)
    history = tracking.client.get_metric_history(run.id, "loss")
    path = download_artifacts(
        run_id=run.id, artifact_path="plots/loss.svg", tracking_uri=tracking.uri
    )
    assert found.info.status == "FINISHED"
    assert found.data.params == {"seed": "7", "train.batch": "64"}
    assert found.data.tags.items() >= {"data.hash": DATA.hash, "kind": "training"}.items()
    assert found.inputs is not None
    assert [each.dataset.digest for each in found.inputs.dataset_inputs] == [DATA.hash[:36]]
    assert [(each.step, each.value) for each in history] == [(1, 1.0), (2, 0.5)]
    assert Path(path).read_bytes() == b"<svg/>"


def test_a_run_that_raises_has_failed(tracking: Tracking) -> None:
    with pytest.raises(KeyboardInterrupt), tracking.run(FACTS) as run:
        raise KeyboardInterrupt

    assert tracking.client.get_run(run.id).info.status == "FAILED"


def test_a_trial_is_a_part_of_its_study(tracking: Tracking) -> None:
    with tracking.run(FACTS) as study:
        facts = RunFacts(name="0", kind="trial", data=DATA, seed=7, parent=study.id)
        with tracking.run(facts) as trial:
            pass

    assert tracking.client.get_run(trial.id).data.tags["mlflow.parentRunId"] == study.id


def test_a_run_is_found_by_a_tag_and_the_latest_of_several(tracking: Tracking) -> None:
    for made in ("a", "b", "a"):
        with tracking.run(FACTS) as run:
            run.tags({"model.sha256": made})

    assert tracking.latest("model.sha256", "a") == run.id
    assert tracking.latest("model.sha256", "b") not in {run.id, None}
    assert tracking.latest("model.sha256", "c") is None


def test_a_store_is_opened_again_with_what_it_holds(tracking: Tracking, tmp_path: Path) -> None:
    with tracking.run(FACTS) as run:
        pass

    again = open_tracking(tmp_path / "tracking", lambda: 0)

    assert again.client.get_run(run.id).info.run_name == "first"
    assert again.experiment_id == tracking.experiment_id


def test_a_named_server_is_used_instead(tracking: Tracking, tmp_path: Path) -> None:
    uri = sqlite_uri(tmp_path / "tracking")

    opened = open_tracking(tmp_path / "unused", lambda: 0, uri=uri)

    assert opened.experiment_id == tracking.experiment_id
    assert not (tmp_path / "unused").exists()
    assert MlflowClient(uri).get_experiment(opened.experiment_id).name == "pml"


def test_a_store_that_cannot_be_had_is_said(tmp_path: Path) -> None:
    (tmp_path / "mlflow.db").write_text("no database")

    with pytest.raises(StoreError, match=r"sqlite:.*mlflow\.db cannot be used: "):
        open_tracking(tmp_path, lambda: 0)


def test_the_hash_of_data_is_that_of_names_and_contents() -> None:
    files = {"a": "1", "b": "2"}

    assert data_hash(files) == data_hash(dict(reversed(files.items())))
    assert len({data_hash(f) for f in (files, {"a": "2", "b": "1"}, {"a": "1"})}) == 3
