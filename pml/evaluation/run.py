"""`pml evaluate`: every method of every task on every data set, in a report."""

import platform
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import TypeAlias

from pml.domain.evaluation import DataFile, DatasetFacts, Evaluation, ProblemResult
from pml.errors import RequestError
from pml.evaluation.loading import Loaded, load
from pml.evaluation.processes import in_processes
from pml.evaluation.resampling import N_DRAWS
from pml.evaluation.work import Finished, Happening, Order, Piece, Started, Worker, pieces

LIBRARIES = ("bm25s", "numpy", "polars", "scikit-learn", "scipy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far an evaluation is."""

    done: int
    of: int
    what: str
    """What happens now: data set, task, method."""


def evaluate(
    order: Order, *, processes: int, on_progress: Callable[[Progress], None]
) -> Evaluation:
    """Do all of it; after Ctrl-C the report holds what was finished and says so.

    Raises:
        DatasetError: a folder is not in the format; nothing was evaluated.
        RequestError: there is no such task or method.
        ConfigError: a file of the user's cannot be used.
    """
    started, started_at_ms = time.perf_counter(), time.time_ns() // 1_000_000
    registry = order.registry()
    _check_names(order)
    datasets = [facts(load(folder)) for folder in order.folders]
    todo = pieces(order, registry.tasks)
    found: list[ProblemResult] = []
    under_way: dict[_Key, ProblemResult] = {}
    interrupted = False
    happenings = _happenings(order, todo, processes)
    try:
        _collect(happenings, len(todo), found, under_way, on_progress)
    except KeyboardInterrupt:
        interrupted = True
        found += under_way.values()
    finally:
        happenings.close()
    return Evaluation(
        pml_version=version("pml"),
        python_version=platform.python_version(),
        libraries={name: version(name) for name in LIBRARIES},
        seed=order.seed,
        draws=N_DRAWS,
        started_at_ms=started_at_ms,
        seconds=round(time.perf_counter() - started, 1),
        interrupted=interrupted,
        datasets=tuple(datasets),
        problems=_ordered(found, todo),
    )


def _collect(
    happenings: Iterator[Happening],
    n_pieces: int,
    found: list[ProblemResult],
    under_way: "dict[_Key, ProblemResult]",
    on_progress: Callable[[Progress], None],
) -> None:
    done = 0
    for happening in happenings:
        match happening:
            case ProblemResult():
                found.append(happening)
                under_way.pop((happening.dataset, happening.task), None)
            case Finished(piece=piece):
                under_way.pop(_key(piece), None)
                done += 1
                on_progress(Progress(done=done, of=n_pieces, what=f"{_named(piece)}: done"))
            case Started(piece=piece, label=label, method=method):
                _keep(under_way, _key(piece), happening.so_far)
                what = f"{_named(piece)} {label}".rstrip() + f": {method or 'comparing'}"
                on_progress(Progress(done=done, of=n_pieces, what=what))


_Key: TypeAlias = tuple[str, str]
"""Data set and task: a piece is at one problem at a time."""


def _key(piece: Piece) -> _Key:
    return piece.folder.resolve().name, piece.task


def _keep(under_way: dict[_Key, ProblemResult], key: _Key, so_far: ProblemResult) -> None:
    """Unless more is known: a problem is begun again after its process ended."""
    known = under_way.get(key)
    if known is None or known.label != so_far.label or len(known.methods) <= len(so_far.methods):
        under_way[key] = so_far


def _named(piece: Piece) -> str:
    return " ".join(_key(piece))


def _happenings(
    order: Order, todo: Sequence[Piece], processes: int
) -> Generator[Happening, None, None]:
    if processes > 1 and len(todo) > 1:
        return in_processes(order, todo, processes)
    return _here(Worker(order), todo)


def _here(worker: Worker, todo: Sequence[Piece]) -> Generator[Happening, None, None]:
    for piece in todo:
        yield from worker.do(piece)


def _check_names(order: Order) -> None:
    """A report tells data sets by the names of their folders."""
    names = [folder.resolve().name for folder in order.folders]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        message = f"two folders are named {twice!r}: a report tells sets by these names; rename one"
        raise RequestError(message)


def facts(loaded: Loaded) -> DatasetFacts:
    """What a report says of a data set."""
    files = [DataFile(name=each.name, sha256=each.sha256, rows=each.rows) for each in loaded.files]
    return DatasetFacts(
        name=loaded.dataset.name,
        files=tuple(files),
        tools=len(loaded.dataset.tools),
        workflows=len(loaded.dataset.workflows),
        calls=len(loaded.dataset.calls),
        notes=loaded.notes,
    )


def _ordered(found: Sequence[ProblemResult], todo: Sequence[Piece]) -> tuple[ProblemResult, ...]:
    """As they were ordered, whichever process was done first."""
    places = {_key(piece): at for at, piece in enumerate(todo)}
    return tuple(sorted(found, key=lambda each: (places[each.dataset, each.task], each.label)))
