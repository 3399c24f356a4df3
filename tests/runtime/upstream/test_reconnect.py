"""Calls that meet a server while it connects wait for it together (EX-11)."""

import asyncio
import json
from collections.abc import Awaitable, Callable

import pytest

from pml.domain.run import Outcome, Returned
from pml.errors import OutcomeUnknownError
from pml.runtime.upstream.config import ServerConfig
from pml.runtime.upstream.servers import Upstreams

Stdio = Callable[..., ServerConfig]
Open = Callable[..., Awaitable[Upstreams]]


async def test_calls_that_come_while_a_server_connects_use_the_session_once_it_is_open(
    stdio: Stdio, upstreams: Open
) -> None:
    servers = await upstreams(stdio("fix"))

    async def call() -> Outcome:
        await servers.ready("fix")
        return await servers.call("fix", "echo", '{"text": "x"}')

    for _ in range(2):
        calls = [asyncio.create_task(call())]
        while not calls[0].done():  # one more at every moment of the connecting
            calls.append(asyncio.create_task(call()))
            await asyncio.wait(calls[:1], timeout=0.02)
        assert set(await asyncio.gather(*calls)) == {Returned(value='"x"')}
        with pytest.raises(OutcomeUnknownError):
            await servers.call("fix", "die", "{}")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'"cut \ud83d"', '"cut \ufffd"'),
        (r'"\ud83d\ude00"', '"\U0001f600"'),
        ("[" * 200 + "]" * 200, "[" * 200 + "]" * 200),
        ("[" * 201 + "]" * 201, None),
        ("[" * 50_000, None),
    ],
)
async def test_what_a_tool_says_in_json_arrives_as_text_that_can_travel(
    stdio: Stdio, upstreams: Open, text: str, value: str | None
) -> None:
    servers = await upstreams(stdio("fix", results={"plain": "json"}))
    outcome = await servers.call("fix", "plain", json.dumps({"text": text}))
    found = outcome.value if isinstance(outcome, Returned) else None
    assert found == value
    assert isinstance(outcome, Returned) or outcome.code == "bad_result"
