"""Explicit workflows compiled to TypeScript, so that they take the same path as code (EX-1).

Every task becomes a promise that starts when the promises of all tasks that it waits for have
succeeded, so exactly what the workflow allows runs side by side.  The first task that fails
fails the program, as ``Promise.all`` does.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pml.analysis.dag_checks import Step, checked
from pml.analysis.dag_values import MARK, access, expression, key_of
from pml.analysis.lines import Lines
from pml.domain.capability import CAPABILITY_SERVER
from pml.domain.dag import ExplicitDag


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a task stands in the program; lines count from 1."""

    first: int
    task: str
    code: range
    """The lines of its code; empty where it has none."""


@dataclass(frozen=True, slots=True)
class CompiledDag:
    """The program of a workflow, and where its tasks stand in it."""

    source: str
    places: tuple[_Place, ...]

    def place(self, line: int) -> str:
        """How messages call what stands at a line of the program: its task, line of code."""
        at = bisect_right(self.places, line, key=lambda place: place.first) - 1
        if at < 0:
            return ""
        found = self.places[at]
        where = f", line {line - found.code.start + 1} of its code" if line in found.code else ""
        return f"task {found.task!r}{where}"


@dataclass(frozen=True, slots=True)
class _Names:
    """What the program's own variables are called: nothing that a task's code calls so."""

    tasks: Mapping[str, str]
    """The promise of each task."""
    outputs: Mapping[str, str]


def compile_dag(dag: ExplicitDag) -> CompiledDag:
    """The program of a workflow; it returns an object with every task's output by id.

    Raises:
        DagError: an id twice or unknown, a circle, a tool that is no ``server:tool``, a
            malformed reference, or code that does not parse.
    """
    order = checked(dag)
    names = _names(dag, order)
    texts: list[str] = []
    places: list[_Place] = []
    line = 1
    for step in order:
        parts = _step(step, names)
        head, code, tail = (_lines_of(part) for part in parts)
        places.append(_Place(line, step.task.id, range(line + head, line + head + code)))
        texts += parts
        line += head + code + tail
    texts.append(_end([task.id for task in dag.tasks], names))
    return CompiledDag("".join(texts), tuple(places))


def _lines_of(text: str) -> int:
    """How many lines a text of whole lines has, as analysis counts them."""
    data = text.encode()
    return Lines(data).position(len(data))[0] - 1


def _names(dag: ExplicitDag, steps: Iterable[Step]) -> _Names:
    codes = "\n".join(step.code.text for step in steps if step.code)
    task = _free("task", codes)
    tasks = {each.id: f"{task}{place}" for place, each in enumerate(dag.tasks, start=1)}
    outputs = {name: f"{variable}Output" for name, variable in tasks.items()}
    return _Names(tasks, outputs)


def _free(name: str, codes: str) -> str:
    """The name, with as many underscores as it takes to begin none of the code's with a number."""
    while re.search(rf"\b{name}\d", codes):
        name += "_"
    return name


def _step(step: Step, names: _Names) -> tuple[str, str, str]:
    """The statement that starts the task: what comes before its code, the code, what follows."""
    name, used = names.tasks[step.task.id], _used(step)
    comment = f"// {step.task.id}\n"
    before, code, after = _work(step, names)
    if not step.waits and step.code is None:
        return f"{comment}const {name} = {before}", code, f"{after};\n"
    wait = ""
    if step.waits:
        outputs = ", ".join(names.outputs[each] if each in used else "" for each in step.waits)
        promises = ", ".join(names.tasks[each] for each in step.waits)
        wait = f"await Promise.all([{promises}]);\n"
        wait = f"  const [{outputs}] = {wait}" if used else f"  {wait}"
    head = f"{comment}const {name} = (async () => {{\n{wait}  return "
    return head + before, code, f"{after};\n}})();\n"


def _used(step: Step) -> Sequence[str]:
    """The tasks whose output the step looks at."""
    return step.waits if step.code and step.code.sees_outputs else step.named


def _work(step: Step, names: _Names) -> tuple[str, str, str]:
    """The expression that does the task's work: before its code, the code, after it.

    Code gets copies and returns JSON: what one task changes, no other sees changed.
    """
    task = step.task
    arguments = expression(task.arguments, names.outputs)
    if step.code is None:
        server, _, tool = task.tool.partition(":")
        root = "capabilities" if server == CAPABILITY_SERVER else f"mcp{access(server)}"
        wait = "await " if step.waits else ""
        return f"{wait}{root}{access(tool)}({arguments})", "", ""
    parameters, given = "args", _copy(arguments)
    if step.code.sees_outputs:
        outputs = ", ".join(f"{key_of(each)}: {names.outputs[each]}" for each in step.waits)
        parameters += f", {MARK}"
        given += f", {_copy(f'{{ {outputs} }}')}"
    head = f"JSON.parse(JSON.stringify(await (async ({parameters}) => {{\n"
    return head, f"{step.code.text}\n", f'  }})({given})) ?? "null")'


def _copy(value: str) -> str:
    return value if value == "{}" else f"JSON.parse(JSON.stringify({value}))"


def _end(ids: Sequence[str], names: _Names) -> str:
    if not ids:
        return "return {};\n"
    outputs = ", ".join(names.outputs[name] for name in ids)
    promises = ", ".join(names.tasks[name] for name in ids)
    pairs = ", ".join(f"{key_of(name)}: {names.outputs[name]}" for name in ids)
    return f"const [{outputs}] = await Promise.all([{promises}]);\nreturn {{ {pairs} }};\n"
