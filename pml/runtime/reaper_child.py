"""The child of `pml.runtime.reaper`: waits for its parent's end, then kills and removes.

Runs with ``python -I -S`` and imports nothing of PML; signals that ask to end are blocked by
the parent.  Lines on stdin: ``+`` adds, ``-``
takes back; a number is a process group, all else a directory.
"""

import contextlib
import os
import shutil
import signal
import sys
import time

_TRIES = 100
_PAUSE_S = 0.02
"""Together 2 s: to die takes milliseconds, on a loaded machine some tens."""


def _watch() -> None:
    registered: dict[str, None] = {}  # in order: what was started last ends first
    for line in sys.stdin:
        name = line[1:].rstrip("\n")
        if line.startswith("+"):
            registered[name] = None
        else:
            registered.pop(name, None)
    groups = [name for name in reversed(registered) if name.isdigit()]
    for group in groups:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(int(group), signal.SIGKILL)
    for name in registered:
        if not name.isdigit():
            _remove(name)


def _remove(directory: str) -> None:
    """Remove it; a killed process may still write there in its last moments."""
    for _ in range(_TRIES):
        shutil.rmtree(directory, ignore_errors=True)
        if not os.path.lexists(directory):
            return
        time.sleep(_PAUSE_S)


if __name__ == "__main__":
    _watch()
