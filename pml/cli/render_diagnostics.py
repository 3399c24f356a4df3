"""What analysis says, beside the line that it says it of."""

from collections.abc import Iterable

from pml.domain.program import Diagnostic

MARGIN = 20
"""Columns kept before the caret when a long line is cut."""


def render_diagnostics(
    diagnostics: Iterable[Diagnostic], source: str, *, name: str, width: int
) -> str:
    """One paragraph per diagnostic: ``file:line:column``, the message, the line, a caret."""
    lines = source.splitlines()
    return "\n".join(_paragraph(d, lines, name=name, width=width) for d in diagnostics)


def _paragraph(diagnostic: Diagnostic, lines: list[str], *, name: str, width: int) -> str:
    head = (
        f"{name}:{diagnostic.line}:{diagnostic.column}: "
        f"{diagnostic.severity}: {diagnostic.message} [{diagnostic.code}]"
    )
    if not 1 <= diagnostic.line <= len(lines):
        return head
    gutter = f"{diagnostic.line:>5} | "
    text, column = _window(lines[diagnostic.line - 1], diagnostic.column - 1, width - len(gutter))
    length = max(1, min(len(diagnostic.text.split("\n")[0]), len(text) - column))
    return f"{head}\n{gutter}{text}\n{' ' * (len(gutter) + column)}{'^' * length}"


def _window(line: str, column: int, room: int) -> tuple[str, int]:
    """The part of a line around a column, tabs as single spaces, and the column in it."""
    flat = line.replace("\t", " ")
    start = 0 if len(flat) <= room else max(0, column - MARGIN)
    return flat[start : start + room], min(column - start, room - 1)
