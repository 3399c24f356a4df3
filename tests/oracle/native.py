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
    """Speaks the sandbox's turns, without any part of PML between code and calls.

    A process that does not answer is replaced: it may be in a loop without end.
    """

    def __init__(self, cache: str) -> None:
        self.one_at_a_time = asyncio.Lock()
        """To be held while a program is played: the next start forgets the one before."""
        self._cache = cache
        self._process: asyncio.subprocess.Process | None = None
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
        if self._process is None:
            self._process = await _deno(self._cache)
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                stdin.write(msgspec.json.encode(message) + b"\n")
                await stdin.drain()
                line = await stdout.readline()
        except BaseException:  # its answer would be taken for that of the next message
            await self.end()
            raise
        return self._decoder.decode(line)

    async def end(self) -> None:
        """End the process; the next message starts another."""
        process, self._process = self._process, None
        if process is not None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


@asynccontextmanager
async def native_runner() -> AsyncIterator[Native]:
    """A Deno process without permissions; it ends with the context."""
    with TemporaryDirectory(prefix="pml-oracle-") as cache:
        native = Native(cache)
        try:
            yield native
        finally:
            await native.end()


async def _deno(cache: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        deno.find_deno_bin(),
        *("run", "--quiet", "--no-prompt", "--no-remote", "--no-npm", "--no-config", "--no-lock"),
        str(HARNESS),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={"NO_COLOR": "1", "TZ": "UTC", "DENO_DIR": cache},
        limit=_LINE_BYTES,
    )
