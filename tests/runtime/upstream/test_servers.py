"""Real servers, well and ill: calls, losses, limits (EX-1, EX-8, EX-11; issue 2, bad input)."""

import asyncio
import json
import sys
from pathlib import Path

import psutil
import pytest

from pml.domain.limits import Limits
from pml.domain.run import Failed, Returned
from pml.errors import OutcomeUnknownError, UpstreamUnavailableError
from pml.runtime.reaper import Reaper
from pml.runtime.upstream.config import ServerConfig
from pml.runtime.upstream.servers import Upstreams
from pml.runtime.upstream.status import ServerState
from tests.runtime.upstream.outside import (
    PROTOCOLS,
    Calls,
    Http,
    Open,
    Sink,
    Stdio,
    eventually,
    with_protocol,
)

NEVER = "/nonexistent"


@pytest.fixture(params=["stdio", "http", "http-json"])
async def config(request: pytest.FixtureRequest, stdio: Stdio, http: Http) -> ServerConfig:
    """The fixture server over each transport."""
    if request.param == "stdio":
        return stdio("any")
    return await http(*(["--json-response"] if request.param == "http-json" else []), name="any")


@PROTOCOLS
async def test_the_value_of_a_call_is_what_the_tool_returned(
    config: ServerConfig, upstreams: Open, protocol: str, spoken: str
) -> None:
    """EX-1: structured content, unwrapped where the SDK wrapped it; else text; else blocks."""
    servers = await upstreams(with_protocol(config, protocol, results={"pl?in": "json"}))

    async def value(tool: str, **arguments: object) -> object:
        outcome = await servers.call("any", tool, json.dumps(arguments))
        assert isinstance(outcome, Returned), outcome
        return json.loads(outcome.value)

    assert await value("echo", text="héllo ☃") == "héllo ☃"
    assert await value("names", count=2) == ["name-0", "name-1"]
    assert await value("stat", path="/") == {"exists": True, "encoding": "utf-8"}
    assert await value("plain", text='{"n": 12345678901234567890}') == {"n": 12345678901234567890}
    assert await value("blocks") == [
        {"type": "text", "text": "a dot"},
        {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"},
    ]
    assert servers.status()[0].protocol_version == spoken
    assert servers.status()[0].server_version == "fixture 1.2.3"


@PROTOCOLS
async def test_what_a_server_answers_as_an_error_is_an_outcome(
    config: ServerConfig, upstreams: Open, protocol: str, spoken: str
) -> None:
    """EX-8."""
    servers = await upstreams(with_protocol(config, protocol))
    failed = await servers.call("any", "fail", '{"message": "no such thing"}')
    assert isinstance(failed, Failed)
    assert failed.code == "tool_error"
    assert "no such thing" in failed.message
    with_data = await servers.call("any", "fail_with_data", '{"message": "seven"}')
    assert with_data == Failed(code="tool_error", message="seven", data='{"code":7}')
    for code in (-32000, -32001, -32603):  # the SDK uses the first two for its own ends
        outcome = await servers.call("any", "rpc_error", f'{{"code": {code}, "message": "m"}}')
        assert isinstance(outcome, Failed)
        assert json.loads(outcome.data or "") == {"jsonrpcCode": code, "data": {"why": "because"}}
    assert servers.status()[0].protocol_version == spoken


@pytest.mark.parametrize(
    ("protocol", "code"), [("legacy", "tool_error"), ("auto", "input_required")]
)
async def test_a_server_that_asks_for_input_gets_none_and_the_call_fails(
    stdio: Stdio, upstreams: Open, protocol: str, code: str
) -> None:
    servers = await upstreams(stdio(protocol=protocol))
    outcome = await servers.call("fix", "ask", "{}")
    assert isinstance(outcome, Failed)
    assert outcome.code == code, outcome
    assert await servers.call("fix", "echo", '{"text": "hi"}') == Returned(value='"hi"')


async def test_arguments_that_are_no_object_are_not_sent(
    stdio: Stdio, upstreams: Open, calls: Calls
) -> None:
    servers = await upstreams(stdio())
    outcome = await servers.call("fix", "echo", "[1]")
    assert isinstance(outcome, Failed)
    assert outcome.code == "invalid_params"
    assert calls() == []


async def test_servers_connect_side_by_side_and_one_that_fails_stops_no_other(
    stdio: Stdio, upstreams: Open, sink: Sink
) -> None:
    silent = [sys.executable, "-c", "import sys; print('no license', file=sys.stderr); sys.exit(7)"]
    servers = await upstreams(
        stdio("good"),
        ServerConfig(name="missing", command="/no/such/program"),
        ServerConfig(name="quits", command=silent[0], args=tuple(silent[1:])),
        ServerConfig(name="mute", command="sleep", args=("600",), connect_timeout_s=0.5),
        ServerConfig(name="nobody", url="http://127.0.0.1:9/mcp"),
        ServerConfig(name="off", command="true", disabled=True),
        stdio("unused"),
    )
    await servers.connect(name for name in servers.names if name != "unused")
    status = {server.name: server for server in servers.status()}
    assert status["good"].state is ServerState.READY
    assert status["good"].tools == len(sink.listings["good"][0]) > 20
    assert "no such program" in (status["missing"].error or "")
    assert "status 7" in (status["quits"].error or "")
    assert status["quits"].last_words == ("no license",)
    assert "within 0.5 s" in (status["mute"].error or "")
    assert "ConnectError" in (status["nobody"].error or "")
    assert status["off"].state is ServerState.DISABLED
    assert status["unused"].state is ServerState.IDLE
    for name in ("missing", "quits", "mute", "nobody", "off"):
        with pytest.raises(UpstreamUnavailableError, match=name):
            await servers.call(name, "echo", '{"text": "x"}')
    with pytest.raises(UpstreamUnavailableError, match=r"not configured \(configured: good, miss"):
        await servers.ready("unknown")


async def test_leaving_while_a_server_connects_leaves_nothing_behind(
    stdio: Stdio, reaper: Reaper, sink: Sink
) -> None:
    """A connection begun in the background is shared with the first call, or ends with us."""
    before = asyncio.all_tasks()
    servers = Upstreams([stdio()], limits=Limits(), reaper=reaper, sink=sink)
    async with servers:
        servers.connect_soon(["fix", "no such server"])
        await servers.ready("fix")
    async with Upstreams([stdio()], limits=Limits(), reaper=reaper, sink=sink) as others:
        others.connect_soon(["fix"])
    assert asyncio.all_tasks() == before


@PROTOCOLS
async def test_pings_leave_a_healthy_session_alone(
    config: ServerConfig, upstreams: Open, counter: Path, protocol: str, spoken: str
) -> None:
    servers = await upstreams(with_protocol(config, protocol, ping_s=0.02))
    before = await servers.call("any", "process", "{}")
    pings = counter.with_suffix(".pings")
    await eventually(lambda: pings.exists() and len(pings.read_text()) > 5)
    assert await servers.call("any", "process", "{}") == before
    assert servers.status()[0].state is ServerState.READY
    assert servers.status()[0].protocol_version == spoken


@pytest.mark.parametrize(
    ("tool", "code", "says"),
    [
        ("answer_nan", "bad_result", "NaN"),
        ("answer_not_utf8", "bad_result", "unicode"),
        ("answer_not_json", "bad_result", "cannot be read"),
        ("answer_no_result", "bad_result", "breaks the protocol"),
    ],
)
async def test_a_broken_answer_fails_its_call_and_nothing_else(
    stdio: Stdio, upstreams: Open, tool: str, code: str, says: str
) -> None:
    servers = await upstreams(stdio())
    other = asyncio.create_task(servers.call("fix", "wait_for", json.dumps({"path": NEVER})))
    outcome = await servers.call("fix", tool, "{}")
    assert isinstance(outcome, Failed)
    assert outcome.code == code
    assert says in outcome.message
    assert not other.done()
    other.cancel()
    assert await servers.call("fix", "echo", '{"text": "fine"}') == Returned(value='"fine"')


async def test_litter_on_stdout_is_let_pass_and_remembered(stdio: Stdio, upstreams: Open) -> None:
    servers = await upstreams(stdio())
    assert await servers.call("fix", "litter", '{"text": "ready!"}') == Returned(value='"ready!"')
    with pytest.raises(OutcomeUnknownError):
        await servers.call("fix", "half_line", "{}")
    words = "\n".join(servers.status()[0].last_words)
    assert "[no protocol on stdout] ready!" in words
    assert "stdout ended within a line of 22 B" in words


async def test_a_result_of_50_mb_is_an_error_that_says_what_to_do(
    config: ServerConfig, upstreams: Open
) -> None:
    servers = await upstreams(config)
    await servers.ready("any")
    before = psutil.Process().memory_info().rss
    outcome = await servers.call("any", "huge", '{"megabytes": 50}')
    assert isinstance(outcome, Failed)
    assert outcome.code == "too_large"
    assert "the limit is 10,000,000" in outcome.message
    assert psutil.Process().memory_info().rss - before < 150_000_000
    assert await servers.call("any", "echo", '{"text": "x"}') == Returned(value='"x"')


async def test_a_result_just_over_the_limit_is_too_large_and_one_below_is_whole(
    stdio: Stdio, upstreams: Open
) -> None:
    servers = await upstreams(stdio(), limits=Limits(result_bytes=1_000_002))
    whole = await servers.call("fix", "huge", '{"megabytes": 1}')
    assert whole == Returned(value=f'"{"x" * 1_000_000}"')
    over = await servers.call("fix", "huge", '{"megabytes": 2}')
    assert isinstance(over, Failed)
    assert over.code == "too_large"


@pytest.mark.parametrize(
    ("broken", "expected"),
    [
        ("503", "unavailable: HTTP 503 Service Unavailable: come back later"),
        ("500", "unknown: HTTP 500 Internal Server Error"),
        ("sse-ends", "unknown: the connection ended"),
        ("json-garbage", "bad_result: the server's answer cannot be read"),
        ("json-not-utf8", "bad_result: the server's answer cannot be read"),
        ("sse-garbage", "bad_result: the server's answer cannot be read"),
        ("other-type", "bad_result: the server's answer cannot be read"),
        ("json-huge", "too_large: the result has about"),
        ("sse-huge", "too_large: the result has about"),
    ],
)
async def test_a_broken_http_answer_fails_its_call_only(
    http: Http, upstreams: Open, broken: str, expected: str
) -> None:
    config = await http(headers={"x-break": broken})
    servers = await upstreams(config)
    before = psutil.Process().memory_info().rss
    try:
        outcome = await servers.call("web", "echo", '{"text": "x"}')
        assert isinstance(outcome, Failed)
        found = f"{outcome.code}: {outcome.message}"
    except OutcomeUnknownError as exc:
        found = str(exc).replace("server 'web'", "unknown")
    except UpstreamUnavailableError as exc:
        found = str(exc).replace("server 'web'", "unavailable")
    assert found.startswith(expected)
    assert psutil.Process().memory_info().rss - before < 150_000_000
    assert servers.status()[0].state is ServerState.READY


async def test_a_call_without_answer_ends_at_its_timeout_and_the_session_lives_on(
    config: ServerConfig, upstreams: Open
) -> None:
    servers = await upstreams(with_protocol(config, "auto", call_timeout_s=1.5))
    await servers.ready("any")
    with pytest.raises(OutcomeUnknownError, match=r"no answer of 'hang' within 1\.5 s") as error:
        await servers.call("any", "hang", "{}")
    assert error.value.timed_out
    assert await servers.call("any", "echo", '{"text": "x"}') == Returned(value='"x"')


async def test_cancelling_a_caller_cancels_its_request_only(
    config: ServerConfig, upstreams: Open, calls: Calls, tmp_path: Path
) -> None:
    servers = await upstreams(config)
    told = json.dumps({"path": str(tmp_path / "told")})
    tasks = [asyncio.create_task(servers.call("any", "wait_for", told)) for _ in range(3)]
    await eventually(lambda: len(calls()) == 3)
    tasks[1].cancel()
    with pytest.raises(asyncio.CancelledError):
        await tasks[1]
    (tmp_path / "told").write_text("now")
    assert await tasks[0] == await tasks[2] == Returned(value='"now"')


async def test_one_session_carries_many_calls_and_each_reaches_the_server_once(
    config: ServerConfig, upstreams: Open, calls: Calls
) -> None:
    servers = await upstreams(config)
    count = 100
    outcomes = await asyncio.gather(
        *(servers.call("any", "echo", json.dumps({"text": str(n)})) for n in range(count))
    )
    assert outcomes == [Returned(value=f'"{n}"') for n in range(count)]
    assert sorted(int(call["arguments"]["text"]) for call in calls()) == list(range(count))
    assert len({call["pid"] for call in calls()}) == 1


@PROTOCOLS
async def test_a_changed_listing_is_fetched_again(
    config: ServerConfig, upstreams: Open, sink: Sink, protocol: str, spoken: str
) -> None:
    servers = await upstreams(with_protocol(config, protocol))
    assert "extra" not in {tool.name for tool in await servers.tools("any")}
    await servers.call("any", "add_tool", '{"name": "extra"}')
    await eventually(lambda: "extra" in sink.names("any"))
    assert "extra" in {tool.name for tool in await servers.tools("any")}
    assert servers.status()[0].protocol_version == spoken


async def test_the_official_time_and_git_servers_answer(upstreams: Open, sink: Sink) -> None:
    def module(name: str) -> ServerConfig:
        return ServerConfig(name=name, command=sys.executable, args=("-m", f"mcp_server_{name}"))

    servers = await upstreams(module("time"), module("git"))
    await servers.connect(servers.names)
    now = await servers.call("time", "get_current_time", '{"timezone": "Europe/Paris"}')
    assert isinstance(now, Returned)
    assert json.loads(now.value)["timezone"] == "Europe/Paris"
    wrong = await servers.call("time", "get_current_time", '{"timezone": "Mars/Base"}')
    assert isinstance(wrong, Failed)
    assert "Invalid timezone" in wrong.message
    assert {"git_log", "git_status"} <= sink.names("git")
    assert next(t for t in sink.listings["git"][0] if t.name == "git_log").annotations[
        "readOnlyHint"
    ]
