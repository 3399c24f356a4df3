"""Processes as the chaos sees them: who descends from whom, who is gone, what is left.

The program that makes the chaos adopts every orphan below it (`adopt_orphans`), so a process
that something left behind is found among its descendants, whoever started it.
"""

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Iterable

import psutil

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_LIBC = ctypes.CDLL(None, use_errno=True)


def adopt_orphans() -> None:
    """Become the parent of every process below that loses its own.

    Raises:
        OSError: the kernel refuses.
    """
    if _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def end_with_parent() -> None:
    """Before the program of a child begins: it is told to end when the chaos itself is killed."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def below(pid: int) -> list[psutil.Process]:
    """Every living process that descends from ``pid``, parents before children."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return [each for each in psutil.Process(pid).children(recursive=True) if lives(each)]
    return []


def lives(process: psutil.Process) -> bool:
    """Whether it runs; a zombie does not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def command(process: psutil.Process) -> str:
    """Its command line; empty if it is gone."""
    try:
        return " ".join(process.cmdline())
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return ""


def is_sandbox(process: psutil.Process) -> bool:
    """Whether it is Deno with a program, or waiting for one."""
    return command(process).startswith("deno run")


def is_backend(process: psutil.Process) -> bool:
    """Whether it is the side of PostgreSQL that serves one connection of PML."""
    words = command(process).split()
    return words[:1] == ["postgres:"] and "[local]" in words


def signal_to(process: psutil.Process, number: int) -> bool:
    """Send a signal; False: it was gone."""
    try:
        process.send_signal(number)
    except psutil.NoSuchProcess:
        return False
    return True


def left_of(processes: Iterable[psutil.Process], within_s: float) -> list[str]:
    """What still lives after so long, as ``pid: command``."""
    deadline = time.monotonic() + within_s
    left = [each for each in processes if lives(each)]
    while left and time.monotonic() < deadline:
        reap()
        time.sleep(0.02)
        left = [each for each in left if lives(each)]
    return [f"{each.pid}: {command(each)[:120]}" for each in left]


def reap() -> None:
    """Take note of the ends of adopted processes, and leave those of our own children alone."""
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.NoSuchProcess, ChildProcessError):
            if child.status() == psutil.STATUS_ZOMBIE and child.pid not in OURS:
                os.waitpid(child.pid, os.WNOHANG)


OURS: set[int] = set()
"""Children that this program started itself, and waits for itself."""
