"""Explicit workflows compiled to TypeScript, so that they take the same path as code (EX-1).

Every task becomes a promise that starts when the promises of its ``depends_on`` have
succeeded, so exactly what the workflow allows runs side by side.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from pml.domain.dag import DagTask, ExplicitDag
from pml.errors import DagError

_REFERENCE = re.compile(r"\$OUTPUT\[([^\]]*)\]((?:\.[A-Za-z_$][\w$]*|\[\d+\]|\[\"[^\"\\]*\"\])*)")
_TEXT = (
    'const text = (value: unknown) => typeof value === "string" ? value : JSON.stringify(value);'
)


def compile_dag(dag: ExplicitDag) -> str:
    """The program of a workflow; it returns an object with every task's output by id.

    ``$OUTPUT[id].path`` alone in a string stands for the value, inside a longer string for
    its text.

    Raises:
        DagError: an id twice or unknown, a cycle, a tool that is no ``server:tool``, or a
            reference to a task that need not have run.
    """
    order = _checked(dag)
    names = {task.id: f"task{place}" for place, task in enumerate(dag.tasks, start=1)}
    uses_text = any(_mixes(task.arguments) for task in dag.tasks)
    lines = [_TEXT] if uses_text else []
    for task in order:
        lines += _task_lines(task, names)
    if not dag.tasks:
        return "return {};\n"
    results = ", ".join(f"{names[task.id]}Output" for task in dag.tasks)
    promises = ", ".join(names[task.id] for task in dag.tasks)
    lines.append(f"const [{results}] = await Promise.all([{promises}]);")
    pairs = ", ".join(f"{_key(task.id)}: {names[task.id]}Output" for task in dag.tasks)
    lines.append(f"return {{ {pairs} }};")
    return "\n".join(lines) + "\n"


def _task_lines(task: DagTask, names: dict[str, str]) -> list[str]:
    server, _, tool = task.tool.partition(":")
    call = f"mcp{_access(server)}{_access(tool)}({_value(task.arguments, names)})"
    comment = f"// {' '.join(task.id.split())}"
    name = names[task.id]
    used = list(dict.fromkeys(found[1] for found in _references(task.arguments)))
    if not task.depends_on and not used:
        return [comment, f"const {name} = {call};"]
    waits = [*dict.fromkeys([*task.depends_on, *used])]
    outputs = ", ".join(f"{names[w]}Output" if w in used else "" for w in waits)
    promises = ", ".join(names[w] for w in waits)
    target = f"const [{outputs}] = " if used else ""
    return [
        comment,
        f"const {name} = (async () => {{",
        f"  {target}await Promise.all([{promises}]);",
        f"  return await {call};",
        "})();",
    ]


def _checked(dag: ExplicitDag) -> Sequence[DagTask]:
    """The tasks, each after those that it depends on."""
    by_id: dict[str, DagTask] = {}
    for task in dag.tasks:
        if task.id in by_id:
            raise DagError(task.id, "the id is used twice: every task needs its own")
        by_id[task.id] = task
    order: list[DagTask] = []
    before: dict[str, set[str]] = {}
    waiting = list(dag.tasks)
    for task in waiting:
        for name in task.depends_on:
            if name not in by_id:
                raise DagError(task.id, f"depends_on names {name!r}, which is no task")
    while waiting:
        ready = [t for t in waiting if all(d in before for d in t.depends_on)]
        if not ready:
            cycle = ", ".join(sorted(t.id for t in waiting))
            raise DagError(waiting[0].id, f"depends_on goes round in a circle among {cycle}")
        for task in ready:
            before[task.id] = set(task.depends_on).union(*(before[d] for d in task.depends_on))
        order += ready
        waiting = [t for t in waiting if t.id not in before]
    for task in dag.tasks:
        _check_task(task, before)
    return order


def _check_task(task: DagTask, before: dict[str, set[str]]) -> None:
    server, colon, tool = task.tool.partition(":")
    if not (server and colon and tool):
        raise DagError(task.id, f"the tool is {task.tool!r}, expected server:tool")
    for text in _strings(task.arguments):
        for match in _REFERENCE.finditer(text):
            if match[1] not in before:
                raise DagError(task.id, f"{match[0]} refers to {match[1]!r}, which is no task")
            if match[1] not in before[task.id]:
                message = f"{match[0]} is used without waiting: add {match[1]!r} to depends_on"
                raise DagError(task.id, message)
        if "$OUTPUT" in _REFERENCE.sub("", text):
            message = f"{text!r} holds a malformed reference, expected $OUTPUT[id].field[0]"
            raise DagError(task.id, message)


def _strings(value: Any) -> Iterator[str]:  # noqa: ANN401  # JSON
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _strings(inner)


def _references(value: Any) -> Iterator["re.Match[str]"]:  # noqa: ANN401  # JSON
    for text in _strings(value):
        yield from _REFERENCE.finditer(text)


def _mixes(value: Any) -> bool:  # noqa: ANN401  # JSON
    return any(
        _REFERENCE.search(text) and not _REFERENCE.fullmatch(text) for text in _strings(value)
    )


def _value(value: Any, names: dict[str, str]) -> str:  # noqa: ANN401  # JSON
    """The expression that makes a JSON value with its references resolved."""
    if isinstance(value, str):
        return _string(value, names)
    if isinstance(value, dict):
        pairs = [f"{_key(key)}: {_value(inner, names)}" for key, inner in value.items()]
        return f"{{ {', '.join(pairs)} }}" if pairs else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(inner, names) for inner in value)}]"
    return json.dumps(value)


def _string(text: str, names: dict[str, str]) -> str:
    whole = _REFERENCE.fullmatch(text)
    if whole is not None:
        return f"{names[whole[1]]}Output{whole[2]}"
    if _REFERENCE.search(text) is None:
        return json.dumps(text)
    parts: list[str] = []
    done = 0
    for match in _REFERENCE.finditer(text):
        parts.append(_template(text[done : match.start()]))
        parts.append(f"${{text({names[match[1]]}Output{match[2]})}}")
        done = match.end()
    parts.append(_template(text[done:]))
    return f"`{''.join(parts)}`"


def _template(text: str) -> str:
    inner = json.dumps(text)[1:-1].replace('\\"', '"')
    return inner.replace("`", "\\`").replace("${", "\\${")


def _access(name: str) -> str:
    plain = re.fullmatch(r"[A-Za-z_$][\w$]*", name, re.ASCII)
    return f".{name}" if plain else f"[{json.dumps(name)}]"


def _key(name: str) -> str:
    """A property key; computed where a plain one would set the prototype."""
    if name == "__proto__":
        return '["__proto__"]'
    plain = re.fullmatch(r"[A-Za-z_$][\w$]*", name, re.ASCII)
    return name if plain else json.dumps(name)
