"""Runs a study of `pml tune`: prepares its folds, starts its processes, says what they found."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from pml.domain.record import encode
from pml.errors import StudyError
from pml.tracking.study import Finding
from pml.tracking.tracked import RunFacts
from pml.workspace.importing import checked
from pml.workspace.layout import TRACKING
from pml.workspace.learning import prepared
from pml.workspace.parameters import Parameters
from pml.workspace.stored import write_folds
from pml.workspace.tuning import TuneParameters, Work, check_same_data, opened, space_of
from pml.workspace.tuning_worker import storage

_END_S = 20.0
"""A process that was told to end closes its storage and does; then it is killed."""


def work_of(
    folder: Path, parameters: Parameters, temporary: Path, *, study: str, where: str | None,
    data_dir: Path,
) -> Work:  # fmt: skip
    """Check everything, and prepare the folds in a temporary folder.

    Raises:
        DatasetError: the folder is not in the format.
        ConfigError: a parameter is unknown or out of range.
    """
    space_of(parameters)
    ready = prepared(checked(folder), parameters, temporary / "encoder")
    write_folds(temporary / "folds", ready.folds, ready.full)
    return Work(
        study=study,
        storage=where,
        data_dir=str(data_dir),
        folds=str(temporary / "folds"),
        sections={name: dict(section) for name, section in parameters.sections.items()},
        source=parameters.source,
        worker=0,
        data_name=ready.data.name,
        data_path=ready.data.path,
        data_hash=ready.data.hash,
    )


def search(work: Work, workers: int, *, database_url: str | None) -> Finding:
    """Let so many processes make the trials that are missing, and not one more.

    Other calls for the same study are not known of: what they have under way may come on top.

    Raises:
        StoreError: the storage cannot be had.
        RequestError: the study is of other data.
        StudyError: a process failed.
    """
    with storage(work, database_url) as url, opened(work, url) as study:
        check_same_data(study, work)
        missing = work.parameters.section("tune", TuneParameters).trials - study.finished()
        if missing <= 0:
            return study.finding()
        with _places(missing) as places:
            numbers = range(min(workers, missing))
            told = [msgspec.structs.replace(work, worker=each, places=places) for each in numbers]
            with _processes(told, places) as processes:
                codes = [process.wait() for process in processes]
        if any(codes):
            message = f"{sum(map(bool, codes))} of {len(codes)} processes of the study failed"
            raise StudyError(message)
        return study.finding()


def study_facts(work: Work) -> RunFacts:
    """What a tracking server is told of a study, whose trials are parts of it."""
    how = work.parameters.section("tune", TuneParameters)
    return RunFacts(
        name=f"tune {work.study}",
        kind="study",
        data=work.data,
        seed=how.seed,
        parameters={"tune.trials": how.trials, "tune.task": str(how.task)},
    )


def tracked_search(work: Work, workers: int, *, database_url: str | None) -> Finding:
    """As `search`; the study is a run of MLflow, and every trial a part of it."""
    from pml.workspace.telling import tracking  # noqa: PLC0415  # MLflow takes seconds

    with tracking(TRACKING).run(study_facts(work)) as run:
        told = msgspec.structs.replace(work, parent=run.id)
        found = search(told, workers, database_url=database_url)
        if found.best_value is not None:
            run.metrics({"best_held_back_ndcg": found.best_value})
            run.tags({f"best.{name}": str(value) for name, value in found.best.items()})
        return found


@contextmanager
def _places(count: int) -> Iterator[int]:
    """A descriptor with so many bytes; processes that inherit it read each of them once."""
    with tempfile.TemporaryFile(buffering=0) as file:
        file.write(bytes(count))
        file.seek(0)
        yield file.fileno()


@contextmanager
def _processes(works: Sequence[Work], places: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Started, and gone at the end of the block whatever happens."""
    command = [sys.executable, "-m", "pml.workspace.tuning_worker"]
    started: list[subprocess.Popen[bytes]] = []
    try:
        for work in works:
            process = subprocess.Popen(  # noqa: S603  # ours
                command, stdin=subprocess.PIPE, pass_fds=[places]
            )
            started.append(process)
            assert process.stdin is not None
            with process.stdin as stdin:
                stdin.write(encode(work))
        yield started
    finally:
        for process in started:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
