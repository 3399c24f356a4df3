"""Becomes a sandbox: gives up what a sandbox must not have, then executes Deno in its place.

A program of its own instead of a ``preexec_fn``, because code between fork and exec is
unsafe in a process with threads.  Runs with ``python -I -S`` and imports nothing of PML.
One argument, JSON: ``deno`` (path), ``argv``, ``env``, ``limits`` (name to soft and hard), ``uid``
(or null), ``parent`` (pid whose death is ours, or null).
"""

import ctypes
import json
import os
import resource
import signal
import sys
from typing import Any

_PR_SET_PDEATHSIG = 1
_PR_SET_NO_NEW_PRIVS = 38


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option})")


def _become(plan: dict[str, Any]) -> None:
    # opened while we may still walk to it: the program need not be reachable for the new user
    deno = os.open(plan["deno"], os.O_RDONLY | os.O_CLOEXEC)
    for name, value in plan["limits"].items():
        resource.setrlimit(getattr(resource, name), tuple(value))
    # a write past RLIMIT_FSIZE then fails, instead of ending the process
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    os.umask(0o077)
    if plan["uid"] is not None:
        os.setgroups([])
        os.setgid(plan["uid"])
        os.setuid(plan["uid"])
    if sys.platform == "linux":
        _prctl(_PR_SET_NO_NEW_PRIVS, 1)
        if plan["parent"] is not None:
            # after setuid, which clears it; the check closes the gap before it was set
            _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != plan["parent"]:
                os._exit(1)
    try:
        os.execve(deno, plan["argv"], plan["env"])  # noqa: S606  # no shell wanted
    except OSError:
        # a script cannot be executed by descriptor
        os.execve(plan["deno"], plan["argv"], plan["env"])  # noqa: S606


if __name__ == "__main__":
    try:
        _become(json.loads(sys.argv[1]))
    except OSError as error:
        sys.stderr.write(f"the sandbox cannot start: {error}\n")
        os._exit(72)
