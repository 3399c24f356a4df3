"""What killed processes left of their sandboxes is cleared, and nothing else (EX-2, OP-4)."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pml.domain.limits import Limits
from pml.runtime.reaper import Reaper
from pml.runtime.sandbox.base import PREFIX, Base, clear_left
from pml.runtime.sandbox.pool import SandboxPool

HOLDER = """
import sys
from pathlib import Path
from pml.runtime.sandbox.base import Base
print(Base(Path(sys.argv[1])).path, flush=True)
sys.stdin.read()
"""


@contextmanager
def held(root: Path) -> Iterator[tuple[Path, "subprocess.Popen[str]"]]:
    """A folder in use by another process, which is killed with the block."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(root)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            yield Path(process.stdout.readline().strip()), process
        finally:
            process.kill()


def test_a_folder_is_cleared_when_its_process_was_killed_and_not_before(tmp_path: Path) -> None:
    with held(tmp_path) as (folder, process):
        (folder / "scratch").mkdir()
        (folder / "scratch" / "file").write_text("x")
        clear_left(tmp_path)
        assert (folder / "scratch" / "file").exists()
        process.kill()
        process.wait()
        clear_left(tmp_path)
        assert not folder.exists()


def test_a_folder_of_our_own_process_is_in_use(tmp_path: Path) -> None:
    base = Base(tmp_path)
    clear_left(tmp_path)
    assert base.path.exists()
    base.close()
    base.close()
    assert list(tmp_path.iterdir()) == []


def test_what_does_not_say_whether_it_is_in_use_stays(tmp_path: Path) -> None:
    """As a PML of before made it, or one that is just about to lock it."""
    unlocked, other, link = (tmp_path / name for name in (f"{PREFIX}a", "other", f"{PREFIX}b"))
    unlocked.mkdir()
    (unlocked / "in-use.new").write_text("")
    other.mkdir()
    (other / "in-use").write_text("")  # it could be locked by anybody
    link.symlink_to(other)
    (tmp_path / f"{PREFIX}file").write_text("")
    before = sorted(tmp_path.rglob("*"))
    clear_left(tmp_path)
    assert sorted(tmp_path.rglob("*")) == before


def test_what_belongs_to_another_user_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / f"{PREFIX}theirs"
    folder.mkdir()
    (folder / "in-use").write_text("")
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)
        clear_left(tmp_path)
        assert (folder / "in-use").exists()
    clear_left(tmp_path)
    assert not folder.exists()


async def test_a_pool_clears_what_one_left_that_was_killed_with_its_reaper(
    reaper: Reaper, tmp_path: Path
) -> None:
    with held(tmp_path) as (living, _):
        with held(tmp_path) as (dead, process):
            process.kill()
            process.wait()
        async with SandboxPool(limits=Limits(), reaper=reaper, size=1, scratch=tmp_path) as pool:
            await pool.warm()
            assert not dead.exists()
            clear_left(tmp_path)  # as another one that starts now
            async with pool.checkout() as sandbox:
                assert sandbox.scratch.exists()
        assert living.exists()
