"""As whom PostgreSQL runs: it refuses root, so root hands it to another account."""

import ctypes
import os
import pwd
import signal
from dataclasses import dataclass
from pathlib import Path

from pml.errors import EmbeddedPostgresError

_CANDIDATES = ("postgres", "nobody")
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}
_EXEC_FAILED = 127


@dataclass(frozen=True, slots=True)
class Account:
    """User and group of the server's processes and files."""

    uid: int
    gid: int


def choose(cluster: Path) -> Account:
    """The owner of an existing cluster; else ourselves; else, for root, a standard account.

    Raises:
        EmbeddedPostgresError: the cluster is somebody else's, or root finds no account.
    """
    me = Account(os.geteuid(), os.getegid())
    if cluster.exists():
        found = cluster.stat()
        if me.uid not in (0, found.st_uid):
            message = (
                f"{cluster} belongs to user {found.st_uid}, this is user {me.uid}: "
                "run PML as its owner, or name another data directory in PML_DATA_DIR"
            )
            raise EmbeddedPostgresError(message)
        if found.st_uid != 0:
            return Account(found.st_uid, found.st_gid)
    if me.uid != 0:
        return me
    for name in _CANDIDATES:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(entry.pw_uid, entry.pw_gid)
    message = (
        "PostgreSQL does not run as root, and there is no account "
        f"{' or '.join(_CANDIDATES)} to run it as: create one, or run PML as an ordinary user, "
        "or name a server in PML_DATABASE_URL"
    )
    raise EmbeddedPostgresError(message)


def can_execute(account: Account, program: Path) -> bool:
    """Whether the account reaches the program and may run it."""
    if account.uid == os.geteuid():
        return os.access(program, os.X_OK)
    pid = os.fork()
    if pid == 0:
        try:
            _become(account)
            os._exit(0 if os.access(program, os.X_OK) else 1)
        except OSError:
            os._exit(1)
    return os.waitpid(pid, 0)[1] == 0


def spawn(
    account: Account,
    program: Path,
    arguments: list[str],
    *,
    directory: Path,
    output: int,
    death_signal: signal.Signals,
) -> int:
    """Start ``program`` in ``directory`` as ``account``; its pid.

    It gets ``death_signal`` when this process dies.  stdout and stderr go to ``output``;
    also the reason, if it cannot be started (exit status 127).
    """
    parent = os.getpid()
    pid = os.fork()
    if pid != 0:
        return pid
    try:
        os.chdir(directory)  # before the account changes: it may not reach the directory itself
        null = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((null, 0), (output, 1), (output, 2)):
            os.dup2(source, target)
        _become(account)
        _die_with_parent(parent, death_signal)  # after the change of account, which clears it
        os.execve(program, [str(program), *arguments], _ENVIRONMENT)  # noqa: S606
    except OSError as error:
        os.write(2, f"FATAL:  cannot run {program}: {error}\n".encode())
    os._exit(_EXEC_FAILED)


def _die_with_parent(parent: int, death_signal: signal.Signals) -> None:
    if _LIBC.prctl(_PR_SET_PDEATHSIG, int(death_signal), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
    if os.getppid() != parent:  # it died before the request was in place
        os._exit(_EXEC_FAILED)


def _become(account: Account) -> None:
    if os.geteuid() == account.uid:
        return
    os.setgroups([])
    os.setgid(account.gid)
    os.setuid(account.uid)
