"""The folder below which the sandboxes of a pool have theirs, and what is left of dead pools'.

Who makes one holds a lock on a file in it, which the kernel drops when the last process that has
it open is gone, however it went: a folder whose lock can be had belongs to nobody any more.  No
process ids, which others get, or which mean something else in another container.
"""

import fcntl
import os
import shutil
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

PREFIX = "pml-sandbox-"
_LOCK = "in-use"


class Base:
    """A new folder of this process; others see that it is in use until it is closed."""

    def __init__(self, root: Path) -> None:
        """Make it.

        Raises:
            OSError: it cannot be made.
        """
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=root))
        try:
            self._lock = _locked(self.path)
        except BaseException:
            shutil.rmtree(self.path, ignore_errors=True)
            raise

    def close(self) -> None:
        """Remove it.  Idempotent."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _locked(folder: Path) -> int | None:
    """A descriptor that holds the lock; None where there are no locks, and nobody clears."""
    new = folder / f"{_LOCK}.new"
    descriptor = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    new.rename(folder / _LOCK)  # only now: whoever finds it unlocked takes us for dead
    return descriptor


def clear_left(root: Path) -> None:
    """Remove what processes of ours left in ``root`` that were killed together with their reaper.

    What is not ours, what is in use, and what does not say whether it is, stays.
    """
    for folder in root.glob(f"{PREFIX}*"):
        with suppress(OSError):  # not ours to read, in use, or somebody else is removing it
            if _is_ours(folder):
                _remove_unless_in_use(folder)


def _is_ours(folder: Path) -> bool:
    found = folder.lstat()  # no link that somebody laid: in the folder of all, anybody may
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


def _remove_unless_in_use(folder: Path) -> None:
    descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(descriptor)
