"""An explicit workflow: tasks, what each waits for, and ``$OUTPUT[id]`` in arguments (EX-1).

The records are the one form that PML stores and returns.  `read_dag` takes what agents send,
in every spelling that PML's documents have used.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

import msgspec

from pml.domain.capability import CAPABILITY_SERVER
from pml.domain.nearest import did_you_mean
from pml.domain.record import Record
from pml.errors import RequestError

TASK_ID = r"^[A-Za-z0-9_][A-Za-z0-9_-]*$"


class TaskType(StrEnum):
    """What a task does."""

    MCP_TOOL = "mcp_tool"
    """Calls a tool of a server."""
    CODE_EXECUTION = "code_execution"
    """Runs ``code``, which sees the outputs that it names as ``$OUTPUT[id]``."""
    CAPABILITY = "capability"
    """Calls a capability."""


class DagTask(Record, frozen=True, kw_only=True):
    """One step; starts when every task that it waits for has succeeded.

    It waits for the tasks in ``depends_on`` and for those whose output it names.
    """

    id: Annotated[str, msgspec.Meta(pattern=TASK_ID)]
    type: TaskType = TaskType.MCP_TOOL
    tool: Annotated[str, msgspec.Meta(pattern=r"^([^:]+:[\s\S]+)?$")] = ""
    """``server:tool``, or ``capabilities:name``; empty where the task is code."""
    code: str | None = None
    """Of `TaskType.CODE_EXECUTION`: the body of an async function; ``args`` are the task's
    arguments, and what it returns is its output."""
    arguments: dict[str, Any] = {}  # noqa: RUF012
    """Strings may hold ``$OUTPUT[id]`` or ``$OUTPUT[id].field[0]``, at any depth."""
    depends_on: tuple[str, ...] = msgspec.field(name="depends_on", default=())


class ExplicitDag(Record, frozen=True, kw_only=True):
    """A workflow given as tasks instead of code; compiled to TypeScript, then one path."""

    tasks: Annotated[tuple[DagTask, ...], msgspec.Meta(min_length=1)]


_SPELLINGS = {"args": "arguments", "dependsOn": "depends_on"}
_NO_MEANING = frozenset({"sideEffects", "side_effects"})
"""What a tool does to the world is said by permissions, not by who calls it."""
_FIELDS = DagTask.__struct_encode_fields__
_WORDS = (
    ("Expected `str` matching regex " + repr(TASK_ID), "expected letters, digits, _ and -"),
    ("Expected `str` matching regex '^([^:]+:[\\\\s\\\\S]+)?$'", "expected server:tool"),
    ("Expected `array` of length >= 1", "expected at least one task"),
    ("Object missing required field", "missing"),
    ("Expected `array`", "expected a list"),
    ("Expected `object`", "expected an object"),
    ("Expected `str`", "expected text"),
    ("Invalid enum value", f"expected one of {', '.join(TaskType)}, got"),
)


def read_dag(value: Any, at: str = "dag") -> ExplicitDag:  # noqa: ANN401  # JSON
    """A workflow as agents send it.

    Beside the record's own form ``args``, ``dependsOn`` and ``workflow.tasks`` are taken, a bare
    name as the tool of a capability task, and null for what is left out.

    Args:
        value: decoded JSON.
        at: what messages call it.

    Raises:
        RequestError: says which field, what was found and what was expected there.
    """
    tasks, at = _tasks(value, at)
    plain = [_task(task, f"{at}[{place}]") for place, task in enumerate(tasks)]
    try:
        return msgspec.convert({"tasks": plain}, ExplicitDag)
    except msgspec.ValidationError as exc:
        reason, _, where = str(exc).partition(" - at `$.tasks")
        raise _wrong(at + where.rstrip("`"), _in_words(reason)) from exc


def _tasks(value: Any, at: str) -> tuple[list[Any], str]:  # noqa: ANN401  # JSON
    if isinstance(value, Mapping) and "workflow" in value:
        value, at = _alone(value, "workflow", at)
    if not isinstance(value, Mapping) or "tasks" not in value:
        raise _wrong(at, f"expected an object with tasks, got {_kind(value)}")
    tasks, at = _alone(value, "tasks", at)
    if not isinstance(tasks, list):
        raise _wrong(at, f"expected a list of tasks, got {_kind(tasks)}")
    return tasks, at


def _alone(value: Mapping[str, Any], key: str, at: str) -> tuple[Any, str]:
    """What stands under the only key that is allowed here, and how messages call it."""
    others = ", ".join(sorted(set(value) - {key}))
    if others:
        raise _wrong(at, f"expected only {key}, found {others} too")
    return value[key], f"{at}.{key}"


def _task(task: Any, at: str) -> dict[str, Any]:  # noqa: ANN401  # JSON
    if not isinstance(task, Mapping):
        raise _wrong(at, f"expected an object with id and tool, got {_kind(task)}")
    plain: dict[str, Any] = {}
    for key, value in task.items():
        field, name = f"{at}.{key}", str(_SPELLINGS.get(key, key))
        if name in _NO_MEANING or value is None:
            continue
        if name not in _FIELDS:
            hint = did_you_mean(name, _FIELDS) or f"; expected only {', '.join(_FIELDS)}"
            raise _wrong(field, f"no such field{hint}")
        if name in plain:
            raise _wrong(field, f"means the same as {name}: give one of them")
        plain[name] = value
    if plain.get("type") == TaskType.CODE_EXECUTION:
        plain.pop("tool", None)  # the first form of tasks had one always
    elif plain.get("type") == TaskType.CAPABILITY and isinstance(plain.get("tool"), str):
        plain["tool"] = f"{CAPABILITY_SERVER}:{plain['tool'].removeprefix(_CAPABILITIES)}"
    return plain


_CAPABILITIES = f"{CAPABILITY_SERVER}:"


def _wrong(at: str, message: str) -> RequestError:
    return RequestError(f"{at}: {message}")


def _kind(value: object) -> str:
    kinds = {dict: "an object without tasks", list: "a list", str: "text", type(None): "nothing"}
    return kinds.get(
        type(value), "a number" if isinstance(value, int | float) else "something else"
    )


def _in_words(reason: str) -> str:
    for start, words in _WORDS:
        if reason.startswith(start):
            return words + reason[len(start) :].replace(", got `", ", got ").replace("`", "")
    return reason.replace("`", "")
