"""The cluster on disk: made whole or not at all, and never shared with a server of others."""

import os
import shutil
import signal
import tempfile
import time
from pathlib import Path

from pml.errors import EmbeddedPostgresError
from pml.store.supervisor.account import Account, spawn
from pml.store.supervisor.layout import CLUSTER_PATH, SETTINGS, Layout

SUPERUSER = "postgres"
_INITIALISING = "initialising-"
_ORPHAN_WAIT_S = 15.0  # a server whose supervisor was killed is already shutting down
_SETTLE_S = 1.0  # for a server that is writing its pid file
_POLL_S = 0.02
_SHOWN_CHARS = 1_500


def ensure_cluster(layout: Layout, install: Path, account: Account) -> None:
    """Initialise the cluster unless it is there; call it under the supervisor's lock.

    The cluster is made beside its place and renamed into it, so a crash leaves none.

    Raises:
        EmbeddedPostgresError: `initdb` failed; the message holds what it said.
        OSError: the directory cannot be written.
    """
    for leftover in layout.base.glob(f"{_INITIALISING}*"):
        shutil.rmtree(leftover)
    if layout.cluster.exists():
        return
    work = Path(tempfile.mkdtemp(prefix=_INITIALISING, dir=layout.base))
    try:
        os.chown(work, account.uid, account.gid)
        _initdb(work, install, account)
        work.rename(layout.cluster)
        _sync_directory(layout.base)
    finally:
        if work.exists():
            shutil.rmtree(work)


def _initdb(directory: Path, install: Path, account: Account) -> None:
    reader, writer = os.pipe()
    arguments = ["-D", CLUSTER_PATH, "-U", SUPERUSER, "-E", "UTF8", "--locale=C"]
    arguments += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--wal-segsize=4"]
    # Whoever reaches the socket is the owner of the files (mode 0700): nothing to ask.
    arguments += ["-A", "trust", "--no-instructions"]
    program = install / "bin" / "initdb"
    pid = spawn(
        account,
        program,
        arguments,
        directory=directory,
        output=writer,
        death_signal=signal.SIGKILL,
    )
    os.close(writer)
    with os.fdopen(reader, "rb") as output:
        said = output.read().decode(errors="replace")
    status = os.waitpid(pid, 0)[1]
    if status != 0:
        raise EmbeddedPostgresError(explain("the database could not be initialised", said))


def explain(what: str, said: str) -> str:
    """An error message from what PostgreSQL's programs said."""
    hint = ""
    if "No space left on device" in said or "File too large" in said:
        hint = ": the disk is full; free some space, or name another data directory in PML_DATA_DIR"
    return f"{what}{hint}; PostgreSQL said:\n{said.strip()[-_SHOWN_CHARS:]}"


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def clear_stale(layout: Layout) -> None:
    """See to it that no other server uses the cluster; call it under the supervisor's lock.

    A server of a killed supervisor is waited for.  PostgreSQL itself handles the files of a
    dead server, unless their process id has been given to somebody else: those go here.

    Raises:
        EmbeddedPostgresError: a server that PML did not start is using it.
    """
    pid = _settled_pid(layout.pid_file)
    deadline = time.monotonic() + _ORPHAN_WAIT_S
    while pid is not None and (server := _server(pid, layout.cluster)) is not None:
        if f"cluster_name={SETTINGS['cluster_name']}" not in server:
            message = (
                f"a PostgreSQL that PML did not start (process {pid}) is using {layout.cluster}: "
                f"stop it (kill {pid}), or name another data directory in PML_DATA_DIR"
            )
            raise EmbeddedPostgresError(message)
        if time.monotonic() > deadline:
            # Its data survive this as they survive a crash.
            os.kill(pid, signal.SIGQUIT)
            deadline += _ORPHAN_WAIT_S
        time.sleep(_POLL_S)
    if pid is None or Path(f"/proc/{pid}").exists():
        layout.pid_file.unlink(missing_ok=True)
        layout.socket_lock.unlink(missing_ok=True)


def _settled_pid(pid_file: Path) -> int | None:
    """The process id in the file; None if there is none, or still none after a while."""
    deadline = time.monotonic() + _SETTLE_S
    while (pid := _first_line_pid(pid_file)) is None and pid_file.exists():
        if time.monotonic() > deadline:
            return None  # cut off when the machine or the disk failed
        time.sleep(_POLL_S)
    return pid


def _first_line_pid(pid_file: Path) -> int | None:
    try:
        return int(pid_file.read_text().splitlines()[0])
    except (FileNotFoundError, IndexError, ValueError):
        return None


def _server(pid: int, cluster: Path) -> str | None:
    """The command line of process ``pid`` if it works in ``cluster``."""
    process = Path(f"/proc/{pid}")
    try:
        if not os.path.samestat((process / "cwd").stat(), cluster.stat()):
            return None
        return (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None  # gone, or somebody else's: not the owner of the cluster
