"""Processes of servers: what they see, and that none outlives us (EX-11)."""

import asyncio
import json
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import psutil
import pytest

from pml.domain.limits import Limits
from pml.domain.run import Returned
from pml.runtime.reaper import Reaper
from pml.runtime.upstream.config import ServerConfig
from pml.runtime.upstream.servers import Upstreams
from tests.runtime.upstream.outside import SERVER, Sink, alive, eventually, open_files

Open = Callable[..., Awaitable[Upstreams]]
BOUND_S = 30.0


def gone(pid: int) -> bool:
    return not alive(pid)


async def call(servers: Upstreams, tool: str) -> object:
    outcome = await servers.call("fix", tool, "{}")
    assert isinstance(outcome, Returned)
    return json.loads(outcome.value)


async def test_a_server_sees_basics_and_its_own_variables_and_nothing_else(
    stdio: Callable[..., ServerConfig], upstreams: Open, tmp_path: Path
) -> None:
    ours = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "PML_LEDGER_KEY": "s", "AWS_KEY": "s"}
    config = stdio(env={"TOKEN": "for the server"}, cwd=str(tmp_path))
    servers = await upstreams(config, environment=ours)
    process = await call(servers, "process")
    assert isinstance(process, dict)
    assert set(process["environment"]) <= {"PATH", "LC_ALL", "TOKEN", "LC_CTYPE"}
    assert "TOKEN" in process["environment"]
    assert process["cwd"] == str(tmp_path)


async def test_closing_ends_servers_and_what_they_started(
    stdio: Callable[..., ServerConfig], reaper: Reaper, sink: Sink
) -> None:
    """The grandchild ignores SIGTERM and holds the server's stdout open."""
    tasks, files = asyncio.all_tasks(), open_files()
    for _ in range(2):
        async with Upstreams([stdio()], limits=Limits(), reaper=reaper, sink=sink) as servers:
            grandchild = await call(servers, "spawn")
            assert isinstance(grandchild, int)
            server = servers.status()[0].pid
            assert server is not None
            assert alive(server)
            assert alive(grandchild)
        assert not alive(server)
        await eventually(partial(gone, grandchild))  # init reaps it
        assert asyncio.all_tasks() == tasks
        assert open_files() <= files


async def test_closing_while_connecting_leaves_nothing(reaper: Reaper, sink: Sink) -> None:
    mute = ServerConfig(name="mute", command="sleep", args=("600",))
    servers = Upstreams([mute], limits=Limits(), reaper=reaper, sink=sink)
    ours = psutil.Process()
    before = {child.pid for child in ours.children()}
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(servers)
        waiting = asyncio.create_task(servers.ready("mute"))
        await eventually(lambda: any(c.pid not in before for c in ours.children()))
        started = next(child.pid for child in ours.children() if child.pid not in before)
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert not alive(started)


OWNER = """
import asyncio, json, sys
from pml.domain.limits import Limits
from pml.runtime.reaper import Reaper
from pml.runtime.upstream.config import ServerConfig
from pml.runtime.upstream.servers import Upstreams

class Nowhere:
    async def replace(self, server, tools):
        pass

async def main():
    config = ServerConfig(name="fix", command=sys.executable, args=(sys.argv[1],))
    with Reaper.start() as reaper:
        async with Upstreams([config], limits=Limits(), reaper=reaper, sink=Nowhere()) as servers:
            grandchild = json.loads((await servers.call("fix", "spawn", "{}")).value)
            print(json.dumps([servers.status()[0].pid, grandchild]), flush=True)
            await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
async def test_killing_us_ends_all_servers_and_what_they_started(number: signal.Signals) -> None:
    owner = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        OWNER,
        str(SERVER),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert owner.stdout is not None
    try:
        pids = json.loads(await owner.stdout.readline())
        assert all(alive(pid) for pid in pids)
        owner.send_signal(number)
        async with asyncio.timeout(BOUND_S):
            await owner.wait()
    finally:
        if owner.returncode is None:
            owner.kill()
    await eventually(lambda: not any(alive(pid) for pid in pids))
