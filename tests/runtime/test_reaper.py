"""What we started ends with us, however we end (D3, OP-4)."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from pml.runtime.reaper import Reaper

_ORPHANS = Path(__file__).with_name("orphans.py")
_ROOT = Path(__file__).parents[2]


def sleeper() -> "subprocess.Popen[bytes]":
    """A process group of its own that does nothing until it is killed."""
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", "import signal; signal.pause()"], start_new_session=True
    )


def gone(pid: int) -> bool:
    """Whether the process has ended; a zombie has."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


async def until(condition: Any) -> None:  # noqa: ANN401
    """Poll, within a bound: processes of others send no event."""
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def test_what_is_still_registered_is_killed_on_close_and_what_was_released_lives() -> None:
    with sleeper() as kept, sleeper() as released:
        with Reaper.start() as reaper:
            reaper.register(kept.pid)
            reaper.register(released.pid)
            reaper.release(released.pid)
        assert kept.wait(10) == -signal.SIGKILL
        assert released.poll() is None
        released.kill()


def test_owned_directories_are_removed_and_disowned_ones_stay(tmp_path: Path) -> None:
    owned, disowned = tmp_path / "owned", tmp_path / "disowned"
    for directory in (owned, disowned):
        directory.mkdir()
        (directory / "file").write_text("x")
    with Reaper.start() as reaper:
        reaper.own(owned)
        reaper.own(disowned)
        reaper.disown(disowned)
    assert not owned.exists()
    assert (disowned / "file").exists()


def test_a_group_that_has_ended_before_harms_nobody() -> None:
    with sleeper() as process, Reaper.start() as reaper:
        reaper.register(process.pid)
        process.kill()
        process.wait()
        reaper.close()
        reaper.close()


def test_it_goes_on_when_asked_to_end_politely() -> None:
    with sleeper() as process, Reaper.start() as reaper:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            os.kill(reaper.pid, number)
        reaper.register(process.pid)
        reaper.close()
        assert process.wait(10) == -signal.SIGKILL


@asynccontextmanager
async def _doomed(*switched_off: str) -> AsyncIterator[dict[str, Any]]:
    """Facts of a PML with two sandboxes, killed with SIGKILL when the block is entered."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(_ORPHANS), *switched_off, stdout=subprocess.PIPE, cwd=_ROOT
    )
    assert process.stdout is not None
    try:
        facts = json.loads(await process.stdout.readline())
        for pid in facts["pids"]:
            # a stopped process cannot notice that its socket is closed and leave by itself
            os.kill(pid, signal.SIGSTOP)
    finally:
        process.kill()
        await process.wait()
    try:
        yield facts
    finally:
        for pid in facts["pids"]:
            if not gone(pid):
                os.killpg(pid, signal.SIGKILL)
        await until(lambda: all(gone(pid) for pid in facts["pids"]))
        shutil.rmtree(facts["scratch"], ignore_errors=True)  # where no reaper was to do it


@pytest.mark.parametrize("switched_off", [(), ("parent_death",), ("no-reaper",)])
async def test_sandboxes_die_when_we_are_killed_by_either_of_two_nets(
    switched_off: tuple[str, ...],
) -> None:
    """PDEATHSIG, and the reaper; the next test is the control of both."""
    async with _doomed(*switched_off) as facts:
        await until(lambda: all(gone(pid) for pid in facts["pids"]))
        if "no-reaper" not in switched_off:
            await until(lambda: not Path(facts["scratch"]).exists())
            await until(lambda: gone(facts["reaper"]))


async def test_a_stopped_sandbox_outlives_us_without_the_nets() -> None:
    async with _doomed("parent_death", "no-reaper") as facts:
        assert not any(gone(pid) for pid in facts["pids"])
