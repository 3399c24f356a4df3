"""`pml train`, `pml package`, `pml models`: from a folder to a champion and back (LE-5, LE-7)."""

import json
import shutil
import sys
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from pml.cli.exits import ExitCode, for_error
from pml.cli.main import app
from pml.embedding.static import default_encoder
from pml.errors import NotFoundError, PmlError
from pml.tracking.mlflow_registry import Registry
from pml.tracking.mlflow_runs import open_tracking
from pml.workspace.encoder_folder import read_encoder
from tests.cli.conftest import RunPml
from tests.evaluation.folders import write
from tests.tracking.packages import a_file
from tests.tracking.test_mlflow_runs import FACTS
from tests.workspace.exports import export

ERRANDS = Path(__file__).parents[2] / "data" / "errands"
TRAINING = """
features: {folds: 3}
model: {heads: 2, head_dim: 8, feature_dim: 2}
train: {epochs: 1, batch: 128}
"""
SMALL = "encoder: {latent: 32}" + TRAINING


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to be in, with a small training."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yaml").write_text(SMALL)
    return tmp_path


def done(*words: str) -> str:
    outcome = CliRunner().invoke(app, words)
    assert outcome.exit_code == ExitCode.OK, outcome.exception
    return outcome.stdout


def refused(*words: str) -> tuple[ExitCode, str]:
    outcome = CliRunner().invoke(app, words)
    assert isinstance(outcome.exception, PmlError), outcome.output
    assert outcome.stdout == ""
    return for_error(outcome.exception), str(outcome.exception)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model and its encoder, trained once."""
    folder = tmp_path_factory.mktemp("trained")
    (folder / "small.yaml").write_text(SMALL)
    files = ["--params", str(folder / "small.yaml"), "--out", str(folder / "m.safetensors")]
    done("train", str(ERRANDS), *files, "--quiet")
    return folder


@pytest.fixture
def model(here: Path, trained: Path) -> Path:
    """A copy of the model, with its encoder beside it."""
    shutil.copytree(trained, here, dirs_exist_ok=True)
    return here / "m.safetensors"


def test_what_was_learned_is_said_and_packaged_and_checked(model: Path) -> None:
    first = model.read_bytes()
    words = ["train", str(ERRANDS), "--params", "small.yaml", "--out", model.name]

    said = done(*words)
    package = json.loads(done("package", model.name, "--out", "m.pml", "--json"))

    assert "errands: 60 tools, 253 training requests" in said
    assert "On requests that it had not seen:" in said
    assert "wrote m.safetensors" in said
    assert model.read_bytes() == first  # equal seeds
    judged = {each["task"] for each in package["manifest"]["verdicts"]}
    assert judged == {"tools", "capabilities", "next_tool"}
    assert "+: for servers that the judged models were trained without" in said
    cold = {each["task"] for each in package["manifest"]["verdicts"] if each.get("coldIntents")}
    assert cold == {"tools", "next_tool"}
    assert package["manifest"]["encoder"].startswith("pml-static@")
    assert "checksums fit" in done("package", "m.pml")


def test_a_damaged_model_and_a_damaged_package_are_refused(model: Path) -> None:
    done("package", model.name, "--out", "m.pml")
    whole = Path("m.pml").read_bytes()
    Path("m.pml").write_bytes(whole[: len(whole) // 2])
    model.write_bytes(model.read_bytes()[:-1])

    for words in (["package", model.name, "--out", "n.pml"], ["package", "m.pml"]):
        code, said = refused(*words)
        assert code == ExitCode.CONFIG
        assert words[1] in said
    assert not Path("n.pml").exists()


def test_a_model_is_packaged_with_its_own_encoder_only(model: Path) -> None:
    other = Path("other")
    shutil.copytree("m.encoder", other)
    (other / "latent.npz").unlink()

    code, said = refused("package", model.name, "--encoder", "other", "--out", "m.pml")

    assert code == ExitCode.CONFIG
    assert "the model needs the encoder pml-static@" in said
    code, _ = refused("package", model.name, "--encoder", "gone", "--out", "m.pml")
    assert code == ExitCode.CONFIG


def few(here: Path, requests: int) -> Path:
    """The errands with so many training requests, and no runs."""
    folder = here / "few"
    folder.mkdir()
    shutil.copyfile(ERRANDS / "tools.parquet", folder / "tools.parquet")
    workflows = pl.read_parquet(ERRANDS / "workflows.parquet").filter(pl.col("split") == "train")
    workflows.head(requests).write_parquet(folder / "workflows.parquet")
    return folder


@pytest.mark.parametrize("requests", [1, 4])
def test_too_few_requests_work_and_fall_back(here: Path, requests: int) -> None:
    told = json.loads(
        done("train", str(few(here, requests)), "--json", "--quiet", "--params", "small.yaml")
    )

    assert (told["requests"], told["examples"]["capabilities"]) == (requests, requests)
    assert not any(each["switchedOn"] for each in told["verdicts"])
    assert "switched on" in done("package", "shgat.safetensors", "--out", "m.pml")


def test_traces_of_an_export_are_learned_from(here: Path) -> None:
    export(here / "traces", 60)

    told = json.loads(done("train", "traces", "--json", "--quiet", "--params", "small.yaml"))

    assert (told["requests"], told["traces"], told["capabilities"]) == (48, 48, 2)
    assert told["epochs"] == 1
    assert {"tools", "capabilities"} <= {each["task"] for each in told["verdicts"]}
    assert "checksums fit" in done("package", "shgat.safetensors", "--out", "m.pml")


def test_of_a_few_traces_it_is_said_that_they_are_too_few(here: Path) -> None:
    export(here / "traces", 2)

    said = done("train", "traces", "--quiet")

    assert "traces: 2 tools, 2 training requests, 2 traces" in said
    assert "nothing was trained: too few requests" in said
    assert "`pml export-traces` of more runs" in said


def test_an_encoder_is_trained_on_the_sets_own_texts(here: Path) -> None:
    (here / "trained.yaml").write_text(
        "encoder: {source: trained, latent: 0}\n"
        "encoder_training: {vocabulary: 512, epochs: 1, mixtures: 50}\n" + TRAINING
    )

    words = ["train", str(few(here, 40)), "--quiet", "--params", "trained.yaml"]
    done(*words)
    package = json.loads(done("package", "shgat.safetensors", "--out", "m.pml", "--json"))

    found = package["manifest"]["encoder"]
    assert found.startswith("pml-static@")
    assert found == read_encoder(here / "shgat.encoder").name != default_encoder().name


def test_what_was_interrupted_leaves_the_former_model_and_nothing_else(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    monkeypatch.setattr("pml.cli.train.note", interrupted)

    outcome = CliRunner().invoke(
        app, ["train", str(ERRANDS), "--params", "small.yaml", "--out", model.name]
    )

    assert outcome.exit_code == ExitCode.INTERRUPTED
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before


def test_what_cannot_be_learned_from_is_said(here: Path) -> None:
    write(here / "set", workflows=None)
    (here / "wrong.yaml").write_text("train: {epochs: 0}")
    (here / "typo.yaml").write_text("train: {epoch: 3}")
    (here / "list.yaml").write_text("- 3")

    assert refused("train", "gone")[0] == ExitCode.CONFIG
    assert "nothing to learn from" in refused("train", "set")[1]
    for file, said in (
        ("wrong.yaml", "epochs=0"),
        ("typo.yaml", "did you mean 'epochs'"),
        ("list.yaml", "expected sections"),
        ("gone.yaml", "cannot be read"),
    ):
        code, message = refused("train", str(ERRANDS), "--params", file)
        assert code == ExitCode.CONFIG
        assert said in message
    assert refused("train", str(ERRANDS), "--out", "small.yaml/m")[0] == ExitCode.CONFIG


@pytest.mark.usefixtures("here")
def test_without_torch_what_to_install_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)  # as if not installed

    code, said = refused("train", str(ERRANDS))

    assert code == ExitCode.USAGE
    assert "torch is not installed: python -m pip install 'pml[train]'" in said


def test_a_training_is_tracked_and_registry_commands_move_the_champion(
    pml: RunPml, workspace: Path
) -> None:
    """In processes of their own: the store is the folder `tracking` of where they are."""
    (workspace / "small.yaml").write_text(SMALL)
    trained = pml("train", str(ERRANDS), "--params", "small.yaml", "--track", "--json", "-q")
    assert trained.returncode == 0, trained.stderr
    run = json.loads(trained.stdout)["run"]

    tracking = open_tracking(workspace / "tracking", lambda: 0)
    assert "tools.ndcg" in tracking.client.get_run(run).data.metrics
    registry = Registry(tracking, "shgat")
    for model in (b"first", b"second"):
        registry.promote(registry.register(run, a_file(model=model), ()).number)

    assert [each["number"] for each in json.loads(pml("models", "--json").stdout)] == [2, 1]
    assert "champion" in pml("models", "rollback").stdout
    assert pml("models", "get", "--out", "m.pml").returncode == 0
    assert (workspace / "m.pml").read_bytes() == a_file(model=b"first")
    assert pml("models", "rollback").returncode == ExitCode.NOT_FOUND
    assert pml("models", "promote", "9").returncode == ExitCode.NOT_FOUND


def test_promoting_says_where_the_former_champion_is_of_other_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which is no reason to refuse: models are trained again because there are more data."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    tracking = open_tracking(tmp_path / "tracking", lambda: 0)
    registry = Registry(tracking, "shgat")
    with tracking.run(FACTS) as run:
        for data in ("aa" * 32, "aa" * 32, "bb" * 32):
            registry.register(run.id, a_file(data=data), ())

    said = [CliRunner().invoke(app, ["models", "promote", each]) for each in ("1", "2", "3", "3")]

    assert [each.exit_code for each in said] == [0, 0, 0, 0]
    assert [bool(each.stderr) for each in said] == [False, False, True, False]
    other = "version 3 was trained on other data (bbbbbbbbbbbb) than version 2 (aaaaaaaaaaaa)"
    assert other in said[2].stderr
    assert "bbbbbbbbbbbb" in CliRunner().invoke(app, ["models"]).stdout


def test_to_look_at_models_where_none_was_tracked_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    answered = CliRunner().invoke(app, ["models"])
    assert (answered.exit_code, list(tmp_path.iterdir())) == (0, [])
    assert "no version was registered" in answered.stdout


@pytest.mark.parametrize("command", ["promote 1", "rollback", "get --out m.pml"])
def test_what_needs_a_model_where_none_was_tracked_says_so_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    answered = CliRunner().invoke(app, ["models", *command.split()])
    assert isinstance(answered.exception, NotFoundError)
    assert "no folder 'tracking': `dvc repro`" in str(answered.exception)
    assert list(tmp_path.iterdir()) == []
