"""Spans of requests, runs and calls, one trace from the client to the servers (OP-3, ST-5)."""

import asyncio
import gzip
import json
import random
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from pml.domain.events import Event
from pml.domain.limits import Limits
from pml.domain.response import ExecuteError, ExecuteRequest, ExecuteResponse
from pml.domain.run import Failed, Returned, Run, RunState
from pml.errors import OutcomeUnknownError
from pml.runtime.reaper import Reaper
from pml.runtime.spans import call_span, run_span
from pml.runtime.upstream.config import ServerConfig
from pml.runtime.upstream.servers import Upstreams
from pml.serve.span_export import RedactingExporter
from tests.domain.token_makers import all_tokens
from tests.serve.stand_in import HeldRuns, Served, served
from tests.serve.wire import MODERN, Client, call_body

SERVER = Path(__file__).parents[1] / "fixtures" / "traced_server.py"
TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE_ID}-b7ad6b7169203331-01"


class Spans:
    """What left the process."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()

    def all(self) -> list[ReadableSpan]:
        return list(self.exporter.get_finished_spans())

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.all() if span.name == name]

    def one(self, name: str) -> ReadableSpan:
        (span,) = self.named(name)
        return span


@pytest.fixture
def spans() -> Iterator[Spans]:
    """Spans as they are exported; the provider is the process's only one, and stays."""
    provider = trace.get_tracer_provider()
    if not isinstance(provider, TracerProvider):
        provider = TracerProvider()
        trace.set_tracer_provider(provider)
    found = Spans()
    processor = SimpleSpanProcessor(RedactingExporter(found.exporter, Limits()))
    provider.add_span_processor(processor)
    yield found
    processor.shutdown()


@pytest.fixture
async def server() -> AsyncIterator[Served]:
    async with served() as server:
        yield server


def attributes(span: ReadableSpan) -> Mapping[str, Any]:
    return dict(span.attributes or {})


def shown(span: ReadableSpan) -> tuple[Any, ...]:
    """All that is no time and no id of its own."""
    parent = span.parent and (f"{span.parent.trace_id:032x}", f"{span.parent.span_id:016x}")
    said = (span.status.status_code, span.status.description)
    return span.name, span.kind, attributes(span), parent, said, list(span.events)


@pytest.mark.parametrize("meta", [{}, {"traceparent": PARENT}, {"traceparent": "nonsense"}])
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("pml_discover", {"intent": "read a file"}),
        ("pml_discover", {"intent": ""}),
        ("pml_discover", {"intent": "lost"}),
        ("pml_get_task_result", {"workflow_id": "w", "task_id": "n1"}),
    ],
)
async def test_both_ways_of_a_quick_call_leave_the_same_span(
    spans: Spans, server: Served, name: str, arguments: dict[str, Any], meta: dict[str, str]
) -> None:
    message = json.loads(call_body(name, arguments))
    message["params"]["_meta"] = meta
    client = await Client(server.port, MODERN).open()
    await client.send(json.dumps(message).encode())
    await client.send(json.dumps(message | {"more": 1}).encode())
    short, whole = spans.named(f"tools/call {name}")
    assert shown(short) == shown(whole)
    assert short.kind is SpanKind.SERVER
    assert attributes(short)["gen_ai.tool.name"] == name
    if meta.get("traceparent") == PARENT:
        assert f"{short.context.trace_id:032x}" == TRACE_ID


class Watching(HeldRuns):
    """Notes to which trace its runs belong."""

    trace_id = 0

    async def execute(
        self, request: ExecuteRequest, *, emit: Callable[[Event], None] | None = None
    ) -> ExecuteResponse:
        self.trace_id = trace.get_current_span().get_span_context().trace_id
        return await super().execute(request, emit=emit)


async def test_a_run_belongs_to_the_trace_of_its_client(spans: Spans, server: Served) -> None:
    server.bench.act = watching = Watching()
    message = json.loads(call_body("pml_execute", {"intent": "x", "code": "return 1;"}))
    message["params"]["_meta"] = {"traceparent": PARENT}
    client = await Client(server.port, MODERN).open()
    assert (await client.send(json.dumps(message).encode())).status == 200
    assert f"{watching.trace_id:032x}" == TRACE_ID
    assert spans.one("tools/call pml_execute").parent is not None


class Nowhere:
    async def replace(self, server: str, tools: object) -> None:
        """Nobody keeps what is listed."""


@pytest.fixture
async def upstreams() -> AsyncIterator[Upstreams]:
    reaper = Reaper.start()
    config = ServerConfig(name="traced", command=sys.executable, args=(str(SERVER),))
    async with Upstreams([config], limits=Limits(), reaper=reaper, sink=Nowhere()) as servers:
        await servers.ready("traced")
        yield servers
    reaper.close()


Call = Callable[[str, str], Awaitable[Any]]


@pytest.fixture
def call(upstreams: Upstreams) -> Call:
    return lambda tool, arguments: upstreams.call("traced", tool, arguments)


async def test_a_call_takes_its_trace_to_the_server(spans: Spans, call: Call) -> None:
    """Ours is the parent of the SDK's, whose id the server gets in the call's metadata."""
    outcome = await call("where", "{}")
    ours, message = spans.one("execute_tool where"), spans.one("MCP send tools/call where")
    assert message.parent is not None
    assert message.parent.span_id == ours.context.span_id
    told = json.loads(outcome.value)["traceparent"].split("-")
    assert told[1:3] == [f"{ours.context.trace_id:032x}", f"{message.context.span_id:016x}"]
    assert attributes(ours) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "where",
        "mcp.method.name": "tools/call",
        "mcp.protocol.version": attributes(ours)["mcp.protocol.version"],
        "network.transport": "pipe",
        "pml.server.name": "traced",
    }


async def test_a_failed_call_is_marked_and_says_nothing_secret(spans: Spans, call: Call) -> None:
    secret = all_tokens(random.Random(1))[0]
    outcome = await call("fail", json.dumps({"text": f"no access with {secret}"}))
    assert isinstance(outcome, Failed)
    span = spans.one("execute_tool fail")
    assert span.status.status_code is StatusCode.ERROR
    assert attributes(span)["error.type"] == outcome.code
    assert secret not in "".join(str(each.to_json()) for each in spans.all())


async def test_a_call_without_answer_is_marked_by_its_error(spans: Spans) -> None:
    lost = OutcomeUnknownError("s", "no answer", timed_out=True)
    with pytest.raises(OutcomeUnknownError), call_span("s", "t", transport="http", protocol=None):
        raise lost
    span = spans.one("execute_tool t")
    assert attributes(span)["error.type"] == "OutcomeUnknownError"
    assert attributes(span)["network.transport"] == "tcp"
    assert not span.events


async def test_a_run_is_the_parent_of_its_calls_also_in_other_tasks(spans: Spans) -> None:
    async def make_call() -> None:
        with call_span("s", "t", transport="stdio", protocol="2026-07-28") as ended:
            ended(Returned(value="1"))

    run = Run(
        id="r",
        user_id="u",
        owner="o",
        state=RunState.RUNNING,
        intent="i",
        source_hash="h",
        created_at_ms=1,
        updated_at_ms=1,
        timeout_ms=1,
        parent_run_id="p",
        capability_id="c",
    )
    with run_span(run) as ended:
        await asyncio.gather(*(asyncio.create_task(make_call()) for _ in range(3)))
        error = ExecuteError(code="timeout", message="secret")
        ended(ExecuteResponse(status="error", error=error))
    span = spans.one("invoke_workflow pml")
    for each in spans.named("execute_tool t"):
        assert each.parent is not None
        assert each.parent.span_id == span.context.span_id
    found = attributes(span)
    assert (found["pml.run.id"], found["pml.run.state"], found["error.type"]) == (
        "r",
        "error",
        "timeout",
    )
    assert "secret" not in str(span.to_json())


@given(st.integers(0, 2**32), st.data())
def test_nothing_secret_leaves_in_anybodys_span(seed: int, data: st.DataObject) -> None:
    """Wherever a span holds a text."""
    secret = data.draw(st.sampled_from(all_tokens(random.Random(seed))))
    text = f"it was {secret} there"
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(RedactingExporter(exporter, Limits())))
    with provider.get_tracer("other").start_as_current_span(text) as span:
        span.set_attribute("a", text)
        span.set_attribute("b", [text, text])
        span.set_attribute("api_key", "short")
        span.add_event(text, {"c": text})
        span.record_exception(ValueError(text))
        span.set_status(StatusCode.ERROR, text)
    (left,) = exporter.get_finished_spans()
    whole = str(left.to_json())
    assert secret not in whole
    assert "short" not in whole
    assert "it was" in whole


SCRIPT = """
import sys
from pml.serve.tracing import tracing
from pml.runtime.spans import call_span
if sys.argv[1] == "no-sdk":
    sys.modules["opentelemetry.sdk.trace"] = None
import os
with tracing(os.environ):
    with call_span("s", "t", transport="stdio", protocol=None):
        pass
print("done")
"""


def run_script(mode: str, **env: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, mode],
        env={"PYTHONPATH": str(SERVER.parents[2]), **env},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_spans_go_to_the_endpoint_that_the_environment_names() -> None:
    bodies: list[bytes] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Collector) as collector:
        thread = Thread(target=collector.serve_forever)
        thread.start()
        url = f"http://127.0.0.1:{collector.server_port}"
        done = run_script("sdk", OTEL_EXPORTER_OTLP_ENDPOINT=url, OTEL_SERVICE_NAME="mine")
        off = run_script("sdk", OTEL_EXPORTER_OTLP_ENDPOINT=url, OTEL_SDK_DISABLED="true")
        collector.shutdown()
        thread.join()
    assert (done.stdout, off.stdout) == ("done\n", "done\n")
    texts = [gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body for body in bodies]
    assert len(texts) == 1
    assert b"execute_tool t" in texts[0]
    assert b"mine" in texts[0]


def test_a_missing_sdk_is_an_error_only_where_spans_are_wanted() -> None:
    assert run_script("no-sdk").stdout == "done\n"
    wanted = run_script("no-sdk", OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:1")
    assert "OTEL_EXPORTER_OTLP_ENDPOINT: is set" in wanted.stderr
    assert "pip install 'pml[otel]'" in wanted.stderr
