"""Plain tables that fit a terminal: the last column is cut, never wrapped."""

import textwrap
from collections.abc import Sequence
from datetime import UTC, datetime

SECOND_MS = 1_000
MINUTE_MS = 60_000
MIN_LAST = 10
"""Columns that the last column keeps, however narrow the terminal."""


def shorten(text: str, width: int) -> str:
    """One line of at most ``width`` characters; a cut shows as ``...``."""
    line = " ".join(text.split())
    return line if len(line) <= width else line[: max(0, width - 3)] + "..."


def wrapped(text: str, first: str, rest: str, width: int) -> list[str]:
    """Lines of whole words: a path or an address is never broken."""
    return textwrap.wrap(
        text or "nothing",
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], *, width: int) -> str:
    """Columns two spaces apart, as wide as their widest cell; the last takes what is left."""
    cells = [[" ".join(cell.split()) for cell in row] for row in (headers, *rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(headers))]
    last = max(MIN_LAST, width - sum(w + 2 for w in widths[:-1]))
    lines = []
    for row in cells:
        head = [cell.ljust(w) for cell, w in zip(row[:-1], widths, strict=False)]
        lines.append("  ".join([*head, shorten(row[-1], last)]).rstrip())
    return "\n".join(lines)


def duration(ms: float) -> str:
    """``0.4 ms``, ``37 ms``, ``1.24 s`` or ``3 min 5 s``."""
    if ms < 1:
        return f"{ms:.1f} ms"
    if ms < SECOND_MS:
        return f"{ms:.0f} ms"
    if ms < MINUTE_MS:
        return f"{ms / SECOND_MS:.2f} s"
    minutes, seconds = divmod(round(ms / SECOND_MS), 60)
    return f"{minutes} min {seconds} s"


def moment(at_ms: int) -> str:
    """UTC, to the second; the same on every machine, so that outputs compare."""
    return datetime.fromtimestamp(at_ms / 1_000, UTC).strftime("%Y-%m-%d %H:%M:%S")
