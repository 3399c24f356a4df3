"""Who runs a run: names this process so that another one can tell whether it still lives.

A process id alone is reused; with its start time, and the boot and the process namespace
in which they count, it is not.
"""

import os
import socket
from pathlib import Path


def this_process() -> str:
    """The name of this process, as kept in the runs that it runs."""
    pid = os.getpid()
    return "/".join([*_place(), str(pid), _started(pid) or "?"])


def alive(owner: str) -> bool:
    """Whether that process still runs; True also where this machine cannot tell."""
    host, boot, namespace, pid, started = owner.split("/")
    here_host, here_boot, here_namespace = _place()
    if host != here_host:
        return True
    if boot != here_boot:
        return False  # the machine was restarted meanwhile
    if namespace != here_namespace:
        return True
    return _started(int(pid)) == started


def _place() -> tuple[str, str, str]:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return socket.gethostname(), boot, str(Path("/proc/self/ns/pid").stat().st_ino)


def _started(pid: int) -> str | None:
    """Start time of a process in clock ticks since boot; None when it is gone or a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat.rpartition(")")[2].split()  # the name before may hold spaces
    return None if fields[0] in "ZX" else fields[19]
