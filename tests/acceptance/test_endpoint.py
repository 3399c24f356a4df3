"""PML as agents meet it: both transports, both revisions (MCP-1, -2, -3, MCP-5, EX-9, OP-3).

The client is the official SDK's.

`pml stdio` and `pml serve` run as users run them, in processes of their own, over a real
database and a real upstream server that counts its calls.
"""

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import httpx2
import psutil
import pytest
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters, stdio_client

from pml.domain.run import Run, RunState
from pml.serve.compose import open_store, settings_from_env
from tests.conftest import wait_until_stopped
from tests.serve.wire import MODERN, call_body
from tests.serve.wire import Client as Speaker

FIXTURE = Path(__file__).parents[1] / "fixtures" / "upstream_server.py"
PML = str(Path(sys.executable).with_name("pml"))
BOUND_S = 40.0
PERMISSIONS = """\
version: 1
servers:
  up:
    tools:
      echo: {scope: readonly, effect: read, approval_mode: auto}
      hang: {scope: readonly, effect: read, approval_mode: auto}
"""
CODE = 'const said = await mcp.up.echo({ text: "hello" }); return { said };'
INTENT = "greet somebody through the echo"
HANG = {"intent": "hang around", "code": "await mcp.up.hang({});", "options": {"timeout": 600_000}}

Mode = Literal["auto", "legacy"]


@dataclass(frozen=True)
class Site:
    """A place to run PML in, with a user of its own."""

    folder: Path
    environment: dict[str, str]

    def calls(self) -> list[dict[str, Any]]:
        file = self.folder / "counter.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()]

    async def runs(self) -> tuple[Run, ...]:
        async with open_store(settings_from_env(self.environment)) as store:
            return await store.runs.recent(10)

    async def state_of_the_only_run(self, wanted: RunState) -> RunState:
        """The state, once it is the wanted one or the time is up."""
        async with open_store(settings_from_env(self.environment)) as store:
            with suppress(TimeoutError):
                async with asyncio.timeout(BOUND_S):
                    # another process decides it, and tells nobody
                    while (run := (await store.runs.recent(1))[0]).state is not wanted:  # noqa: ASYNC110
                        await asyncio.sleep(0.02)
            return run.state


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("data") / "pml"
    yield folder
    wait_until_stopped(folder)


@pytest.fixture
def site(tmp_path: Path, data_dir: Path) -> Site:
    arguments = [str(FIXTURE), "--counter", str(tmp_path / "counter.jsonl")]
    server = {"command": sys.executable, "args": arguments}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"up": server}}))
    (tmp_path / "permissions.yaml").write_text(PERMISSIONS)
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PML_")}
    user = tmp_path.name
    return Site(tmp_path, ours | {"PML_DATA_DIR": str(data_dir), "PML_USER": user})


@asynccontextmanager
async def serve(site: Site) -> AsyncIterator[tuple[str, asyncio.subprocess.Process]]:
    """`pml serve` on a free port; its URL, and its process."""
    process = await asyncio.create_subprocess_exec(
        PML,
        *("serve", "--port", "0"),
        cwd=site.folder,
        env=site.environment,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    said = b""
    try:
        while b"/mcp" not in said:
            line = await asyncio.wait_for(process.stderr.readline(), BOUND_S)
            assert line, f"pml serve has ended: {said.decode()}"
            said += line
        url = re.search(r"http://\S+/mcp", said.decode())
        assert url is not None
        yield url[0], process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        await asyncio.wait_for(process.communicate(), BOUND_S)


@asynccontextmanager
async def connected(site: Site, transport: str, mode: Mode) -> AsyncIterator[Client]:
    """The SDK's client, connected to PML in one of the ways."""
    async with AsyncExitStack() as stack:
        if transport == "stdio":
            parameters = StdioServerParameters(
                command=PML, args=["stdio"], cwd=site.folder, env=site.environment
            )
            client = Client(stdio_client(parameters), mode=mode)
        else:
            url, _ = await stack.enter_async_context(serve(site))
            client = Client(url, mode=mode)
        async with asyncio.timeout(BOUND_S):
            await stack.enter_async_context(client)
        yield client


async def discover(client: Client, intent: str) -> list[dict[str, Any]]:
    answer = await client.call_tool("pml_discover", {"intent": intent})
    assert answer.structured_content is not None
    results: list[dict[str, Any]] = answer.structured_content["results"]
    return results


async def execute(client: Client, arguments: dict[str, Any]) -> dict[str, Any]:
    answer = await client.call_tool("pml_execute", arguments)
    assert isinstance(answer.structured_content, dict)
    assert answer.is_error is False, answer.structured_content
    return answer.structured_content


async def whole_result(client: Client, workflow_id: str) -> tuple[str, int]:
    """The result, read three characters at a time, and in how many pages it came."""
    text, offset, pages = "", 0, 0
    while offset is not None:
        arguments = {"workflow_id": workflow_id, "task_id": "result", "limit": 3, "offset": offset}
        page = (await client.call_tool("pml_get_task_result", arguments)).structured_content
        assert page is not None
        text, offset, pages = text + page["text"], page.get("nextOffset"), pages + 1
    return text, pages


@pytest.mark.parametrize(("mode", "revision"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_an_agent_finds_runs_and_runs_again(
    site: Site, transport: str, mode: Mode, revision: str
) -> None:
    async with connected(site, transport, mode) as client:
        assert client.protocol_version == revision
        assert client.instructions is not None
        assert "pml_discover" in client.instructions
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names[:3] == ["pml_discover", "pml_execute", "pml_get_task_result"]

        async with asyncio.timeout(BOUND_S):  # the server is being connected meanwhile
            while not (found := await discover(client, "give a text back")):
                pass
        assert found[0]["id"] == "up:echo"

        first = await execute(client, {"intent": INTENT, "code": CODE})
        assert (first["result"], first.get("mode", "direct")) == ({"said": "hello"}, "direct")

        learned = (await discover(client, INTENT))[0]
        assert (learned["type"], learned["id"]) == ("capability", first["capabilityId"])
        (parameter,) = learned["parameters"]

        again = await execute(client, {"intent": INTENT, "context": {parameter["name"]: "bye"}})
        assert (again["result"], again["mode"]) == ({"said": "bye"}, "speculation")
        assert again["capabilityId"] == first["capabilityId"]

        text, pages = await whole_result(client, again["workflowId"])
        assert (json.loads(text), pages) == ({"said": "bye"}, -(-len(text) // 3))
        with pytest.raises(MCPError, match="no result"):
            await client.call_tool(
                "pml_get_task_result", {"workflow_id": "of-nobody", "task_id": "n1"}
            )
    assert [call["arguments"] for call in site.calls()] == [{"text": "hello"}, {"text": "bye"}]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_a_request_that_its_client_gives_up_is_a_cancelled_run(
    site: Site, transport: str, mode: Mode
) -> None:
    under_way = asyncio.Event()

    async def watch(progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG001
        if message == "n1 up.hang started":
            under_way.set()

    async with connected(site, transport, mode) as client:
        call = asyncio.create_task(client.call_tool("pml_execute", HANG, progress_callback=watch))
        async with asyncio.timeout(BOUND_S):
            await under_way.wait()
        call.cancel()
        with suppress(asyncio.CancelledError):
            await call
        assert await site.state_of_the_only_run(RunState.CANCELLED) is RunState.CANCELLED
        assert await discover(client, "anything") is not None


async def test_a_client_that_leaves_is_noticed_whatever_it_has_sent_ahead(site: Site) -> None:
    async with serve(site) as (url, _):
        port = int(url.removesuffix("/mcp").rpartition(":")[2])
        client = await Speaker(port, MODERN).open()
        call = client.text(call_body("pml_execute", HANG, progress="p"))
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(call + call)
        async with asyncio.timeout(BOUND_S):
            await reader.readuntil(b"n1 up.hang started")
        writer.close()
        assert await site.state_of_the_only_run(RunState.CANCELLED) is RunState.CANCELLED
        await writer.wait_closed()


async def test_a_large_result_is_read_page_by_page(site: Site) -> None:
    code = 'return { text: "é\\n\\u2028".repeat(50_000), big: 1e21, whole: 2.0 };'
    async with connected(site, "http", "auto") as client:
        answer = await execute(client, {"intent": "make much text", "code": code})
        assert "result" not in answer
        (warning,) = answer["warnings"]
        assert f'{{workflow_id: "{answer["workflowId"]}", task_id: "result"}}' in warning
        arguments = {"workflow_id": answer["workflowId"], "task_id": "result", "limit": 2_000}
        page = (await client.call_tool("pml_get_task_result", arguments)).structured_content
        assert page is not None
        assert answer["resultPreview"] == page["text"]
        assert answer["resultChars"] == page["totalChars"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_closes_runs_and_leaves_no_process(
    site: Site, number: signal.Signals
) -> None:
    under_way = asyncio.Event()

    async def watch(progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG001
        if message == "n1 up.hang started":
            under_way.set()

    async with serve(site) as (url, process):
        started = psutil.Process(process.pid)
        async with Client(url) as client:
            call = asyncio.create_task(
                client.call_tool("pml_execute", HANG, progress_callback=watch)
            )
            async with asyncio.timeout(BOUND_S):
                await under_way.wait()
            children = started.children(recursive=True)
            process.send_signal(number)
            assert await asyncio.wait_for(process.wait(), BOUND_S) == 0
            with suppress(MCPError, asyncio.CancelledError):
                await call
    (run,) = await site.runs()
    assert run.state is RunState.CANCELLED
    _, alive = psutil.wait_procs(children, timeout=BOUND_S)
    assert [child.cmdline() for child in alive if "postgres" not in " ".join(child.cmdline())] == []


async def test_tools_are_listed_while_servers_still_connect(site: Site) -> None:
    silent = {"command": sys.executable, "args": ["-c", "import time; time.sleep(600)"]}
    (site.folder / "mcp.json").write_text(json.dumps({"mcpServers": {"silent": silent}}))
    async with serve(site) as (url, _), Client(url) as client:
        assert len((await client.list_tools()).tools) == 7
        async with httpx2.AsyncClient() as http:
            answer = await http.get(url.replace("/mcp", "/health"))
            health = answer.json()
    assert answer.status_code == 200, answer.text
    assert health["servers"] == [{"name": "silent", "state": "connecting", "error": None}]
