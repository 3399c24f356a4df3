"""What agents wait for: `pml serve` with 10,000 tools and 2,000 capabilities, over HTTP.

The server is `pml serve` in a process of its own, over PostgreSQL; requests come from this
process, over bare sockets, so that the client's own work hardly counts.  The named
alternative is a bare server of the official SDK with one tool that does nothing, asked in
the same way.

One `pml_execute` in parts: protocol (a `tools/list`), analysis (of the program, measured
here), call (the upstream server's answer), dispatch (the rest of the run in its sandbox),
log (what is left: the run, its records, its trace, the capability).

Run:  .venv/bin/python experiments/bench/endpoint.py
"""

import asyncio
import hashlib
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self

import psutil

from pml.analysis.analyse import analyse
from pml.domain.capability import NewCapability
from pml.domain.limits import Limits
from pml.domain.run import Run, RunProgram, RunState
from pml.domain.structure import StaticStructure
from pml.domain.tools import Catalog, Tool
from pml.domain.trace import ExecutionTrace
from pml.serve.compose import open_store, settings_from_env
from pml.store.ports import Store

TOOLS = 10_000
CAPABILITIES = 2_000
SERVERS = 20
CLIENTS = 16
DISCOVERIES = 2_000
EXECUTIONS = 100
WARM_UP = 10
PAUSE_S = 0.2
"""Between two executions, so that each finds the pool of sandboxes warm."""
REVISION = "2026-07-28"
CODE = "return await mcp.time.get_current_time({ timezone: 'UTC' });"
EMPTY = StaticStructure(nodes=(), edges=(), complete=True)
PERMISSIONS = """\
version: 1
servers:
  time:
    tools:
      get_current_time: {scope: minimal, effect: read, approval_mode: auto}
"""
BARE = """
import sys, uvicorn
from mcp.server import Server
from mcp_types import CallToolResult, ListToolsResult, TextContent, Tool
tool = Tool(name="pml_discover", description="nothing", input_schema={"type": "object"})
async def listed(ctx, params): return ListToolsResult(tools=[tool])
async def called(ctx, params):
    return CallToolResult(content=[TextContent(type="text", text="nothing")])
server = Server("bare", on_list_tools=listed, on_call_tool=called)
print("http://127.0.0.1:%s/mcp" % sys.argv[1], file=sys.stderr, flush=True)
uvicorn.run(server.streamable_http_app(), port=int(sys.argv[1]), log_level="error")
"""
WORDS = [a + b + c for a in ("ba", "de", "fi", "go", "lu", "ma", "no", "re", "si", "tu")
         for b in ("n", "r", "s", "t", "l", "m", "k", "v", "p", "d")
         for c in ("a", "e", "i", "o", "u", "en", "er", "is", "on", "at")]  # fmt: skip


def words(rng: random.Random, count: int) -> str:
    """So many words; the first of the list are the most frequent."""
    return " ".join(WORDS[min(int(rng.paretovariate(0.5)) - 1, 999)] for _ in range(count))


async def fill(store: Store, rng: random.Random) -> None:
    """Tools of many servers, and capabilities that have run once."""
    each = TOOLS // SERVERS
    for server in range(SERVERS):
        tools = [
            Tool(
                server=f"s{server}",
                name=f"{words(rng, 1)}_{number}",
                description=words(rng, 20),
                input_schema={
                    "type": "object",
                    "properties": {words(rng, 1): {"type": "string"} for _ in range(4)},
                },
            )
            for number in range(each)
        ]
        await store.tool_schemas.replace(f"s{server}", tools)
    for number in range(CAPABILITIES):
        await learn(store, number, words(rng, 8))


async def learn(store: Store, number: int, intent: str) -> None:
    """One capability, with one run that succeeded."""
    key = hashlib.sha256(str(number).encode()).hexdigest()
    capability = await store.capabilities.keep(
        NewCapability(
            canonical_hash=key,
            name=f"capability_{number}",
            intent=intent,
            code=CODE,
            instrumented=CODE,
            structure=EMPTY,
        ),
        now_ms=number,
    )
    run = Run(
        id=f"run-{number}",
        intent=intent,
        state=RunState.RUNNING,
        source_hash=key,
        owner="bench",
        created_at_ms=number,
        updated_at_ms=number,
        timeout_ms=1,
        capability_id=capability.id,
    )
    program = RunProgram(source=CODE, instrumented=CODE, structure="{}", arguments={}, seed=1)
    await store.runs.create(run, program)
    trace = ExecutionTrace(
        id=run.id,
        run_id=run.id,
        capability_id=capability.id,
        intent_text=intent,
        executed_at_ms=number,
        success=True,
        state=RunState.SUCCESS,
        duration_ms=1.0,
        executed_path=(),
        decisions=(),
        task_results=(),
    )
    await store.traces.finish(
        run.id,
        RunState.SUCCESS,
        reason="",
        now_ms=number,
        epoch=run.epoch,
        trace=trace,
        results=(),
        dependencies=(),
        result_expires_at_ms=number,
    )


class Client:
    """One connection that asks one thing after the other."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def __aenter__(self) -> Self:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()

    async def ask(self, method: str, params: dict[str, Any]) -> tuple[float, dict[str, Any]]:
        """How long the answer took, in milliseconds, and its result."""
        meta = {
            "io.modelcontextprotocol/protocolVersion": REVISION,
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params | {"_meta": meta}}
        body = json.dumps(message).encode()
        head = (
            f"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{self._port}\r\n"
            "content-type: application/json\r\naccept: application/json, text/event-stream\r\n"
            f"mcp-protocol-version: {REVISION}\r\nmcp-method: {method}\r\n"
            f"mcp-name: {params.get('name', '')}\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        started = time.perf_counter()
        self._writer.write(head.encode() + body)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        length = answer.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        text = await self._reader.readexactly(int(length))
        taken = (time.perf_counter() - started) * 1000
        result: dict[str, Any] = json.loads(text)["result"]
        return taken, result

    async def call(self, name: str, arguments: dict[str, Any]) -> tuple[float, dict[str, Any]]:
        """One call of a tool that must succeed."""
        taken, result = await self.ask("tools/call", {"name": name, "arguments": arguments})
        assert not result.get("isError"), result
        return taken, result.get("structuredContent", {})


@asynccontextmanager
async def server(command: list[str], env: dict[str, str]) -> AsyncIterator[tuple[int, int]]:
    """A server in a process of its own, from when it listens: its port and its pid."""
    process = await asyncio.create_subprocess_exec(
        *command, env=env, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    assert process.stderr is not None
    try:
        said = ""
        while "/mcp" not in said:
            said = (await process.stderr.readline()).decode()
            assert said, "the server has ended"
        yield int(said.partition("127.0.0.1:")[2].partition("/")[0]), process.pid
    finally:
        process.terminate()
        await process.communicate()


async def connected(port: int) -> Client:
    """A connection, as soon as the port is listened at."""
    while True:
        try:
            return await Client(port).__aenter__()
        except OSError:
            await asyncio.sleep(0.01)


async def discoveries(port: int, intents: Sequence[str]) -> list[float]:
    """Latencies of 16 clients in a closed loop."""
    waiting, times = list(intents), []

    async def one() -> None:
        async with Client(port) as client:
            while waiting:
                taken, _ = await client.call("pml_discover", {"intent": waiting.pop()})
                times.append(taken)

    await asyncio.gather(*(one() for _ in range(CLIENTS)))
    return times


async def executions(client: Client) -> tuple[list[float], list[float], list[float]]:
    """Latencies of one-call programs, of their runs, and of their calls."""
    arguments = {"intent": "what time is it", "code": CODE}
    answers = []
    for _ in range(WARM_UP + EXECUTIONS):
        await asyncio.sleep(PAUSE_S)
        answers.append(await client.call("pml_execute", arguments))
    answers = answers[WARM_UP:]
    return (
        [taken for taken, _ in answers],
        [answer["executionTimeMs"] for _, answer in answers],
        [answer["tasks"][0]["durationMs"] for _, answer in answers],
    )


def analysis_ms() -> float:
    """Analysis of the program."""
    catalog = Catalog({"time": [Tool(server="time", name="get_current_time")]})
    return statistics.median(
        timed(lambda: analyse(CODE, catalog, limits=Limits())) for _ in range(100)
    )


def timed(work: Callable[[], object]) -> float:
    """Milliseconds."""
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


def p95(times: Sequence[float]) -> float:
    """The 95th percentile."""
    return statistics.quantiles(times, n=20)[-1]


def configure(home: Path) -> dict[str, str]:
    """One real server, and the disabled ones whose tools are known."""
    servers: dict[str, Any] = {
        f"s{number}": {"command": "true", "disabled": True} for number in range(SERVERS)
    }
    servers["time"] = {"command": sys.executable, "args": ["-m", "mcp_server_time"]}
    (home / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    (home / "permissions.yaml").write_text(PERMISSIONS)
    return {**os.environ, "PML_DATA_DIR": str(home / "data")}


async def measure(home: Path) -> dict[str, float]:
    """All figures."""
    rng = random.Random(7)  # noqa: S311  # no secrets are made of it
    env = configure(home)
    intents = [words(rng, 8) for _ in range(DISCOVERIES)]
    pml = [str(Path(sys.executable).with_name("pml")), "serve", "--port", "0"]
    pml += ["--config", str(home / "mcp.json"), "--permissions", str(home / "permissions.yaml")]
    async with open_store(settings_from_env(env)) as store:  # keeps the database warm
        await fill(store, rng)
        started = time.perf_counter()
        async with server(pml, env) as (port, pid):
            client = await connected(port)
            await client.ask("tools/list", {})
            tools_list_s = time.perf_counter() - started
            await discoveries(port, intents[:CLIENTS])  # waits until everything is loaded
            found = await discoveries(port, intents)
            protocol = [(await client.ask("tools/list", {}))[0] for _ in range(200)]
            whole, runs, calls = await executions(client)
            memory = psutil.Process(pid).memory_full_info()
        bare_command = [sys.executable, "-c", BARE, str(port)]
        async with server(bare_command, env) as (port, _):
            await connected(port)
            bare = await discoveries(port, intents)
    parts = {
        "protocol": statistics.median(protocol),
        "analysis": analysis_ms(),
        "call": statistics.median(calls),
    }
    parts["dispatch"] = statistics.median(runs) - parts["call"]
    parts["log"] = statistics.median(whole) - sum(parts.values())
    return {
        "execute_p50_ms": statistics.median(whole),
        "execute_p95_ms": p95(whole),
        **{f"execute_{name}_ms": value for name, value in parts.items()},
        "discover_p50_ms": statistics.median(found),
        "discover_p95_ms": p95(found),
        "bare_sdk_p50_ms": statistics.median(bare),
        "ratio_to_bare_sdk": statistics.median(found) / statistics.median(bare),
        "tools_list_s": tools_list_s,
        "rss_mb": memory.rss / 1e6,
        "pss_mb": memory.pss / 1e6,
    }


async def main() -> None:
    """Measure and print; the last line is one JSON object."""
    with tempfile.TemporaryDirectory(prefix="pml-bench-") as folder:
        figures = await measure(Path(folder))
    print(f"{TOOLS} tools, {CAPABILITIES} capabilities; discover: {CLIENTS} clients at once")
    print(json.dumps({name: round(value, 2) for name, value in figures.items()}))


if __name__ == "__main__":
    asyncio.run(main())
