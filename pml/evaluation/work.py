"""The work of an evaluation, in pieces: one task on one data set each.

A piece reports what happens as it happens, with every method that is done, so that only the
method that is asked is lost when somebody stops it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from pml.domain.evaluation import ProblemResult
from pml.evaluation.dataset import Dataset
from pml.evaluation.loading import load
from pml.evaluation.measuring import Round, why
from pml.evaluation.registry import AnyTask, Registry, find


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is to be evaluated, in words that another process understands."""

    folders: tuple[Path, ...]
    tasks: tuple[str, ...] | None
    methods: tuple[str, ...] | None
    method_files: tuple[Path, ...] = ()
    seed: int = 0

    def registry(self) -> Registry:
        """The tasks and methods that are asked for.

        Raises:
            RequestError: there is no such name.
            ConfigError: a file of the user's cannot be used.
        """
        return find(self.method_files).only(self.tasks, self.methods)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A method at which a process ended."""

    label: str
    """Of the problem."""
    method: str
    how: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One task on one data set."""

    folder: Path
    task: str
    done: frozenset[str] = frozenset()
    """Labels of problems that need not be asked again, after a process ended at another one."""
    ended: tuple[Ended, ...] = ()
    """Methods that are not asked again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A method is asked."""

    piece: Piece
    label: str
    method: str | None
    """None while those that answered are compared."""
    so_far: ProblemResult
    """What is left of the problem if nothing more comes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """All of a piece is done."""

    piece: Piece


Happening: TypeAlias = Started | ProblemResult | Finished


class Worker:
    """Does pieces one after another; the latest data set stays loaded."""

    def __init__(self, order: Order) -> None:
        """Find the tasks and methods of the order."""
        self._order = order
        self._registry = order.registry()
        self._loaded: tuple[Path, Dataset] | None = None

    def do(self, piece: Piece) -> Iterator[Happening]:
        """Do one piece, telling what happens; a task that fails is a result too."""
        task = next(each for each in self._registry.tasks if each.name == piece.task)
        try:
            yield from self._ask(piece, task)
        except Exception as exc:  # noqa: BLE001  # whatever a task raises, the others go on
            yield failed(piece, task, why(exc))
        yield Finished(piece=piece)

    def _ask(self, piece: Piece, task: AnyTask) -> Iterator[Happening]:
        dataset = self._dataset(piece.folder)
        for problem in task.problems(dataset):
            if problem.label not in piece.done:
                asked = Round(dataset.name, task, problem, seed=self._order.seed)
                yield from self._ask_all(piece, problem.label, asked)

    def _ask_all(self, piece: Piece, label: str, asked: Round) -> Iterator[Happening]:
        ended = {each.method: each for each in piece.ended}
        for method in self._registry.of_task(piece.task):
            if method.name in ended:
                asked.fail(method.name, _why_not(ended[method.name], label))
                continue
            so_far = asked.so_far(method.name)
            yield Started(piece=piece, label=label, method=method.name, so_far=so_far)
            asked.ask(method)
        yield Started(piece=piece, label=label, method=None, so_far=asked.so_far())
        found = asked.result()
        if found is not None:
            yield found

    def _dataset(self, folder: Path) -> Dataset:
        if self._loaded is None or self._loaded[0] != folder:
            self._loaded = (folder, load(folder).dataset)
        return self._loaded[1]


def _why_not(ended: Ended, label: str) -> str:
    return ended.how if ended.label == label else f"not asked, as at {ended.label!r} {ended.how}"


def failed(piece: Piece, task: AnyTask, error: str) -> ProblemResult:
    """What a piece comes to that could not be done."""
    return ProblemResult(
        dataset=piece.folder.resolve().name,
        task=task.name,
        title=task.title,
        headline=task.headline,
        higher_is_better=task.higher_is_better,
        error=error,
    )


def pieces(order: Order, tasks: Sequence[AnyTask]) -> tuple[Piece, ...]:
    """All of the order, data set by data set."""
    return tuple(Piece(folder=folder, task=task.name) for folder in order.folders for task in tasks)
