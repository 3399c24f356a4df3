"""The pool: warm, private, replenished, and gone when it is closed (EX-2)."""

import asyncio
import contextlib
import os
import signal
from pathlib import Path

import psutil
import pytest

from pml.domain.limits import Limits
from pml.errors import SandboxError
from pml.runtime.reaper import Reaper
from pml.runtime.sandbox.pool import SandboxPool
from tests.runtime.sandbox.driver import run_program

pytestmark = pytest.mark.asyncio(loop_scope="module")


def _denos() -> set[int]:
    """Process ids of our children that are sandboxes."""
    children = psutil.Process().children()
    return {child.pid for child in children if child.name() == "deno"}


def _entries(directory: Path) -> list[Path]:
    return list(directory.iterdir())


async def test_closing_the_pool_leaves_nothing_behind(reaper: Reaper, tmp_path: Path) -> None:
    before = _denos()
    async with (
        SandboxPool(limits=Limits(), reaper=reaper, size=2, scratch=tmp_path) as pool,
        pool.checkout() as sandbox,
    ):
        pid = sandbox.pid
        assert _entries(tmp_path)
    assert not psutil.pid_exists(pid)
    assert _denos() <= before
    assert not _entries(tmp_path)


async def test_more_programs_than_warm_sandboxes_run_all(pool: SandboxPool) -> None:
    sources = [f"return await mcp.a.b({{n: {n}}});" for n in range(6)]
    stories = await asyncio.gather(*(run_program(pool, source) for source in sources))
    assert [story.value["n"] for story in stories] == list(range(6))


async def test_a_cancelled_checkout_loses_no_sandbox(reaper: Reaper) -> None:
    async with SandboxPool(limits=Limits(), reaper=reaper, size=1) as pool:
        waiting = asyncio.create_task(run_program(pool, "return 1;"))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait({waiting})
        assert (await run_program(pool, "return 2;")).value == 2


async def test_a_cancelled_wait_for_warm_sandboxes_loses_none(reaper: Reaper) -> None:
    async with SandboxPool(limits=Limits(), reaper=reaper, size=1) as pool:
        waiting = asyncio.create_task(pool.warm())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait({waiting})
        assert (await run_program(pool, "return 2;")).value == 2


async def test_a_program_that_comes_after_the_end_of_the_pool_is_told(reaper: Reaper) -> None:
    async with SandboxPool(limits=Limits(), reaper=reaper, size=1) as pool:
        coming = asyncio.create_task(run_program(pool, "return 2;"))
        await asyncio.sleep(0)
    for late in (coming, run_program(pool, "return 2;")):
        with pytest.raises(SandboxError, match="closed"):
            await late


async def test_a_warm_sandbox_that_died_while_waiting_is_replaced(reaper: Reaper) -> None:
    before = _denos()
    async with SandboxPool(limits=Limits(), reaper=reaper, size=1) as pool, asyncio.timeout(20):
        await pool.warm()
        (pid,) = _denos() - before
        os.kill(pid, signal.SIGKILL)
        while psutil.pid_exists(pid):  # noqa: ASYNC110  # bounded by the timeout
            await asyncio.sleep(0.01)
        assert (await run_program(pool, "return 3;")).value == 3


async def test_a_stranger_is_dropped_and_the_pool_goes_on(pool: SandboxPool) -> None:
    """EX-2: the channel is authenticated; strangers can neither speak nor flood."""
    refused = pool.refused_connections
    for hello in (b"\0\0\0\x40" + b"a" * 64, b"\xff\xff\xff\xff", b"GET / HTTP/1.1\r\n\r\n"):
        reader, writer = await asyncio.open_connection("127.0.0.1", pool.port)
        writer.write(hello)
        async with asyncio.timeout(20):
            with contextlib.suppress(ConnectionResetError):
                assert await reader.read() == b""
        writer.close()
    assert pool.refused_connections == refused + 1
    assert (await run_program(pool, "return 4;")).value == 4
