"""A study goes on over PostgreSQL, in several processes, whichever of them dies (RW-4)."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from sqlalchemy import create_engine, text

from pml.domain.record import encode
from pml.errors import ConfigError, RequestError, StoreError
from pml.store.studies import studies_url
from pml.tracking.study import Choice, Range, open_study
from pml.workspace.parameters import parameters_of
from pml.workspace.searching import search, work_of
from pml.workspace.tuning import Work, check_same_data, opened, space_of

ERRANDS = Path(__file__).parents[2] / "data" / "errands"
SPACE = {"train.learning_rate": {"low": 0.001, "high": 0.01, "log": True}}
SECTIONS = {
    "encoder": {"latent": 16},
    "features": {"folds": 3},
    "model": {"heads": 1, "head_dim": 4, "feature_dim": 0, "message_passing": False},
    "train": {"epochs": 1, "batch": 256},
    "tune": {"trials": 2, "space": SPACE},
}
BOUND_S = 250
pytestmark = pytest.mark.timeout(300)  # processes that import torch, three times: 30 s when idle


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Work:
    """Work of a study over errands; where it is kept is to be said."""
    return work_of(
        ERRANDS,
        parameters_of(SECTIONS, "params.yaml"),
        tmp_path_factory.mktemp("prepared"),
        study="small",
        where=None,
        data_dir=Path("nowhere"),
    )


@pytest.fixture
def work(prepared: Work, postgres_dir: Path) -> Work:
    """In the embedded PostgreSQL; the study is of this test only."""
    name = f"study-{os.urandom(4).hex()}"
    return msgspec.structs.replace(prepared, data_dir=str(postgres_dir), study=name)


def with_trials(work: Work, trials: int) -> Work:
    tune = work.sections["tune"] | {"trials": trials}
    return msgspec.structs.replace(work, sections=work.sections | {"tune": tune})


def test_two_processes_make_the_trials_of_one_study_and_it_is_gone_on_with(work: Work) -> None:
    first = search(with_trials(work, 3), 2, database_url=None)
    again = search(with_trials(work, 3), 2, database_url=None)
    more = search(with_trials(work, 4), 2, database_url=None)

    assert first.complete + first.pruned == 3
    assert again == first
    assert more.complete + more.pruned == 4
    assert more.failed == 0
    assert more.best_value is not None
    assert 0.5 < more.best_value <= 1


def test_a_process_that_is_killed_costs_its_trial_only(work: Work) -> None:
    command = [sys.executable, "-m", "pml.workspace.tuning_worker"]
    endless = with_trials(work, 1_000)
    with studies_url(url=None, data_dir=Path(work.data_dir)) as url:
        with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
            assert process.stdin is not None
            with process.stdin as stdin:
                stdin.write(encode(endless))
            wait_for_trial(url, work, process)
            process.send_signal(signal.SIGKILL)
        with open_study(url, work.study, space_of(work.parameters), seed=0) as study:
            before = study.finding()

    after = search(with_trials(work, before.complete + before.pruned + 1), 1, database_url=None)

    assert process.returncode == -signal.SIGKILL
    assert after.complete + after.pruned == before.complete + before.pruned + 1
    assert after.best_value is not None


def wait_for_trial(url: str, work: Work, process: "subprocess.Popen[bytes]") -> None:
    """Return when a trial is running: a row in a database wakes nobody, so look again."""
    with open_study(url, work.study, space_of(work.parameters), seed=0) as study:
        while not study.finding().running and not study.finding().complete:
            assert process.poll() is None


def test_a_study_is_of_one_data_set(work: Work) -> None:
    other = msgspec.structs.replace(work, data_hash="0" * 64)
    with (
        studies_url(url=None, data_dir=Path(work.data_dir)) as url,
        opened(work, url) as study,
    ):
        check_same_data(study, work)
        check_same_data(study, work)
        with pytest.raises(RequestError, match=r"is of another data\.hash .* give --name another"):
            check_same_data(study, other)


def test_tables_of_studies_are_apart_from_those_of_pml(work: Work) -> None:
    with studies_url(url=None, data_dir=Path(work.data_dir)) as url, opened(work, url):
        engine = create_engine(url)
        with engine.connect() as connection:
            query = "SELECT schemaname FROM pg_tables WHERE tablename IN ('trials', 'studies')"
            schemas = {row[0] for row in connection.execute(text(query))}
        engine.dispose()
    assert schemas == {"pml_studies"}


def test_a_server_that_is_not_there_is_said() -> None:
    with (
        pytest.raises(StoreError, match="the database cannot be used for studies"),
        studies_url(url="postgresql://127.0.0.1:1/none", data_dir=Path("unused")),
    ):
        pass


def space(said: object) -> object:
    return space_of(parameters_of({"tune": {"space": {"train.batch": said}}}, "params.yaml"))


def test_a_space_has_ranges_and_choices() -> None:
    assert space({"low": 8, "high": 64}) == {"train.batch": Range(low=8, high=64)}
    assert space({"choices": [8, 16]}) == {"train.batch": Choice(choices=(8, 16))}
    assert "model.heads" in space_of(parameters_of({}, "params.yaml"))


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (3, r"params\.yaml: tune\.space\.train\.batch: expected \{low: \.\.\., high"),
        ({"low": 3}, r"expected \{low"),
        ({"low": 3, "high": 1}, "low <= high"),
        ({"choices": 3}, "not iterable"),
    ],
)
def test_what_is_no_space_is_refused(said: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        space(said)


def test_what_was_prepared_before_cannot_be_varied() -> None:
    given = {"tune": {"space": {"features.folds": {"choices": [3, 5]}}}}

    with pytest.raises(ConfigError, match=r"features\.folds: expected model\.\* or train\.\*"):
        space_of(parameters_of(given, "params.yaml"))
