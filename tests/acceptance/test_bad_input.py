"""Bad input of every kind: a clear error, the trace says it, and the next program works (issue 2).

One workbench over a real database, real sandboxes and a real stdio server that misbehaves.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
import pytest_asyncio

from pml.domain.record import encode
from pml.domain.response import ExecuteRequest, ExecuteResponse
from pml.domain.run import RunState
from pml.errors import ConfigError
from pml.serve.compose import Settings, Workbench, load_configuration, workbench
from pml.store.embedded import EmbeddedPostgres

pytestmark = pytest.mark.asyncio(loop_scope="module")

FIXTURE = Path(__file__).parents[1] / "fixtures" / "upstream_server.py"
BOUND_S = 60.0
READS = ("echo", "add", "names", "huge", "hang", "process")
PERMISSIONS = {
    "version": 1,
    "servers": {
        "up": {
            "tools": {
                **{
                    name: {"scope": "readonly", "effect": "read", "approval_mode": "auto"}
                    for name in READS
                },
                "put": {"scope": "full", "effect": "write", "approval_mode": "hil"},
                "*": {"scope": "full", "effect": "write", "approval_mode": "auto"},
            }
        }
    },
}


def settings_in(folder: Path) -> Settings:
    up = {"command": sys.executable, "args": [str(FIXTURE)]}
    gone = {"command": "/no/such/program"}
    config = folder / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"up": up, "gone": gone}}))
    permissions = folder / "permissions.yaml"
    permissions.write_text(json.dumps(PERMISSIONS))  # JSON is YAML
    return Settings(data_dir=folder / "data", config=config, permissions=permissions)


@dataclass(frozen=True, slots=True)
class Bench:
    """A workbench and the way to use it."""

    workbench: Workbench
    settings: Settings

    async def run(self, code: str, **fields: Any) -> ExecuteResponse:  # noqa: ANN401
        request = ExecuteRequest(**({"intent": "try", "code": code} | fields))
        async with asyncio.timeout(BOUND_S):
            return await self.workbench.act.execute(request)

    async def works(self) -> bool:
        answer = await self.run("return mcp.up.echo({ text: 'still here' });")
        return (answer.status, answer.result) == ("success", "still here")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bench(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Bench]:
    settings = settings_in(tmp_path_factory.mktemp("bad-input"))
    async with workbench(settings) as opened:
        yield Bench(opened, settings)


REFUSED = [
    # code, error.code, what the message or a diagnostic says
    ("const a = ;", "syntax", '"line":1,"column":9'),
    ("return (\n  1 +\n)", "syntax", '"line":'),
    ("await mcp.upp.echo({});", "unknown-server", "up"),
    ("await mcp.up.ecko({});", "unknown-tool", "echo"),
    ("await mcp.up.echo({ text: 5 });", "*", "text"),
    ("await mcp.up.echo({});", "*", "text"),
    ("return nowhere + 1;", "missing-parameter", "nowhere"),
    ("await mcp.gone.read({});", "server_unavailable", "no such program"),
    ("// " + "x" * 1_100_000, "too-large", "source_bytes"),
    ("return '\ud800';", "*", "surrogate"),
    ("import x from 'y';", "*", "import"),
]


@pytest.mark.parametrize(("code", "error", "said"), REFUSED)
async def test_code_that_cannot_run_is_refused_with_its_place_and_the_nearest_names(
    bench: Bench, code: str, error: str, said: str
) -> None:
    answer = await bench.run(code)
    assert (answer.status, answer.workflow_id) == ("error", None)
    assert answer.error is not None
    assert error in ("*", answer.error.code)
    assert said in encode(answer).decode()


FAILING = [
    # code, error.code, what the message says
    ("await mcp.up.die({});", "in_doubt", "up:die"),
    ("await mcp.up.half_line({});", "in_doubt", "up:half_line"),
    ("await mcp.up.huge({ megabytes: 50 });", "too_large", "10,000,000"),
    ("await mcp.up.answer_nan({});", "bad_result", "NaN"),
    ("await mcp.up.answer_not_utf8({});", "bad_result", "unicode"),
    ("await mcp.up.answer_not_json({});", "bad_result", "read"),
    ("await mcp.up.fail({ message: 'no' });", "tool_error", "no"),
    ("await mcp.up.hang({});", "timeout", "3000 ms"),
    ("await mcp.up.hang_write({});", "in_doubt", "up:hang_write"),
    ("while (true) {}", "timeout", "3000 ms"),
    ("await new Promise(() => {});", "timeout", "3000 ms"),
    ("return () => 1;", "not_json", "function"),
    ("const a = {}; a.a = a; return a;", "not_json", "itself"),
    ("return 10n;", "not_json", "bigint"),
    ("return 'x'.repeat(11_000_000);", "too_large", "10000000"),
    ("let a = 1; for (let i = 0; i < 900; i++) a = [a]; return a;", "too_large", "nested"),
    ("let a = []; for (let i = 0; i < 900; i++) a = [a]; await mcp.up.echo({ text: a });", "*", ""),
    ("await mcp.up.echo({ text: 'x'.repeat(2_000_000) });", "*", "1000000"),
    ("\n\nnull.x;", "program_error", "null"),
    ("throw undefined;", "program_error", "undefined"),
    ("const all = []; while (true) all.push(new Array(1e6).fill(1));", "sandbox", "memory"),
]


@pytest.mark.parametrize(("code", "error", "said"), FAILING)
async def test_a_program_that_fails_says_why_and_so_does_its_trace(
    bench: Bench, code: str, error: str, said: str
) -> None:
    answer = await bench.run(code, timeout_ms=3_000)
    assert answer.error is not None
    assert error in ("*", answer.error.code)
    assert said in answer.error.message
    store = bench.workbench.store
    assert answer.workflow_id is not None
    run = await store.runs.get(answer.workflow_id)
    assert run.state == answer.status != RunState.RUNNING
    assert run.reason
    if run.state.final:
        (trace,) = await store.traces.of_run(run.id)
        assert (trace.success, bool(trace.error_message)) == (False, True)
    assert await bench.works()


@pytest.mark.parametrize(
    ("code", "result"),
    [
        ("return undefined;", None),
        ("return [NaN, -0, 1e21, 2 ** 53];", [None, 0, 1e21, 2**53]),
        (r"return mcp.up.echo({ text: 'cut \ud83d' });", "cut \ufffd"),
        (r"return mcp.up.echo({ text: 'a\u0000b\u2028' });", "a\0b\u2028"),
        (
            'return JSON.parse(\'{"__proto__": 1, "constructor": 2}\');',
            {"__proto__": 1, "constructor": 2},
        ),
        ("\ufeffreturn 1;\r\n", 1),
    ],
)
async def test_odd_values_arrive(bench: Bench, code: str, result: object) -> None:
    answer = await bench.run(code)
    assert (answer.status, answer.result) == ("success", result)


async def test_a_tool_that_needs_approval_stops_the_request_before_anything_runs(
    bench: Bench,
) -> None:
    answer = await bench.run("await mcp.up.put({ path: '/nowhere', text: 'x' });")
    assert (answer.status, [p.tool for p in answer.approvals]) == ("approval_required", ["up:put"])


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("mcp.json", '{"mcpServers": {\n"a": {"command": 3}}}', "mcp.json:2: "),
        ("mcp.json", '{"mcpServers": ', "expected JSON"),
        ("mcp.json", '{"mcpServers": {"a": {"command": "x", "colour": 1}}}', "colour"),
        ("permissions.yaml", "version: 1\nservers:\n  up: [", "permissions.yaml:3: "),
        ("permissions.yaml", "version: 7\n", "version"),
    ],
)
async def test_a_malformed_file_is_named_with_its_line_and_what_was_expected(
    tmp_path: Path, name: str, text: str, said: str
) -> None:
    settings = settings_in(tmp_path)
    (tmp_path / name).write_text(text)
    with pytest.raises(ConfigError) as error:
        load_configuration(settings)
    assert name in str(error.value)
    assert said in str(error.value)


def kill_database(settings: Settings) -> None:
    server = psutil.Process(
        int(EmbeddedPostgres(settings.data_dir).layout.pid_file.read_text().split()[0])
    )
    for process in [server, *server.children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):
            process.kill()


async def test_a_database_killed_in_the_middle_of_writes_leaves_every_request_accounted_for(
    bench: Bench,
) -> None:
    code = "for (let i = 0; i < 150; i++) await mcp.up.write({ text: `${i}` }); return 'done';"
    request = asyncio.create_task(bench.run(code))
    async with asyncio.timeout(BOUND_S):
        while not await bench.workbench.store.runs.recent(1, RunState.RUNNING):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    kill_database(bench.settings)
    answer = await request
    assert answer.status in ("success", "error")  # it comes back at once, or tells
    assert answer.status == "success" or (
        answer.error is not None and answer.error.code == "store_unavailable"
    )
    assert answer.in_doubt == ()
    assert await bench.works()
