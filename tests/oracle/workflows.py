"""What an explicit workflow means: a Python interpreter of it, and random workflows (EX-1).

The interpreter knows nothing of TypeScript: it keeps which tasks have succeeded, and starts
whatever waits for nothing more.  It has the JavaScript of paths only: a member of null or of a
number that is not there.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec
from hypothesis import strategies as st

from pml.domain.dag import DagTask, ExplicitDag, TaskType

ABSENT = object()
"""JavaScript's undefined."""
_REFERENCE = re.compile(r"\$OUTPUT\[(\w+)\]((?:\.\w+|\[\d+\])*)")
CODES: dict[str, Callable[[dict[str, Any], dict[str, Any]], Any]] = {
    "return args.x;": lambda args, _: args.get("x"),
    "return { got: args };": lambda args, _: {"got": args},
    "if (args.x === 1) return; return [args.x];": lambda args, _: (
        None if args.get("x") == 1 and args.get("x") is not True else [args.get("x")]
    ),
    "const all = Object.values($OUTPUT); all.push(args.x); return all.length;": (
        lambda _, outputs: len(outputs) + 1
    ),
    "args.x = Object.assign($OUTPUT, { b: 7 }); return $OUTPUT;": lambda _, outputs: {
        **outputs,
        "b": 7,
    },
}
"""Code of tasks, and what it makes of arguments and outputs."""
CALLING = "const got = await mcp.s.b({ x: args.x }); return [got];"
THROWING = 'throw new Error("no");'


class TypeErrorThrownError(Exception):
    """A path goes through null or undefined."""


@dataclass(slots=True)
class Interpreted:
    """One run of a workflow."""

    dag: ExplicitDag
    outputs: dict[str, Any] = field(default_factory=dict)
    started: set[str] = field(default_factory=set)
    failed: str | None = None
    """``TypeError``, ``Error`` or ``ToolError``, of the first task that failed."""

    def go_on(self) -> list[tuple[str, str, str]]:
        """Start what can start: task, tool and arguments of each call, in no order."""
        calls: list[tuple[str, str, str]] = []
        while ready := [t for t in self.dag.tasks if t.id not in self.started and self._may(t)]:
            for task in ready:
                self.started.add(task.id)
                calls += self._start(task)
        return calls

    @property
    def settled(self) -> bool:
        return self.failed is not None or len(self.outputs) == len(self.dag.tasks)

    def answered(self, task: str, value: Any) -> None:  # noqa: ANN401  # JSON
        """The call of a task came back."""
        self.outputs[task] = [value] if self._task(task).code == CALLING else value

    def result(self) -> Any:  # noqa: ANN401  # JSON
        return {t.id: self.outputs[t.id] for t in self.dag.tasks}

    def _task(self, name: str) -> DagTask:
        return next(task for task in self.dag.tasks if task.id == name)

    def _may(self, task: DagTask) -> bool:
        return set(waits(task)) <= self.outputs.keys()

    def _start(self, task: DagTask) -> list[tuple[str, str, str]]:
        try:
            arguments = self._resolved(task.arguments)
        except TypeErrorThrownError:
            self.failed = self.failed or "TypeError"
            return []
        if task.code is None:
            return [(task.id, task.tool, text_of(arguments))]
        if task.code == CALLING:
            given = {"x": arguments["x"]} if "x" in arguments else {}
            return [(task.id, "s:b", text_of(given))]
        if task.code == THROWING:
            self.failed = self.failed or "Error"
            return []
        seen = {name: self.outputs[name] for name in waits(task)}
        if named := _REFERENCE.search(task.code):
            self.outputs[task.id] = self.outputs[named[1]]
        else:
            self.outputs[task.id] = CODES[task.code](arguments, seen)
        return []

    def _resolved(self, value: Any) -> Any:  # noqa: ANN401  # JSON
        if isinstance(value, dict):
            found = {key: self._resolved(inner) for key, inner in value.items()}
            return {key: inner for key, inner in found.items() if inner is not ABSENT}
        if isinstance(value, list):
            items = [self._resolved(inner) for inner in value]
            return [None if inner is ABSENT else inner for inner in items]
        if not isinstance(value, str):
            return value
        if whole := _REFERENCE.fullmatch(value):
            return self._value(whole)
        return _REFERENCE.sub(lambda match: _shown(self._value(match)), value)

    def _value(self, match: "re.Match[str]") -> Any:  # noqa: ANN401  # JSON
        value = self.outputs[match[1]]
        for step in re.findall(r"\w+", match[2]):
            value = _member(value, step)
        return value


def waits(task: DagTask) -> list[str]:
    """What must have succeeded before a task starts."""
    said = json.dumps(task.arguments) + (task.code or "")
    named = [match[1] for match in _REFERENCE.finditer(said)]
    return list(dict.fromkeys([*task.depends_on, *named]))


def _member(value: Any, step: str) -> Any:  # noqa: ANN401  # JSON
    if value is None or value is ABSENT:
        raise TypeErrorThrownError
    if isinstance(value, dict):
        return value.get(step, ABSENT)
    if isinstance(value, list | str):
        if step == "length":
            return len(value)
        return value[int(step)] if step.isdigit() and int(step) < len(value) else ABSENT
    return ABSENT


def _shown(value: Any) -> str:  # noqa: ANN401  # JSON
    if value is ABSENT:
        return "undefined"
    return value if isinstance(value, str) else text_of(value)


def text_of(value: Any) -> str:  # noqa: ANN401  # JSON
    """As `JSON.stringify` writes it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


OUTPUTS = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["", "word", "`${x}\\"]),
    lambda inner: st.lists(inner, max_size=2) | st.fixed_dictionaries({"a": inner}),
    max_leaves=4,
)
"""What tools return."""
PATHS = st.sampled_from(["", ".a", "[0]", ".a[0]", ".a.a", ".length", "[1]"])


@st.composite
def workflows(draw: st.DrawFn) -> ExplicitDag:
    """Up to seven tasks of all kinds, in any order, that wait for some of the others."""
    tasks: list[DagTask] = []
    for place in range(draw(st.integers(1, 7))):
        earlier = [task.id for task in tasks]
        before = draw(st.lists(st.sampled_from(earlier), max_size=2, unique=True)) if place else []
        named = draw(st.lists(st.sampled_from(earlier), max_size=2)) if place else []
        tasks.append(
            msgspec.structs.replace(
                draw(_kinds(place, earlier)),
                arguments=draw(_arguments(named)),
                depends_on=tuple(before),
            )
        )
    return ExplicitDag(tasks=tuple(draw(st.permutations(tasks))))


@st.composite
def _kinds(draw: st.DrawFn, place: int, earlier: list[str]) -> DagTask:
    name = f"t{place}"
    kind = draw(st.sampled_from(["tool", "tool", "tool", "capability", "code"]))
    if kind == "tool":
        return DagTask(id=name, tool=draw(st.sampled_from(["s:a", "s:b", "my-server:read-file"])))
    if kind == "capability":
        return DagTask(id=name, type=TaskType.CAPABILITY, tool="capabilities:tidy")
    code = draw(st.sampled_from([*CODES, CALLING, CALLING, THROWING]))
    if earlier and code in CODES and draw(st.booleans()):
        code = f"return $OUTPUT[{draw(st.sampled_from(earlier))}];"
    return DagTask(id=name, type=TaskType.CODE_EXECUTION, code=code)


def _arguments(named: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    values: list[st.SearchStrategy[Any]] = [
        st.sampled_from([1, None, "word", "`${x}\\ $", ["deep"], {}])
    ]
    for name in named:
        whole = st.builds(f"$OUTPUT[{name}]{{}}".format, PATHS)
        values += [whole, st.builds("<{0}> {0}".format, whole), st.lists(whole, max_size=1)]
    return st.dictionaries(
        st.sampled_from(["x", "y-z", "__proto__"]), st.one_of(values), max_size=2
    )
