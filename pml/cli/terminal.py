"""The two streams: results on stdout, everything else on stderr.

Intents, descriptions, errors and what servers write come from others, and a terminal obeys
control characters: none passes here but line ends and tabs.  JSON has them escaped already.
"""

import asyncio
import os
import shutil
import sys

from pml.domain.record import encode
from pml.domain.visible import visible

MAX_WIDTH = 120
"""Wider lines are hard to read, whatever the terminal allows."""


def width() -> int:
    """Columns to fill: the terminal's, 80 where there is none."""
    return min(MAX_WIDTH, shutil.get_terminal_size((80, 24)).columns)


def result(text: str) -> None:
    """A result for people."""
    sys.stdout.write(visible(text).rstrip("\n") + "\n")
    sys.stdout.flush()


def result_json(record: object) -> None:
    """A result for programs: one JSON value and a line end, nothing else."""
    sys.stdout.buffer.write(encode(record) + b"\n")
    sys.stdout.buffer.flush()


def note(text: str) -> None:
    """Progress, or an error; where nobody reads it (`2>&1 | head`), the work goes on."""
    try:
        sys.stderr.write(visible(text).rstrip("\n") + "\n")
        sys.stderr.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def asked_at_terminal() -> bool:
    """Whether somebody can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


async def ask_yes_no(question: str) -> bool | None:
    """What the person at the terminal answers; None for anything but yes and no.

    The event loop goes on meanwhile (a lease is kept), and Ctrl-C ends the wait.
    """
    sys.stderr.write(question)
    sys.stderr.flush()
    loop, answered = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(sys.stdin, answered.set)
    try:
        await answered.wait()
    finally:
        loop.remove_reader(sys.stdin)
    return _ANSWERS.get(sys.stdin.readline().strip().lower())


_ANSWERS = {"y": True, "yes": True, "n": False, "no": False}
