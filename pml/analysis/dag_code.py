"""The code of a task: which outputs it names, and how it names them in plain TypeScript (EX-1).

``$OUTPUT[id]`` is written in code as in arguments.  In TypeScript ``[id]`` would be a variable,
so its text is put in quotes: ``$OUTPUT["id"]``; ``$OUTPUT.id`` and ``$OUTPUT["id"]`` are left as
they are.  Nothing else of the code changes, so its lines stay.
"""

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from pml.analysis.analyse import read
from pml.analysis.dag_values import MARK
from pml.analysis.syntax import MEMBERS, Source, Syntax
from pml.domain.program import Diagnostic

_BARE = re.compile(r"\$OUTPUT\s*\[\s*([\w-]+)\s*\]", re.ASCII)
_QUOTED = re.compile(r"\$OUTPUT\s*\[\s*([\"'])([^\"'\\]*)\1\s*\]")
_MEMBER = re.compile(r"\$OUTPUT\s*\.\s*([\w$]+)")


@dataclass(frozen=True, slots=True)
class TaskCode:
    """Code that parses."""

    text: str
    names: tuple[str, ...]
    """Tasks whose output it names, in order of first use; they need not exist."""
    sees_outputs: bool
    """Whether it uses ``$OUTPUT`` at all."""


def read_code(code: str, ids: Collection[str]) -> TaskCode | Diagnostic:
    """The code as it will stand in the program, or why it does not parse.

    A name in brackets is the id of a task, unless no task has it and it is a variable.
    """
    reading = read(code)
    reading.release()
    if reading.refused:
        return reading.refused[0]
    source = Source(code)
    names: dict[str, None] = {}
    edits: list[tuple[int, int, bytes]] = []
    for node in source.of_kinds(*MEMBERS):
        if not node.children or source.text(node.children[0]) != MARK:
            continue
        text = source.text(node)
        if bare := _BARE.match(text):
            if bare[1] in ids or not _elsewhere(source, bare[1], node):
                names[bare[1]] = None
                edits.append(_quoted(source, node, bare[1]))
        elif quoted := _QUOTED.match(text):
            names[quoted[2]] = None
        elif member := _MEMBER.match(text):
            names[member[1]] = None
    used = any(source.text(node) == MARK for node in source.of_kinds("identifier"))
    return TaskCode(_edited(source.data, edits), tuple(names), used)


def _elsewhere(source: Source, name: str, member: Syntax) -> bool:
    """Whether an identifier of that name stands outside of ``member``: then it is a variable."""
    found: Iterator[Syntax] = iter(source.of_kinds("identifier"))
    return any(
        source.text(node) == name and not member.start <= node.start < member.end for node in found
    )


def _quoted(source: Source, node: Syntax, name: str) -> tuple[int, int, bytes]:
    start = source.data.index(b"[", node.start) + 1
    return start, source.data.index(b"]", start), json.dumps(name).encode()


def _edited(data: bytes, edits: list[tuple[int, int, bytes]]) -> str:
    for start, end, text in reversed(edits):
        data = data[:start] + text + data[end:]
    return data.decode()
