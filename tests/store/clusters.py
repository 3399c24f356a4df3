"""What the tests of the embedded server do with it: ask, kill, wait, connect."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg

from pml.store.embedded import EmbeddedPostgres
from pml.store.supervisor.layout import CLUSTER_PATH

BOUND_S = 30.0
CLIENT = """
import sys
from pathlib import Path
from pml.store.embedded import EmbeddedPostgres
server = EmbeddedPostgres(Path(sys.argv[1]))
server.start()
print("started", flush=True)
sys.stdin.readline()
server.close()
"""


def until(happened: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + BOUND_S
    while not happened():
        assert time.monotonic() < deadline, f"not within {BOUND_S} s: {what}"
        time.sleep(0.01)


def postmaster(server: EmbeddedPostgres) -> int:
    return int(server.layout.pid_file.read_text().splitlines()[0])


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def insert(server: EmbeddedPostgres, number: int) -> None:
    with connect(server) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS kept (number int)")
        connection.execute("INSERT INTO kept VALUES (%s)", (number,))


def kept(server: EmbeddedPostgres) -> list[int]:
    with connect(server) as connection:
        return [row[0] for row in connection.execute("SELECT number FROM kept ORDER BY 1")]


def connect(server: EmbeddedPostgres) -> psycopg.Connection[tuple[Any, ...]]:
    """A connection, once the server has recovered."""
    deadline = time.monotonic() + BOUND_S
    while True:
        server.start()
        try:
            return psycopg.connect(server.conninfo("postgres"), autocommit=True)
        except psycopg.OperationalError:
            assert time.monotonic() < deadline
            time.sleep(0.01)


def start_client(data_dir: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", CLIENT, str(data_dir)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def wait_for_start(client: "subprocess.Popen[str]") -> None:
    assert client.stdout is not None
    assert client.stdout.readline() == "started\n"


def end(client: "subprocess.Popen[str]") -> None:
    client.communicate("\n", timeout=BOUND_S)


def leave_pid_file(server: EmbeddedPostgres, pid: int) -> None:
    lines = f"{pid}\n{CLUSTER_PATH}\n1700000000\n5432\n{CLUSTER_PATH}\n\n"
    for name in ("postmaster.pid", ".s.PGSQL.5432.lock"):
        file = server.layout.cluster / name
        file.write_text(lines)
        owner = server.layout.cluster.stat()
        os.chown(file, owner.st_uid, owner.st_gid)


def supervises(process: Path, base: Path) -> bool:
    """Whether the process is the (detached) supervisor of ``base``."""
    try:
        arguments = (process / "cmdline").read_bytes().split(b"\0")
        sid = os.getsid(int(process.name))
    except (FileNotFoundError, ProcessLookupError):
        return False
    return str(base).encode() in arguments and sid == int(process.name)
