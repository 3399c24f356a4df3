"""No server outlives the end of its session, however that is interrupted (EX-11, OP-5)."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from pml.domain.limits import Limits
from pml.runtime.reaper import Reaper
from pml.runtime.upstream.config import ServerConfig
from pml.runtime.upstream.process import ServerProcess
from pml.runtime.upstream.servers import Upstreams
from tests.runtime.interrupting import AGAIN, after, children, interrupt_after, leaving_nothing
from tests.runtime.upstream.outside import Sink, Stdio, open_files

LATE = 60
"""So many passes of the loop after its session was told to end, a server is being stopped."""
SAYS_AND_ENDS = "import os; os.write(2, b'first\\nlast'); os._exit(3)"
WAITS = "import signal; signal.pause()"


def process(reaper: Reaper, program: str) -> ServerProcess:
    argv = (sys.executable, "-I", "-S", "-c", program)
    return ServerProcess(argv, env={}, cwd=None, reaper=reaper)


@asynccontextmanager
async def session(config: ServerConfig, reaper: Reaper, sink: Sink) -> AsyncIterator[Upstreams]:
    async with Upstreams([config], limits=Limits(), reaper=reaper, sink=sink) as servers:
        await servers.ready(config.name)
        yield servers


async def test_a_process_whose_stopping_is_cancelled_is_stopped(reaper: Reaper) -> None:
    before = children(), open_files()
    stopping = asyncio.create_task(process(reaper, WAITS).stop())
    for passes in range(AGAIN):
        after(passes + 1, stopping.cancel)
    await asyncio.wait([stopping])
    assert stopping.cancelled()
    assert (children(), open_files()) == before


async def test_what_a_process_said_last_is_heard_when_it_is_stopped_at_once(
    reaper: Reaper,
) -> None:
    server = process(reaper, SAYS_AND_ENDS)
    await server.stop()
    assert server.last_words == ("first", "last")
    assert server.last_said() == " (its process ended with status 3); it said last: last"


async def test_servers_whose_closing_is_cancelled_are_closed(
    stdio: Stdio, reaper: Reaper, sink: Sink
) -> None:
    before = children(), asyncio.all_tasks()

    async def opened_and_closed() -> None:
        async with session(stdio(), reaper, sink):
            task = asyncio.current_task()
            assert task is not None
            for passes in range(AGAIN):
                after(passes + 1, task.cancel)

    closing = asyncio.create_task(opened_and_closed())
    await asyncio.wait([closing])
    assert closing.cancelled()
    assert (children(), asyncio.all_tasks()) == before


def test_a_loop_that_is_interrupted_while_it_stops_a_server_leaves_nothing(
    stdio: Stdio, reaper: Reaper, sink: Sink, tmp_path: Path
) -> None:
    """As a second Ctrl-C does, when the first one has ended the session."""

    async def main() -> None:
        async with session(stdio(), reaper, sink):
            interrupt_after(LATE)

    (tmp_path / "scratch").mkdir()
    with leaving_nothing(tmp_path / "scratch") as runner, suppress(KeyboardInterrupt):
        runner.run(main())


@pytest.mark.parametrize("passes", range(2, 6))
def test_a_loop_that_is_interrupted_while_a_server_starts_leaves_nothing(
    reaper: Reaper, sink: Sink, tmp_path: Path, passes: int
) -> None:
    """A start that was cancelled half-way could be neither waited for nor undone."""
    mute = ServerConfig(name="mute", command=sys.executable, args=("-I", "-S", "-c", WAITS))
    before = children()

    async def main() -> None:
        async with Upstreams([mute], limits=Limits(), reaper=reaper, sink=sink) as servers:
            servers.connect_soon(["mute"])
            while children() <= before:  # noqa: ASYNC110  # each pass of the loop counts
                await asyncio.sleep(0)
            interrupt_after(passes)
            await servers.ready("mute")

    with leaving_nothing(tmp_path) as runner, suppress(KeyboardInterrupt):
        runner.run(main())
