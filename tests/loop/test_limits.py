"""Every limit answers with an error that names it and says what to do (OP-5).

The table has a row for each field of `Limits` that can be passed; where nothing is an error, or
something else than the loop gives it, that is said with the reason.
"""

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from pml.domain.limits import Limits
from pml.domain.permissions import Effect
from pml.domain.record import JsonText
from pml.domain.response import ExecuteRequest, ExecuteResponse
from pml.domain.run import Outcome, Returned
from pml.loop.act import Act
from pml.loop.places import Places
from pml.runtime.reaper import Reaper
from pml.runtime.sandbox.pool import SandboxPool
from tests.loop.outside import Outside

NESTED = "let a = []; for (let i = 0; i < 12; i++) a = [a];"


@dataclass(frozen=True)
class Passed:
    """How a limit is passed."""

    limit: str
    value: float
    code: str = "return 1;"
    advice: str = ""
    """Of the message: what to do."""
    kind: str = "limit"
    """The error's code."""
    intent: str = "x"
    args: dict[str, Any] = field(default_factory=dict)
    timeout_ms: int = 20_000


TABLE = (
    Passed(
        "source_bytes", 1_000, f"return 1; /*{'x' * 1_000}*/", "move data out", "too-large"
    ),
    Passed(
        "arguments_bytes", 1_000, advice="pass a path or an id", kind="bad_request",
        args={"a": "x" * 1_000},
    ),
    Passed(
        "arguments_bytes", 1_000, 'await mcp.up.echo({ a: "x".repeat(2000) });', "pass less",
        "program_error",
    ),
    Passed("result_bytes", 1_000, 'return "x".repeat(2000);', "return less", "too_large"),
    Passed("result_bytes", 1_000, "return await mcp.up.large({});", "ask the tool", "too_large"),
    Passed("nesting", 10, NESTED + "return a;", "flatter", "too_large"),
    Passed("nesting", 10, NESTED + "await mcp.up.echo({ a });", "flatter", "program_error"),
    Passed(
        "nesting", 10, advice="flatter", kind="bad_request",
        args={"a": [[[[[[[[[[[1]]]]]]]]]]]},
    ),
    Passed(
        "calls_per_run", 3, "for (let i = 0; i < 9; i++) await mcp.up.echo({ i });", "split",
        "program_error",
    ),
    Passed(
        "timers_per_run", 3, "for (let i = 0; i < 9; i++) setTimeout(() => 0, 1e6); return 1;",
        "split", "program_error",
    ),
    Passed(
        "records_per_run", 20, "for (let i = 0; i < 90; i++) await mcp.up.echo({ i });", "split"
    ),
    Passed(
        "results_bytes_per_run", 5_000, "for (let i = 0; i < 9; i++) await mcp.up.large({});",
        "split",
    ),
    Passed("max_timeout_ms", 1_000, advice="expected 1 to 1000 ms", kind="bad_request"),
    Passed("message_chars", 10, intent="x " * 20, advice="fewer words", kind="bad_request"),
    Passed(
        "heap_mb", 32, "const a = []; for (;;) a.push(Array(1000).fill(a.length + 0.5));",
        "hold less", "sandbox",
    ),
    Passed(
        "data_mb", 1_200, "const a = []; for (;;) a.push(new Blob([new Uint8Array(1e8)]));",
        "hold less", "program_error",
    ),
    Passed("cpu_s", 1, "for (;;);", "compute less", "sandbox"),
    Passed(
        "output_bytes", 1_000, 'for (;;) { console.log("x".repeat(1000)); await null; }',
        "print less", "sandbox",
    ),
)  # fmt: skip
ELSEWHERE = {
    "concurrent_runs": "below",
    "runs_per_user": "below",
    "nested_runs": "tests/loop/test_nested.py",
    "capability_depth": "tests/loop/test_nested.py",
    "request_bytes": "tests/serve/test_http.py, test_stdio.py",
    "answer_bytes": "tests/serve/test_results.py: a shorter answer, and how to read the rest",
    "call_timeout_s": "tests/runtime/upstream/test_servers.py",
    "connect_timeout_s": "tests/runtime/upstream/test_servers.py",
}
NO_ERROR = {
    "concurrent_calls": "further calls wait",
    "preview_chars": "a preview is what it is",
    "warnings_per_run": "further ones are counted in the last",
    "trace_value_bytes": "the trace says how large the value was",
    "events_per_run": "watchers that come late miss the oldest",
    "result_ttl_s": "what is asked for later is not found, with the reason",
    "waiting_ttl_s": "the run expires, with the reason",
    "lease_ttl_s": "another process takes over",
    "traces_kept": "pml gc",
    "trace_age_days": "pml gc",
}


def test_every_limit_has_its_row_or_a_reason_for_none() -> None:
    named = [{row.limit for row in TABLE}, set(ELSEWHERE), set(NO_ERROR)]
    assert set().union(*named) == set(Limits.__struct_fields__)
    assert sum(map(len, named)) == len(Limits.__struct_fields__)


async def echo(_tool: str, arguments: JsonText) -> Outcome:
    return Returned(value=arguments)


async def large(_tool: str, _arguments: JsonText) -> Outcome:
    return Returned(value=f'"{"x" * 1_500}"')


@pytest_asyncio.fixture(loop_scope="module")
async def limited(act: Act, outside: Outside) -> AsyncIterator[Callable[..., Any]]:
    """The loop with other limits, in sandboxes with the same ones."""
    outside.offer("up:echo", echo, Effect.READ)
    outside.offer("up:large", large, Effect.READ)
    reaper = Reaper.start()
    pools: list[SandboxPool] = []

    async def made(**limits: float) -> Act:
        given = Limits(**limits)  # type: ignore[arg-type]
        pool = await SandboxPool(limits=given, reaper=reaper, size=1).__aenter__()
        pools.append(pool)
        return dataclasses.replace(act, limits=given, sandboxes=pool, places=Places(given))

    yield made
    for pool in pools:
        await pool.__aexit__(None, None, None)
    reaper.close()


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("row", TABLE, ids=[f"{row.limit}-{n}" for n, row in enumerate(TABLE)])
async def test_a_limit_that_is_passed_says_so(limited: Callable[..., Any], row: Passed) -> None:
    loop = await limited(**{row.limit: row.value})
    request = ExecuteRequest(
        intent=row.intent, code=row.code, args=row.args, timeout_ms=row.timeout_ms
    )
    response: ExecuteResponse = await loop.execute(request)
    said = msgspec.json.encode((response.error, response.diagnostics)).decode()
    assert response.status == "error", said
    assert response.error is not None
    assert response.error.code == row.kind
    assert row.limit in said
    assert row.advice in said


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("limit", ["concurrent_runs", "runs_per_user"])
async def test_too_many_runs_at_once_are_told_to_come_later(
    limited: Callable[..., Any], outside: Outside, limit: str
) -> None:
    """The second request ends at its own deadline; the first goes on."""
    held, released = asyncio.Event(), asyncio.Event()

    async def wait(_tool: str, _arguments: JsonText) -> Outcome:
        held.set()
        await released.wait()
        return Returned(value="1")

    outside.offer("up:wait", wait, Effect.READ)
    loop = await limited(**{limit: 1})
    first = asyncio.create_task(
        loop.execute(ExecuteRequest(intent="x", code="return await mcp.up.wait({});"))
    )
    await held.wait()
    second = await loop.execute(ExecuteRequest(intent="x", code="return 1;", timeout_ms=50))
    released.set()
    assert second.error is not None
    assert second.error.code == "busy"
    assert f"({limit})" in second.error.message
    assert "send the request again later" in second.error.message
    assert (await first).status == "success"
