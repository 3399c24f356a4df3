"""What is wrong with an explicit workflow by itself, before any server is asked (EX-1).

A task waits for what ``depends_on`` lists and for every task whose output it names, so no
reference can meet a task that need not have run; what remains wrong is a circle.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from pml.analysis.dag_code import TaskCode, read_code
from pml.analysis.dag_values import MARK, REFERENCE, references, strings
from pml.domain.capability import CAPABILITY_SERVER
from pml.domain.dag import TASK_ID, DagTask, ExplicitDag, TaskType
from pml.domain.nearest import did_you_mean
from pml.domain.program import Diagnostic
from pml.errors import DagError

_SHOWN_CHARS = 80
_SHOWN_TASKS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A task that is right by itself, with what it waits for."""

    task: DagTask
    code: TaskCode | None
    named: tuple[str, ...]
    """Tasks whose output its arguments or its code name, in order of first use."""

    @property
    def waits(self) -> tuple[str, ...]:
        """Every task that has to succeed before it starts."""
        return tuple(dict.fromkeys([*self.task.depends_on, *self.named]))


def checked(dag: ExplicitDag) -> Sequence[Step]:
    """The tasks, each after those that it waits for, else in their order.

    Raises:
        DagError: names the task, what is wrong, and what to do.
    """
    ids: dict[str, None] = {}
    for task in dag.tasks:
        if not re.fullmatch(TASK_ID, task.id):
            raise DagError(task.id, "the id holds more than letters, digits, _ and -")
        if task.id in ids:
            raise DagError(task.id, "the id is used twice: every task needs its own")
        ids[task.id] = None
    steps = {task.id: _step(task, ids) for task in dag.tasks}
    for step in steps.values():
        _check_waits(step, ids)
    return _in_order(steps)


def _step(task: DagTask, ids: Mapping[str, None]) -> Step:
    _check_type(task)
    for text in strings(task.arguments):
        if MARK in REFERENCE.sub("", text):
            shown = text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "..."
            message = f"{shown!r} holds a malformed reference, expected $OUTPUT[id].field[0]"
            raise DagError(task.id, message)
    code = None
    if task.code is not None:
        read = read_code(task.code, ids)
        if isinstance(read, Diagnostic):
            message = f"line {read.line}, column {read.column} of its code: {read.message}"
            raise DagError(task.id, message)
        code = read
    names = [match[2] for match in references(task.arguments)] + list(code.names if code else ())
    return Step(task=task, code=code, named=tuple(dict.fromkeys(names)))


def _check_type(task: DagTask) -> None:
    server, colon, name = task.tool.partition(":")
    if task.type is TaskType.CODE_EXECUTION:
        if task.code is None or task.tool:
            raise DagError(task.id, "a task of type code_execution has code, and no tool")
        return
    if task.code is not None:
        message = f"it has code and is of type {task.type}: expected type code_execution"
        raise DagError(task.id, message)
    if not (server and colon and name):
        expected = "server:tool" if task.type is TaskType.MCP_TOOL else "the name of a capability"
        raise DagError(task.id, f"the tool is {task.tool!r}, expected {expected}")
    if task.type is TaskType.CAPABILITY and server != CAPABILITY_SERVER:
        message = f"the tool is {task.tool!r}, expected {CAPABILITY_SERVER}:name"
        raise DagError(task.id, message)


def _check_waits(step: Step, ids: Mapping[str, None]) -> None:
    task = step.task
    for name in task.depends_on:
        if name not in ids:
            hint = did_you_mean(name, ids)
            raise DagError(task.id, f"depends_on names {name!r}, which is no task{hint}")
    for name in step.named:
        if name not in ids:
            hint = did_you_mean(name, ids)
            raise DagError(task.id, f"$OUTPUT[{name}] refers to {name!r}, which is no task{hint}")
    if task.id in step.named:
        raise DagError(task.id, f"$OUTPUT[{task.id}] is its own output: it would wait for itself")
    if task.id in task.depends_on:
        raise DagError(task.id, "depends_on names the task itself: it would wait for ever")


def _in_order(steps: Mapping[str, Step]) -> Sequence[Step]:
    sorter = TopologicalSorter({name: step.waits for name, step in steps.items()})
    try:
        order = list(sorter.static_order())
    except CycleError as exc:
        raise _circle(exc.args[1], steps) from exc
    depth: dict[str, int] = {}
    for name in order:
        depth[name] = max((depth[before] + 1 for before in steps[name].waits), default=0)
    return sorted(steps.values(), key=lambda step: depth[step.task.id])  # stable


def _circle(cycle: Sequence[str], steps: Iterable[str]) -> DagError:
    """The error of tasks that wait for each other; it begins with the one that is listed first.

    graphlib gives each before the one that waits for it, the first one again at the end.
    """
    ring = list(reversed(cycle))[:-1]
    first = min(ring, key=list(steps).index)
    ring = ring[ring.index(first) :] + ring[: ring.index(first)]
    shown = ring[:_SHOWN_TASKS] + (["..."] if len(ring) > _SHOWN_TASKS else []) + [first]
    return DagError(first, f"the tasks go round in a circle: {' waits for '.join(shown)}")
