"""Advisory file locks: the kernel lets go of them when their holder dies, however it dies.

Three files beside the cluster (`pml.store.supervisor.layout`): `supervisor` is held
exclusively by the one supervisor, `lease` shared by every client, and `start` exclusively
by the client that is about to start a supervisor.
"""

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path

_POLL_S = 0.01  # a lock is waited for only while another process starts or stops the server


class FileLock:
    """A held lock; ends with `release` or with the process.

    Invariant: the descriptor is of the file that the path names now, so that two holders
    never hold locks on two files of one name.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor: int | None = descriptor

    def current(self) -> bool:
        """Whether the path still names the locked file (False after the directory was removed)."""
        return self._descriptor is not None and _same_file(self._descriptor, self.path)

    def release(self) -> None:
        """Let go; harmless when repeated."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def try_lock(path: Path, *, shared: bool = False) -> FileLock | None:
    """The lock, or None while another process holds one that excludes it.

    Raises:
        OSError: the file cannot be opened or created.
    """
    descriptor = _open(path)
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        held = _same_file(descriptor, path)
    except BlockingIOError:
        held = False
    except BaseException:
        os.close(descriptor)
        raise
    if held:
        return FileLock(path, descriptor)
    os.close(descriptor)
    return None


def lock(path: Path, *, shared: bool = False, timeout_s: float) -> FileLock:
    """Wait for the lock.

    Raises:
        TimeoutError: it was not to be had in ``timeout_s`` seconds.
        OSError: the file cannot be opened or created.
    """
    deadline = time.monotonic() + timeout_s
    while (held := try_lock(path, shared=shared)) is None:
        if time.monotonic() > deadline:
            message = f"{path} is locked by another process"
            raise TimeoutError(message)
        time.sleep(_POLL_S)
    return held


def _open(path: Path) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    if os.geteuid() == 0:
        # So that the directory's owner can still use what root once touched.
        owner = path.parent.stat()
        with suppress(PermissionError):  # root without CAP_CHOWN; then it is root's own anyway
            os.fchown(descriptor, owner.st_uid, owner.st_gid)
    return descriptor


def _same_file(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
