"""How strong a sandbox this machine allows, found out once and said aloud.

Deno's permissions, limits and the rest hold everywhere.  Two layers depend on the machine:
a user id of its own per sandbox (root only) and scratch space in memory.
"""

import asyncio
import os
import secrets
import shutil
import sys
from pathlib import Path

import msgspec
import structlog

from pml.domain.record import Record
from pml.errors import SandboxError
from pml.runtime.sandbox.child import Child

LAUNCHER = Path(__file__).with_name("launcher.py")
_FIRST_UID = 61_184
_LAST_UID = 65_519
"""The range that systemd sets aside for users without an entry: no account has these ids."""
_PROBE_TIMEOUT_S = 20.0
_SHM = Path("/dev/shm")  # noqa: S108  # a directory for our own directories, made with mkdtemp

_log = structlog.get_logger()


class Tier(Record, frozen=True, kw_only=True):
    """Which of the layers hold that depend on the machine."""

    own_uid: bool
    """Each sandbox runs as a user of its own, so limits per user bind it alone."""
    tmpfs: bool
    """Scratch directories lie in memory."""
    parent_death: bool = sys.platform == "linux"
    """The kernel kills sandboxes when we die; elsewhere the reaper alone does."""
    reason: str = ""
    """Why a layer is missing."""

    def summary(self) -> str:
        """One line for people."""
        user = "a user id of its own" if self.own_uid else "our user id"
        space = "memory" if self.tmpfs else "the temporary directory"
        kernel = "" if self.parent_death else "; no PDEATHSIG outside Linux"
        why = f" ({self.reason})" if self.reason else ""
        return f"each sandbox runs under {user}{why}, its scratch space in {space}{kernel}"


def find_deno() -> Path:
    """The Deno of our environment, else the one on PATH.

    Raises:
        SandboxError: there is none.
    """
    beside = Path(sys.executable).with_name("deno")
    if beside.exists():
        return beside
    found = shutil.which("deno")
    if found is None:
        msg = "deno was not found: install it with `pip install deno`"
        raise SandboxError(msg)
    return Path(found)


def scratch_root(wanted: Path | None, fallback: Path) -> tuple[Path, bool]:
    """Where scratch directories go, and whether that is memory."""
    if wanted is not None:
        return wanted, wanted.is_relative_to(_SHM)
    if _SHM.is_dir() and os.access(_SHM, os.W_OK | os.X_OK):
        return _SHM, True
    return fallback, False


def reachable(directory: Path) -> bool:
    """Whether every user can walk to the directory."""
    return all(parent.stat().st_mode & 0o001 for parent in directory.resolve().parents)


def random_uid() -> int:
    """A user id that no account has; two sandboxes rarely share one, which harms nobody."""
    return _FIRST_UID + secrets.randbelow(_LAST_UID - _FIRST_UID + 1)


async def probe_own_uid(deno: Path) -> str:
    """Why sandboxes cannot have user ids of their own; empty when they can."""
    if os.geteuid() != 0:
        return "only root can give one"
    plan = {
        "deno": str(deno),
        "argv": ["deno", "--version"],
        "env": {},
        "limits": {},
        "uid": random_uid(),
        "parent": None,
    }
    said = bytearray()
    text = msgspec.json.encode(plan).decode()
    child = Child([sys.executable, "-I", "-S", str(LAUNCHER), text], said.extend)
    child.send(b"")
    try:
        async with asyncio.timeout(_PROBE_TIMEOUT_S):
            await asyncio.wait([child.ended])
    finally:
        await child.end()
    if child.returncode == 0:
        return ""
    reason = said.decode(errors="replace").strip()[-200:] or f"exit {child.returncode}"
    await _log.awarning("sandboxes run as root: they cannot be given another user", why=reason)
    return reason
