"""``$OUTPUT[id].path`` in the arguments of a task: found, and written as TypeScript (EX-1).

Alone in a string a reference stands for the value, inside a longer string for its text.
A path means what it means in code: what is not there is undefined, and left out.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

REFERENCE = re.compile(
    r"\$OUTPUT\[\s*([\"']?)([^\]\"']*?)\1\s*\]"
    r"((?:\.[A-Za-z_$][\w$]*|\[\d+\]|\[\"[^\"\\\n]*\"\]|\['[^'\\\n]*'\])*)",
    re.ASCII,
)
"""Groups: a quote, the id of a task, and the path into its output."""
MARK = "$OUTPUT"
_NAME = re.compile(r"[A-Za-z_$][\w$]*", re.ASCII)


def strings(value: Any) -> Iterator[str]:  # noqa: ANN401  # JSON
    """Every string among the values of a JSON value; keys hold no references."""
    pending = [value]
    while pending:
        one = pending.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, Mapping):
            pending += reversed(list(one.values()))
        elif isinstance(one, list | tuple):
            pending += reversed(one)


def references(value: Any) -> Iterator[re.Match[str]]:  # noqa: ANN401  # JSON
    """The references in a JSON value, in order."""
    for text in strings(value):
        yield from REFERENCE.finditer(text)


def expression(value: Any, outputs: Mapping[str, str]) -> str:  # noqa: ANN401  # JSON
    """The expression that makes a JSON value with its references resolved.

    No function is called for it but standard ones, so analysis sees what flows where.

    Args:
        value: nested at most as deep as a request may be.
        outputs: the variable that holds the output of each task.
    """
    if isinstance(value, str):
        return _string(value, outputs)
    if isinstance(value, Mapping):
        pairs = [f"{key_of(key)}: {expression(inner, outputs)}" for key, inner in value.items()]
        return f"{{ {', '.join(pairs)} }}" if pairs else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(expression(inner, outputs) for inner in value)}]"
    return json.dumps(value)


def _string(value: str, outputs: Mapping[str, str]) -> str:
    whole = REFERENCE.fullmatch(value)
    if whole is not None:
        return f"{outputs[whole[2]]}{whole[3]}"
    if REFERENCE.search(value) is None:
        return json.dumps(value)
    parts: list[str] = []
    done = 0
    for match in REFERENCE.finditer(value):
        parts.append(_template(value[done : match.start()]))
        found = f"{outputs[match[2]]}{match[3]}"
        parts.append(f'${{typeof {found} === "string" ? {found} : JSON.stringify({found})}}')
        done = match.end()
    parts.append(_template(value[done:]))
    return f"`{''.join(parts)}`"


def _template(text: str) -> str:
    inner = json.dumps(text)[1:-1].replace('\\"', '"')
    return inner.replace("`", "\\`").replace("${", "\\${")


def access(name: str) -> str:
    """How a member of that name is reached."""
    return f".{name}" if _NAME.fullmatch(name) else f"[{json.dumps(name)}]"


def key_of(name: str) -> str:
    """A property key; computed where a plain one would set the prototype."""
    if name == "__proto__":
        return '["__proto__"]'
    return name if _NAME.fullmatch(name) else json.dumps(name)
