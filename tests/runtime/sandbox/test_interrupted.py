"""Nothing that a sandbox began outlives its end, however that is interrupted (EX-2, OP-5).

An event loop that ends cancels every task, some of them twice: a task that another one waits for
is cancelled by the loop and by the one that waits.  What is pending then is found much later,
when rubbish is collected, and told to whoever happens to run.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from pml.domain.limits import Limits
from pml.runtime.reaper import Reaper
from pml.runtime.sandbox.pool import SandboxPool
from tests.runtime.interrupting import (
    AGAIN,
    after,
    children,
    empty,
    interrupt_after,
    leaving_nothing,
)
from tests.runtime.sandbox.driver import start_input


def _pool(reaper: Reaper, scratch: Path, *, own_uid: bool | None = False) -> SandboxPool:
    return SandboxPool(limits=Limits(), reaper=reaper, size=1, scratch=scratch, own_uid=own_uid)


async def test_a_kill_that_is_cancelled_is_seen_to_its_end(reaper: Reaper, tmp_path: Path) -> None:
    async with _pool(reaper, tmp_path) as pool, pool.checkout() as sandbox:
        sandbox.start(start_input("for (;;);"))
        killing = asyncio.create_task(sandbox.kill())
        for passes in range(AGAIN):
            after(passes + 1, killing.cancel)
        await asyncio.wait([killing])
        assert killing.cancelled()
        assert not psutil.pid_exists(sandbox.pid)
        assert not sandbox.scratch.exists()


async def test_a_pool_whose_closing_is_cancelled_is_closed(reaper: Reaper, tmp_path: Path) -> None:
    before = children()

    async def opened_and_closed(*, warm: bool) -> None:
        async with _pool(reaper, tmp_path) as pool:
            if warm:
                await pool.warm()
            task = asyncio.current_task()
            assert task is not None
            for passes in range(AGAIN):
                after(passes + 1, task.cancel)

    for warm in (False, True):
        closing = asyncio.create_task(opened_and_closed(warm=warm))
        await asyncio.wait([closing])
        assert closing.cancelled()
        assert children() <= before
        assert empty(tmp_path)


def test_a_run_that_is_left_when_the_loop_ends_leaves_nothing(
    reaper: Reaper, tmp_path: Path
) -> None:
    """Whoever waits for the run hands its own cancellation on."""

    async def run(pool: SandboxPool, goes: asyncio.Event) -> None:
        async with pool.checkout() as sandbox:
            sandbox.start(start_input("await mcp.a.b();"))
            await sandbox.turn()
            goes.set()
            await sandbox.turn()

    async def wait_for(running: "asyncio.Task[None]") -> None:
        try:
            await asyncio.shield(running)
        except asyncio.CancelledError:
            for passes in range(AGAIN):
                after(passes, running.cancel)
            raise

    async def begin(pool: SandboxPool) -> "set[asyncio.Task[None]]":
        await pool.__aenter__()
        goes = asyncio.Event()
        running = asyncio.create_task(run(pool, goes))
        await goes.wait()
        return {running, asyncio.create_task(wait_for(running))}  # the loop would lose them

    async def close(pool: SandboxPool) -> None:
        await pool.__aexit__(None, None, None)

    with leaving_nothing(tmp_path) as runner:
        pool = _pool(reaper, tmp_path)
        tasks = runner.run(begin(pool))
        runner.run(close(pool))
    assert all(task.cancelled() or task.exception() for task in tasks)


Moment = Callable[[], None]


async def _is_opened(pool: SandboxPool, now: Moment) -> None:
    now()
    async with pool:
        await pool.warm()


async def _is_filled(pool: SandboxPool, now: Moment) -> None:
    async with pool:
        now()
        await pool.warm()


async def _is_used(pool: SandboxPool, now: Moment) -> None:
    async with pool:
        await pool.warm()
        now()
        for _ in range(3):
            async with pool.checkout():
                await asyncio.sleep(0)


async def _is_killed(pool: SandboxPool, now: Moment) -> None:
    async with pool, pool.checkout() as sandbox:
        now()
        await sandbox.kill()


async def _is_closed(pool: SandboxPool, now: Moment) -> None:
    async with pool:
        await pool.warm()
        now()


@pytest.mark.parametrize("passes", range(5))
@pytest.mark.parametrize("when", [_is_opened, _is_filled, _is_used, _is_killed, _is_closed])
def test_a_loop_that_is_interrupted_leaves_nothing(
    reaper: Reaper,
    tmp_path: Path,
    when: Callable[[SandboxPool, Moment], Awaitable[None]],
    passes: int,
) -> None:
    """As the second Ctrl-C does: it ends the loop, which cancels all tasks."""

    async def main() -> None:
        # who has to find out about user ids starts one process more
        pool = _pool(reaper, tmp_path, own_uid=None if when is _is_opened else False)
        await when(pool, lambda: interrupt_after(passes))

    with leaving_nothing(tmp_path) as runner, suppress(KeyboardInterrupt):
        runner.run(main())
