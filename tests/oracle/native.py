"""The native oracle's process: Deno runs programs as they were written, one after the other."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import deno  # type: ignore[import-untyped]
import msgspec

from pml.domain.run import Outcome, Returned
from pml.runtime.sandbox.protocol import TurnItem
from tests.oracle.scenario import Case

HARNESS = Path(__file__).with_name("native.ts")
ANSWER_TIMEOUT_S = 20.0  # a program without calls or timers that runs on for ever
_LINE_BYTES = 50_000_000


class Native:
    """Speaks the sandbox's turns, without any part of PML between code and calls."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.one_at_a_time = asyncio.Lock()
        """To be held while a program is played: the next start forgets the one before."""
        self._process = process
        self._decoder = msgspec.json.Decoder(tuple[TurnItem, ...])

    async def start(self, case: Case, now_ms: int) -> tuple[TurnItem, ...]:
        """Run the source as it is."""
        message = {
            "type": "start",
            "source": case.source,
            "args": case.args,
            "parameters": {name: case.args[name] for name in case.parameters},
            "nowMs": now_ms,
        }
        return await self._turn(message)

    async def deliver(
        self, call: int, tool: str, outcome: Outcome, now_ms: int
    ) -> tuple[TurnItem, ...]:
        """Settle the promise of a call."""
        said: dict[str, Any]
        if isinstance(outcome, Returned):
            said = {"value": msgspec.Raw(outcome.value.encode())}
        else:
            data = msgspec.Raw((outcome.data or "null").encode())
            said = {"tool": tool, "code": outcome.code, "message": outcome.message, "data": data}
        return await self._turn({"type": "deliver", "call": call, "nowMs": now_ms, **said})

    async def fire(self, timer: int, now_ms: int) -> tuple[TurnItem, ...]:
        """Let a timer fire."""
        return await self._turn({"type": "fire", "timer": timer, "nowMs": now_ms})

    async def _turn(self, message: dict[str, Any]) -> tuple[TurnItem, ...]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(msgspec.json.encode(message) + b"\n")
        await stdin.drain()
        async with asyncio.timeout(ANSWER_TIMEOUT_S):
            line = await stdout.readline()
        return self._decoder.decode(line)


@asynccontextmanager
async def native_runner() -> AsyncIterator[Native]:
    """A Deno process without permissions; it ends with the context."""
    with TemporaryDirectory(prefix="pml-oracle-") as cache:
        async with _deno(cache) as process:
            yield Native(process)


@asynccontextmanager
async def _deno(cache: str) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        deno.find_deno_bin(),
        *("run", "--quiet", "--no-prompt", "--no-remote", "--no-npm", "--no-config", "--no-lock"),
        str(HARNESS),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={"NO_COLOR": "1", "TZ": "UTC", "DENO_DIR": cache},
        limit=_LINE_BYTES,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
