"""Servers that die, hang or cannot be reached, and what comes after (EX-8, EX-11)."""

import asyncio
import re

import psutil
import pytest

from pml.domain.run import Returned
from pml.errors import OutcomeUnknownError, UpstreamUnavailableError
from pml.runtime.upstream.config import ServerConfig
from pml.runtime.upstream.status import ServerState
from tests.runtime.upstream.outside import (
    PROTOCOLS,
    Calls,
    Http,
    Open,
    Stdio,
    alive,
    eventually,
    with_protocol,
)


async def test_a_server_that_dies_in_a_call_leaves_that_call_open_and_the_next_one_works(
    stdio: Stdio, upstreams: Open, calls: Calls
) -> None:
    servers = await upstreams(stdio(), stdio("other"))
    await servers.connect(servers.names)
    waiting = asyncio.create_task(servers.call("fix", "hang", "{}"))
    await eventually(lambda: len(calls()) == 1)
    with pytest.raises(OutcomeUnknownError) as dying:
        await servers.call("fix", "die", "{}")
    with pytest.raises(OutcomeUnknownError):
        await waiting
    assert not dying.value.timed_out
    await eventually(lambda: "status 3" in (servers.status()[0].error or ""))
    assert "dying as told" in (servers.status()[0].error or "")
    assert await servers.call("fix", "echo", '{"text": "back"}') == Returned(value='"back"')
    assert await servers.call("other", "echo", '{"text": "y"}') == Returned(value='"y"')
    assert [call["tool"] for call in calls()] == ["hang", "die", "echo", "echo"]


async def test_a_server_killed_between_calls_is_replaced(stdio: Stdio, upstreams: Open) -> None:
    servers = await upstreams(stdio())
    for _ in range(2):
        await servers.ready("fix")
        pid = servers.status()[0].pid
        assert pid is not None
        psutil.Process(pid).kill()
        await eventually(lambda: servers.status()[0].state is not ServerState.READY)
        assert await servers.call("fix", "echo", '{"text": "x"}') == Returned(value='"x"')
        assert servers.status()[0].pid != pid


@PROTOCOLS
async def test_a_server_restarted_behind_its_address_is_found_again(
    http: Http, upstreams: Open, calls: Calls, protocol: str, spoken: str
) -> None:
    """On the older protocol the new server does not know the session: it is replaced."""
    config = with_protocol(await http(), protocol)
    servers = await upstreams(config)
    await servers.ready("web")
    process = http.processes[-1]  # type: ignore[attr-defined]
    process.kill()
    await process.wait()
    with pytest.raises(UpstreamUnavailableError):
        await servers.call("web", "echo", '{"text": "nobody"}')
    assert config.url is not None
    await http(port=int(config.url.split(":")[2].split("/")[0]))
    assert await servers.call("web", "echo", '{"text": "again"}') == Returned(value='"again"')
    assert [call["tool"] for call in calls()] == ["echo"]
    assert servers.status()[0].protocol_version == spoken


async def test_a_deaf_server_is_noticed_by_ping_and_replaced(stdio: Stdio, upstreams: Open) -> None:
    servers = await upstreams(stdio(ping_s=0.2, ping_timeout_s=0.3))
    await servers.call("fix", "stop_process", "{}")
    pid = servers.status()[0].pid
    assert pid is not None
    await eventually(lambda: servers.status()[0].state is not ServerState.READY)
    assert "no sign of life" in (servers.status()[0].error or "")
    assert await servers.call("fix", "echo", '{"text": "x"}') == Returned(value='"x"')
    assert not alive(pid)


async def test_a_server_that_cannot_connect_is_left_alone_for_longer_and_longer(
    upstreams: Open,
) -> None:
    servers = await upstreams(ServerConfig(name="gone", command="/no/such/program"))
    said = ""
    while not re.search(r"next attempt may start in \d+ s", said):
        with pytest.raises(UpstreamUnavailableError) as refused:
            await servers.ready("gone")
        said = str(refused.value)
    assert servers.status()[0].state is ServerState.BACKING_OFF
