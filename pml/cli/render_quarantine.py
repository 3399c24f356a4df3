"""What changed of a tool, for the person who decides whether it may be called again (HIL-5)."""

import json
from collections.abc import Iterator, Sequence
from difflib import unified_diff

from pml.domain.approval import Quarantined
from pml.domain.tools import Tool

_CONTEXT = 2
_HEADER = 2
"""Lines of a unified diff that name two files."""


def render_changes(held: Sequence[Quarantined]) -> str:
    """Every changed part of every tool, line by line."""
    return "\n\n".join(part for each in held for part in _parts(each))


def _parts(held: Quarantined) -> Iterator[str]:
    for name in held.now.changed:
        before, after = _lines(held.accepted, name), _lines(held.now, name)
        lines = [*unified_diff(before, after, n=_CONTEXT, lineterm="")][_HEADER:]
        yield "\n".join([f"{held.now.id}: {name}", *(f"  {line}" for line in lines)])


def _lines(tool: Tool, part: str) -> list[str]:
    """A part of the tool under the name that `changes_of` gives it."""
    if part == "description":
        return tool.description.splitlines()
    value = {
        "input schema": tool.input_schema,
        "output schema": tool.output_schema,
        "annotations": tool.annotations,
    }[part]
    return json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True).splitlines()
