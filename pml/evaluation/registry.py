"""Finds tasks and methods, so that adding one is adding a file.

Every module of `pml.evaluation.tasks` and `pml.evaluation.methods` is imported, and so is each
file that the user names.  What counts in a module:

- the objects in ``METHODS`` (a tuple) and the object ``TASK``, where a module has them;
- otherwise each public class of its own with ``name``, ``task`` and ``answers`` is a method, with
  ``name``, ``title`` and ``problems`` a task.  It is made without arguments.  A class that needs
  some, or that is only a base of others, has no ``name`` of its own and is passed over.
"""

import importlib
import importlib.util
import inspect
import pkgutil
import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

from pml.domain.nearest import did_you_mean
from pml.errors import ConfigError, RequestError
from pml.evaluation import methods as methods_package
from pml.evaluation import tasks as tasks_package
from pml.evaluation.task import Method, Task

AnyTask: TypeAlias = Task[Any, Any]
AnyMethod: TypeAlias = Method[Any, Any]

_TASK_PARTS = ("name", "title", "headline", "higher_is_better", "problems")
_METHOD_PARTS = ("name", "task", "answers")


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """What can be asked, and what can answer.

    Invariant: names of tasks are unique, names of methods are within their task, and every
    method's task is there.
    """

    tasks: tuple[AnyTask, ...]
    methods: tuple[AnyMethod, ...]

    def of_task(self, task: str) -> tuple[AnyMethod, ...]:
        """The methods that answer its questions, by name."""
        return tuple(method for method in self.methods if method.task == task)

    def only(self, tasks: Sequence[str] | None, methods: Sequence[str] | None) -> "Registry":
        """With these names only; None is all of them.

        Raises:
            RequestError: a name that nothing has, with the nearest ones, or nothing is left.
        """
        chosen = _named("--tasks", tasks, self.tasks)
        within = {task.name for task in chosen}
        answering = [
            method for method in _named("--methods", methods, self.methods) if method.task in within
        ]
        if methods is not None:
            chosen = [task for task in chosen if any(m.task == task.name for m in answering)]
        if not answering:
            message = "no method is left: none of those of --methods answers one of --tasks"
            raise RequestError(message)
        return Registry(tasks=tuple(chosen), methods=tuple(answering))


def find(files: Sequence[Path] = ()) -> Registry:
    """Everything in the package, then in the user's own files.

    Raises:
        ConfigError: a user's file cannot be imported, holds nothing, or takes a name that is
            taken.
    """
    paths = [path.resolve() for path in files]
    tasks: list[AnyTask] = []
    methods: list[AnyMethod] = []
    packaged = ((module.__name__, _found(module)) for module in _modules())
    for source, found in (*packaged, *((str(path), _of_file(path)) for path in paths)):
        _check_names(source, tasks + found[0], methods + found[1])
        tasks += found[0]
        methods += found[1]
    _check_tasks(tasks, methods, paths)
    return Registry(
        tasks=tuple(sorted(tasks, key=lambda task: task.name)),
        methods=tuple(sorted(methods, key=lambda method: (method.task, method.name))),
    )


def _modules() -> Iterator[ModuleType]:
    for package in (tasks_package, methods_package):
        for found in sorted(pkgutil.iter_modules(package.__path__), key=lambda found: found.name):
            yield importlib.import_module(f"{package.__name__}.{found.name}")


_Found: TypeAlias = tuple[list[AnyTask], list[AnyMethod]]


def _found(module: ModuleType) -> _Found:
    return list(_tasks_of(module)), list(_methods_of(module))


def _of_file(path: Path) -> _Found:
    """What a user's file holds; its code runs, as with any import."""
    name = "pml_user_" + "_".join(path.with_suffix("").parts[1:])
    if not path.is_file():
        raise ConfigError(str(path), "expected a Python file with a method, and there is none")
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ConfigError(str(path), "expected a Python file; its name should end in .py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)  # dataclasses look there
    try:
        spec.loader.exec_module(module)
        found = _found(module)
    except Exception as exc:
        del sys.modules[name]
        line = _line_in(path, exc)
        raise ConfigError(str(path), f"{type(exc).__name__}: {exc}", line=line) from exc
    if not any(found):
        message = "holds no method: expected a class with `name`, `task` and `answers`"
        raise ConfigError(str(path), message)
    return found


def _line_in(path: Path, exc: Exception) -> int | None:
    """The last line of the file that the error passed through."""
    if isinstance(exc, SyntaxError):
        return exc.lineno
    frames = traceback.extract_tb(exc.__traceback__)
    return next((frame.lineno for frame in reversed(frames) if frame.filename == str(path)), None)


def _classes(module: ModuleType, parts: Iterable[str]) -> Iterator[type]:
    for name, kind in vars(module).items():
        own = inspect.isclass(kind) and kind.__module__ == module.__name__
        # A dataclass field without default leaves no attribute, and a slot is no text.
        named = own and isinstance(getattr(kind, "name", None), str)
        if named and not name.startswith("_") and all(hasattr(kind, part) for part in parts):
            yield kind


def _tasks_of(module: ModuleType) -> Iterator[AnyTask]:
    if hasattr(module, "TASK"):
        yield module.TASK
    else:
        yield from (kind() for kind in _classes(module, _TASK_PARTS))


def _methods_of(module: ModuleType) -> Iterator[AnyMethod]:
    if hasattr(module, "METHODS"):
        yield from module.METHODS
    else:
        yield from (kind() for kind in _classes(module, _METHOD_PARTS))


def _check_names(source: str, tasks: list[AnyTask], methods: list[AnyMethod]) -> None:
    for kind, names in (
        ("task", [task.name for task in tasks]),
        ("method", [f"{method.task}: {method.name}" for method in methods]),
    ):
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ConfigError(source, f"there is a {kind} {twice!r} already: give it another name")
        comma = next((name for name in names if "," in name), None)
        if comma is not None:
            message = (
                f"the {kind} {comma!r} has a comma in its name, at which --{kind}s would cut it"
            )
            raise ConfigError(source, message)


def _check_tasks(
    tasks: Iterable[AnyTask], methods: Iterable[AnyMethod], files: Sequence[Path]
) -> None:
    """Of the user's own methods; those of the package are held by a test."""
    known = {task.name for task in tasks}
    for method in methods:
        path = Path(inspect.getfile(type(method)))
        if method.task not in known and path in files:
            hint = did_you_mean(method.task, known)
            message = f"method {method.name!r} answers the task {method.task!r}, unknown{hint}"
            raise ConfigError(str(path), message)


def _named(option: str, names: Sequence[str] | None, things: Sequence[Any]) -> list[Any]:
    if names is None:
        return list(things)
    known = {thing.name for thing in things}
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known) or f"; there are {', '.join(sorted(known))}"
            message = f"{option}: there is no {name!r}{hint}"
            raise RequestError(message)
    return [thing for thing in things if thing.name in names]
