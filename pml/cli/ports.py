"""Who listens on a port of this machine."""

import contextlib
import http.client
import json
import socket
from pathlib import Path

DEFAULT_PORT = 3333
"""Where `pml serve` listens unless told otherwise; ``client-config --http`` points there."""
LOOPBACK = "127.0.0.1"
ANSWER_TIMEOUT_S = 2
"""On this machine it takes a millisecond; whoever takes longer is no PML."""
HEALTH_BYTES = 1_000_000
_LISTENS = "0A"
"""The state of a listening socket in /proc/net/tcp."""


def bind_fault(host: str, port: int) -> str | None:
    """Why no server can listen there; None where one can."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as attempt:
            attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            attempt.bind(address)
    except OSError as exc:
        return exc.strerror or str(exc)
    return None


def pml_at(port: int) -> str | None:
    """The version of the PML that serves at a port of this machine; None if none does."""
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=ANSWER_TIMEOUT_S)
    try:
        connection.request("GET", "/health")
        said = json.loads(connection.getresponse().read(HEALTH_BYTES))
        return str(said["version"]) if said["status"] == "ok" else None
    except (OSError, http.client.HTTPException, ValueError, LookupError, TypeError):
        return None  # nobody listens, or somebody else
    finally:
        connection.close()


def holder(port: int) -> str:
    """``pid 123 (pml serve)`` of who listens on a port; empty where Linux does not say."""
    inodes = _listening(port)
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it ended, or belongs to another user
            if any(str(fd.readlink()) in inodes for fd in (process / "fd").iterdir()):
                words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
                return f"pid {process.name} ({' '.join(words).strip()[:120]})"
    return ""


def _listening(port: int) -> set[str]:
    """The sockets that listen on a port, as links of /proc name them."""
    found = set()
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        with contextlib.suppress(OSError):
            for line in table.read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTENS and int(fields[1].rpartition(":")[2], 16) == port:
                    found.add(f"socket:[{fields[9]}]")
    return found
