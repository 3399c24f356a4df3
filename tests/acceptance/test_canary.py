"""A secret that is planted anywhere is found nowhere but where it has to be (ST-5).

PML runs as its users run it, with the log of every level and spans on their way to a collector.
Secrets of several kinds go in by every door that there is: arguments, code, intents, what tools
answer, what they fail with, what programs throw and print, keys of objects, the configuration.
Then everything that is left behind or was said is searched: each column of each table, the
files of the database, both streams, spans, progress, answers.  A direct result is the one
thing that an agent gets as it is.
"""

import asyncio
import gzip
import json
import os
import random
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import pytest_asyncio
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from psycopg import sql

from pml.store.database import Database
from tests.conftest import wait_until_stopped
from tests.domain.test_sanitising import tokens

PML = str(Path(sys.executable).with_name("pml"))
SERVER = Path(__file__).parents[1] / "fixtures" / "upstream_server.py"
PERMISSIONS = """\
version: 1
servers:
  up: {tools: {"put": {scope: full, effect: write, approval_mode: hil},
               "*": {scope: full, effect: write, approval_mode: auto}}}
"""
PLACES = (
    "args", "named", "answer", "failure", "thrown", "printed", "rejected", "intent", "literal",
    "comment", "key", "environment", "header", "asked", "sought", "refused",
)  # fmt: skip
BOUND_S = 60.0


class Secrets:
    """Secrets of every kind for each place, so that one that turns up says where it came in."""

    def __init__(self) -> None:
        self.of = {place: self._made(number) for number, place in enumerate(PLACES)}

    def _made(self, number: int) -> list[str]:
        rng = random.Random(number)
        kinds = tokens(rng)
        opaque = "".join(rng.choices("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOP0123456789", k=48))
        return [kinds[0], kinds[3], kinds[8], kinds[12], opaque]

    def text(self, place: str) -> str:
        """A sentence that holds all of a place."""
        said = ", ".join(self.of[place])
        return f"it was {said} and hunter2: password={self.password(place)} to the end"

    def password(self, place: str) -> str:
        """A secret that only the name before it gives away."""
        return f"tr0ub4dor-{place}-{place[::-1]}"

    def leaks(self, data: bytes) -> list[str]:
        """Which secrets are in there, in whole or in good part."""
        found = []
        for place, kinds in self.of.items():
            for number, secret in enumerate([*kinds, self.password(place)]):
                parts = (secret, secret[:24], secret[-24:])
                if any(part.encode() in data for part in parts):
                    found.append(f"{place} {number}")
        return found


@dataclass
class Scene:
    """What happened, and all that was left of it."""

    secrets: Secrets
    folder: Path
    data_dir: Path
    answers: list[Any] = field(default_factory=list)
    results: list[Any] = field(default_factory=list)
    progress: list[str] = field(default_factory=list)
    spans: list[bytes] = field(default_factory=list)
    commands: list[bytes] = field(default_factory=list)
    log: bytes = b""
    columns: dict[str, bytes] = field(default_factory=dict)


@pytest.fixture(scope="module")
def collector() -> Iterator[tuple[str, list[bytes]]]:
    """An OTLP endpoint."""
    bodies: list[bytes] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            bodies.append(gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body)
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Collector) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", bodies
        server.shutdown()
        thread.join()


def programs(secrets: Secrets) -> list[dict[str, Any]]:
    """Requests, each with its own door."""
    text = {place: json.dumps(secrets.text(place)) for place in PLACES}
    return [
        {
            "intent": f"copy a note; {secrets.text('intent')}",
            "code": "// " + secrets.text("comment") + "\n"
            "console.log(" + text["printed"] + "); console.error({a: [" + text["printed"] + "]});"
            "const one = await mcp.up.echo({ text: args.note });"
            "const two = await mcp.up.echo({ text: " + text["literal"] + " });"
            "Promise.reject(new Error(" + text["rejected"] + "));"
            "try { await mcp.up.fail({ message: " + text["failure"] + " }); } catch {}"
            "try { await mcp.up.rpc_error({ code: -32000, message: " + text["failure"] + " }); }"
            " catch {}"
            "await mcp.up.write({ text: JSON.stringify({[" + text["key"] + "]: 1}) });"
            "return { one, two, [" + text["key"] + "]: 1 };",
            "context": {
                "note": secrets.text("args"),
                "apiKey": secrets.password("named"),
                "more": {secrets.text("key"): [secrets.text("named")]},
            },
        },
        {
            "intent": "read what is there and throw",
            "code": "const one = await mcp.up.read({ path: args.path }); "
            "throw new Error(one + " + text["thrown"] + ");",
            "context": {"path": "answer.txt"},
        },
        {
            "intent": "fail with what the tool fails with",
            "code": "return await mcp.up.fail({ message: " + text["failure"] + " });",
        },
        {
            "intent": "put a note, which a person has to allow",
            "code": "return await mcp.up.put({ path: args.path, text: " + text["asked"] + " });",
            "context": {"path": f"/nowhere/{secrets.text('asked')}"},
        },
        {"intent": "x", "code": "return await mcp.up.ecko({ text: " + text["refused"] + " });"},
        {"intent": "x", "code": "return await mcp.up.add({ a: " + text["refused"] + ", b: 1 });"},
        {"intent": "x", "code": "const " + text["refused"] + " = 1;"},
        {"intent": f"nobody knows {secrets.text('sought')}"},
        {"intent": "x", "code": "return args.a;", "context": {"b": secrets.text("refused")}},
        {"intent": "x", "code": "return 1;", "options": {"timeout": secrets.text("refused")}},
        {"intent": "x", "dag": {"tasks": [{"id": secrets.text("refused"), "tool": "up:no"}]}},
    ]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def scene(
    tmp_path_factory: pytest.TempPathFactory, collector: tuple[str, list[bytes]]
) -> AsyncIterator[Scene]:
    folder = tmp_path_factory.mktemp("canary")
    secrets = Secrets()
    found = Scene(secrets, folder, folder / "data")
    (folder / "answer.txt").write_text(secrets.text("answer"))
    header = secrets.of["header"][0]
    servers = {
        "up": {
            "command": sys.executable,
            "args": [str(SERVER), "--counter", str(folder / "counter.jsonl")],
            "cwd": str(folder),
            "env": {"SERVICE_TOKEN": secrets.text("environment")},
        },
        "down": {
            "url": f"http://bob:{secrets.password('header')}@127.0.0.1:9/mcp?key={header}",
            "headers": {"Authorization": f"Bearer {secrets.of['header'][1]}"},
        },
    }
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    (folder / "permissions.yaml").write_text(PERMISSIONS)
    endpoint, found.spans = collector
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PML_")}
    environment = ours | {
        "PML_DATA_DIR": str(found.data_dir),
        "PML_LOG": "debug",
        "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
    }
    await converse(found, environment)
    for words in (
        ("runs", "--json"), ("trace", "--json"), ("capabilities", "list", "--json"),
        ("servers", "list"), ("doctor",), ("discover", "copy a note"),
    ):  # fmt: skip
        process = await asyncio.create_subprocess_exec(
            PML, *words, cwd=folder, env=environment,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        found.commands += await asyncio.wait_for(process.communicate(), BOUND_S)
    async with Database.open(url=None, data_dir=found.data_dir, user_id="local") as database:
        found.columns = await dump(database)
    await asyncio.to_thread(wait_until_stopped, found.data_dir)
    yield found


async def converse(scene: Scene, environment: dict[str, str]) -> None:
    """An agent sends all requests to `pml stdio`, with progress."""
    with (scene.folder / "stderr.txt").open("w") as log:
        parameters = StdioServerParameters(
            command=PML, args=["stdio"], cwd=str(scene.folder), env=environment
        )

        async def note(progress: float, total: float | None, message: str | None) -> None:
            scene.progress.append(f"{progress} {total} {message}")

        async with Client(stdio_client(parameters, errlog=log)) as client:
            records = [
                await tell(scene, client, "pml_execute", request, note)
                for request in programs(scene.secrets)
            ]
            await tell(scene, client, "pml_discover", {"intent": "copy a note"}, note)
            assert records[0].get("status") == "success", scene.answers[:2]
            sought = {"intent": scene.secrets.text("sought")}
            await tell(scene, client, "pml_discover", sought, note)
            for task in ("n1", "n2", "n3", "n4", "n5", "result"):
                question = {"workflow_id": records[0]["workflowId"], "task_id": task}
                await tell(scene, client, "pml_get_task_result", question, note)
    scene.log = (scene.folder / "stderr.txt").read_bytes()


async def tell(scene: Scene, client: Client, name: str, request: Any, note: Any) -> dict[str, Any]:  # noqa: ANN401
    """Send one request; keep its answer, the direct result apart."""
    try:
        answer = await client.call_tool(name, request, progress_callback=note)
    except MCPError as exc:
        scene.answers.append({"message": exc.error.message, "data": exc.error.data})
        return {}
    record = dict(answer.structured_content or {})
    if name == "pml_execute" and "result" in record:
        scene.results.append(record.pop("result"))  # the text holds the same
    else:
        scene.answers.append([part.model_dump() for part in answer.content])
    scene.answers.append(record)
    return record


async def dump(database: Database) -> dict[str, bytes]:
    """Each column of each table, as bytes."""
    found: dict[str, bytes] = {}
    async with database.connection() as connection:
        names = await (
            await connection.execute(
                "SELECT table_schema, table_name, column_name FROM information_schema.columns"
                " JOIN information_schema.tables USING (table_schema, table_name)"
                " WHERE table_type = 'BASE TABLE'"
                " AND table_schema NOT IN ('pg_catalog', 'information_schema')"
            )
        ).fetchall()
        for schema, table, column in names:
            query = sql.SQL("SELECT {}, {}::text FROM {}").format(
                *(sql.Identifier(str(column)),) * 2, sql.Identifier(str(schema), str(table))
            )
            rows = await (await connection.execute(query)).fetchall()
            found[f"{table}.{column}"] = b"\n".join(
                value if isinstance(value, bytes) else str(value).encode()
                for row in rows
                for value in row
            )
    return found


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.timeout(300)
async def test_the_agent_got_what_its_programs_returned(scene: Scene) -> None:
    """Else nothing would have been planted: the direct result holds secrets, in clear."""
    (result,) = scene.results
    assert result["one"] == scene.secrets.text("args")
    assert result["two"] == scene.secrets.text("literal")
    assert len(scene.answers) > 15
    assert len(scene.progress) > 5
    assert b"execute_tool echo" in b"".join(scene.spans)
    assert b"invoke_workflow" in b"".join(scene.spans)
    sent = (scene.folder / "counter.jsonl").read_bytes()
    assert {"args 0", "literal 0", "failure 0", "key 0"} <= set(scene.secrets.leaks(sent))
    assert len(scene.log) > 100


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("where", ["answers", "progress", "spans", "log", "commands"])
async def test_no_secret_is_said(scene: Scene, where: str) -> None:
    said = getattr(scene, where)
    data = said if isinstance(said, bytes) else json.dumps(said, default=str).encode()
    if said and isinstance(said, list) and isinstance(said[0], bytes):
        data = b"\n".join(said)
    assert scene.secrets.leaks(data.replace(b'\\"', b'"')) == []


@pytest.mark.asyncio(loop_scope="module")
async def test_no_secret_is_in_a_column(scene: Scene) -> None:
    assert {name for name in scene.columns if name.startswith("run_log.")}
    leaks = {name: scene.secrets.leaks(data) for name, data in scene.columns.items()}
    assert {name: found for name, found in leaks.items() if found} == {}


@pytest.mark.asyncio(loop_scope="module")
async def test_no_secret_is_in_a_file_of_the_database(scene: Scene) -> None:
    """Its tables, its write-ahead log, and what the server said."""
    files = [path for path in scene.data_dir.rglob("*") if path.is_file()]
    leaks = {path.name: scene.secrets.leaks(path.read_bytes()) for path in files}
    assert {name: found for name, found in leaks.items() if found} == {}
    assert len(files) > 100
