"""`dvc repro` runs from traces to a package, and does nothing the second time (RW-2, RW-3)."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from mlflow import MlflowClient

from pml.evaluation.sample.errands import errands
from pml.evaluation.saving import save
from pml.models.scorer import Scorer
from pml.tracking.mlflow_registry import Registry
from pml.tracking.mlflow_runs import open_tracking
from pml.workspace.layout import Layout
from pml.workspace.packaging import read_model, read_package
from pml.workspace.stored import read_folds
from tests.acceptance.test_docs import commands_of

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
TRACKED = (".dvc/config", ".dvc/.gitignore", ".dvcignore", ".gitignore", "dvc.yaml", "params.yaml")
FOLDERS = ("pml", "experiments/stages", "data/errands")
SMALL = {
    "encoder": {"latent": 32, "seed": 7},
    "features": {"folds": 3, "seed": 7},
    "model": {"heads": 2, "head_dim": 8, "feature_dim": 2},
    "train": {"epochs": 1, "batch": 128, "seed": 7},
    "evaluate": {"tasks": ["tools", "capabilities", "next"], "methods": ["bm25", "markov1"]},
}
BOUND_S = 250
pytestmark = pytest.mark.timeout(300)  # the first test waits for all six stages: 30 s when idle


def run(folder: Path, *command: str) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        env={
            **{name: value for name, value in os.environ.items() if name != "MLFLOW_TRACKING_URI"},
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(folder),
            "DVC_NO_ANALYTICS": "1",
        },
        capture_output=True,
        text=True,
        timeout=BOUND_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What git has of the pipeline, with a small training, run once."""
    folder = tmp_path_factory.mktemp("clone")
    for name in TRACKED:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, folder / name)
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    parameters = yaml.safe_load((folder / "params.yaml").read_text())
    (folder / "params.yaml").write_text(yaml.safe_dump(parameters | SMALL))
    run(folder, "git", "init", "--quiet")
    run(folder, "dvc", "repro")
    return folder


def test_a_second_run_does_nothing(clone: Path) -> None:
    lock = (clone / "dvc.lock").read_bytes()

    said = run(clone, "dvc", "repro")

    assert "Data and pipelines are up to date." in said
    assert (clone / "dvc.lock").read_bytes() == lock


def test_what_is_made_again_of_the_same_is_the_same(clone: Path) -> None:
    """No run's id, number or time is among what DVC looks at."""
    lock = (clone / "dvc.lock").read_text()

    run(clone, "dvc", "repro", "--force")

    assert (clone / "dvc.lock").read_text() == lock


def test_git_sees_nothing_but_the_lock_file(clone: Path) -> None:
    run(clone, "git", "add", *TRACKED, *FOLDERS)

    left = run(clone, "git", "status", "--porcelain", "--untracked-files=all").splitlines()

    assert [line for line in left if line.startswith("??")] == ["?? dvc.lock"]


def test_another_folder_changes_what_the_first_stage_depends_on(clone: Path) -> None:
    parameters = (clone / "params.yaml").read_text()
    shutil.copytree(clone / "data" / "errands", clone / "data" / "ours")
    try:
        (clone / "params.yaml").write_text(parameters.replace("data/errands", "data/ours"))
        said = run(clone, "dvc", "status", "import")
    finally:
        (clone / "params.yaml").write_text(parameters)
        shutil.rmtree(clone / "data" / "ours")

    assert "params.yaml" in said
    assert "data/ours" in said


def test_every_stage_leaves_figures_and_plots(clone: Path) -> None:
    shown = json.loads(run(clone, "dvc", "metrics", "show", "--json"))[""]["data"]

    stages = {Path(name).stem: figures["data"] for name, figures in shown.items()}
    assert stages.keys() == {"import", "features", "train", "evaluate", "package"}
    assert stages["import"]["tools"] == 60
    assert stages["evaluate"].keys() == {
        f"{task}.{who}"
        for task, metric in (("tools", "nDCG10"), ("capabilities", "nDCG10"), ("next", "acc1"))
        for who in (f"trained.{metric}", f"fallback.{metric}", f"gated.{metric}")
    }
    drawn = {path.name for path in (clone / "workspace" / "plots").rglob("*.svg")}
    assert drawn == {"curves.svg", "tools.svg", "capabilities.svg", "next.svg"}


def test_the_package_holds_the_model_that_was_trained_and_scores(clone: Path) -> None:
    layout = Layout(root=clone / "workspace")
    content, model = read_model(layout.model)
    _, full = read_folds(layout.features)

    package = read_package(layout.package)

    assert package.model == content
    assert package.manifest.graph == full.graph.identity
    assert package.manifest.parameters["train.epochs"] == 1
    assert {"latent.npz", "pml-static/tokenizer.json"} <= package.encoder.keys()
    assert "errands" not in package.card
    Scorer(model, full.graph, full.inputs)


def test_training_and_evaluation_are_tracked_and_the_model_is_registered(clone: Path) -> None:
    tracking = open_tracking(clone / "tracking", lambda: 0)
    client: MlflowClient = tracking.client

    runs = {run.data.tags["kind"]: run for run in client.search_runs([tracking.experiment_id])}

    facts = json.loads((clone / "workspace" / "import.json").read_text())
    assert runs.keys() == {"training", "evaluation"}
    assert {run.data.tags["data.hash"] for run in runs.values()} == {facts["hash"]}
    assert runs["training"].data.params["train.epochs"] == "1"
    assert "tools.trained.nDCG10" in runs["evaluation"].data.metrics
    registry = Registry(tracking, "shgat")
    version = registry.versions()[0]
    package = (clone / "workspace" / "package.pml").read_bytes()
    assert registry.load(version.number) == package
    assert (
        version.champion == read_package(clone / "workspace" / "package.pml").manifest.switched_on
    )


def test_what_the_page_says_of_dvc_works(clone: Path) -> None:
    """Of the experiment the first stage is run: the others are as before."""
    save(errands(1, n_requests=20, n_runs=5), clone.parent / "our-traces")
    commands = [words for words in commands_of("how-to/train.md") if words[0] == "dvc"]
    run(clone, "git", "add", *TRACKED, *FOLDERS, "dvc.lock")
    author = ("-c", "user.name=a", "-c", "user.email=a@b.invalid")
    run(clone, "git", *author, "commit", "--quiet", "--message", "all")

    said = {
        words[1]: run(clone, *words, *(["import"] if words[1] == "exp" else ()))
        for words in commands
    }

    assert said.keys() == {"repro", "metrics", "exp", "plots"}
    assert "up to date" in said["repro"]
    assert "our-traces: 60 tools, 20 workflows" in said["exp"]
    assert "epochs: 20" in (clone / "params.yaml").read_text()
    left = run(clone, "git", "status", "--porcelain", "--untracked-files=all").splitlines()
    assert [line for line in left if line.startswith("??")] == []
