"""Every limit answers with an error that names it and says what to do (OP-5).

The table has a row for each field of `Limits` that can be passed; where nothing is an error, or
something else than the loop gives it, that is said with the reason.
"""

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest
import pytest_asyncio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pml.domain.limits import Limits
from pml.domain.permissions import Effect
from pml.domain.record import JsonText
from pml.domain.response import ExecuteRequest, ExecuteResponse
from pml.domain.run import Outcome, Returned
from pml.loop.act import Act
from pml.loop.places import Places
from pml.runtime.reaper import Reaper
from pml.runtime.sandbox.pool import SandboxPool
from tests.loop.outside import Outside, echo

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


@dataclass(frozen=True)
class Step:
    """One call of a program, or some timers that it sets."""

    argument: int
    result: int
    timers: int
    caught: bool


class Model:
    """What limits mean, step by step: the first one that is passed ends the program.

    A tool's or an argument's size is an error of that call, which the code may catch; the others
    end the run, and no request follows.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.calls = self.timers = self.bytes = 0
        self.requests = 0
        self.over: set[str] = set()
        """The limits of which one ends the program; empty while it goes on."""

    def take(self, step: Step) -> None:
        limits = self.limits
        for _ in range(step.timers):
            self.timers += 1
            if self.timers > limits.timers_per_run:
                self.over.add("timers_per_run")
                return
        if self.calls >= limits.calls_per_run:
            self.over.add("calls_per_run")
        if self.bytes > limits.results_bytes_per_run:
            self.over.add("results_bytes_per_run")
        if self.over:
            return
        self.calls += 1
        if len(f'{{"pad":"{"x" * step.argument}","size":{step.result}}}') > limits.arguments_bytes:
            self._fail(step, "arguments_bytes")
            return
        self.requests += 1
        if step.result + 2 > limits.result_bytes:
            self._fail(step, "result_bytes")  # and nothing of it is kept
        else:
            self.bytes += step.result + 2

    def _fail(self, step: Step, limit: str) -> None:
        if not step.caught:
            self.over.add(limit)


STEPS = st.lists(
    st.builds(
        Step,
        argument=st.sampled_from([0, 10, 900, 2_000]),
        result=st.sampled_from([1, 400, 990, 1_500]),
        timers=st.sampled_from([0, 0, 0, 1, 2]),
        caught=st.sampled_from([True, True, True, False]),
    ),
    min_size=3,
    max_size=12,
)


SMALL = st.builds(
    Limits,
    calls_per_run=st.integers(1, 20),
    timers_per_run=st.integers(1, 20),
    arguments_bytes=st.just(1_000),
    result_bytes=st.just(1_000),
    results_bytes_per_run=st.sampled_from([1_000, 1_500, 2_500, 50_000]),
)


def program(steps: Sequence[Step]) -> str:
    lines = []
    for step in steps:
        lines += ["setTimeout(() => 0, 1e8);"] * step.timers
        call = f'await mcp.up.give({{ pad: "x".repeat({step.argument}), size: {step.result} }});'
        caught = 'if (!String(e.message).includes("_bytes)")) throw e;'
        lines.append(f"try {{ {call} }} catch (e) {{ {caught} }}" if step.caught else call)
    return "\n".join([*lines, "return 'whole';"])


@pytest.mark.asyncio(loop_scope="module")
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(steps=STEPS, limits=SMALL)
async def test_programs_end_where_the_model_says(
    act: Act,
    outside: Outside,
    steps: list[Step],
    limits: Limits,
) -> None:
    """Random programs under random limits, in the real sandbox: same end, same requests."""
    model = Model(limits)
    for step in steps:
        if not model.over:
            model.take(step)

    async def give(_tool: str, arguments: JsonText) -> Outcome:
        size = msgspec.json.decode(arguments)["size"]
        return Returned(value=f'"{"y" * size}"')

    if "up" not in outside.names:
        outside.offer("up:give", give, Effect.READ)
    outside.requests.clear()
    loop = dataclasses.replace(act, limits=limits, places=Places(limits))
    response = await loop.execute(ExecuteRequest(intent="x", code=program(steps)))
    assert len(outside.requests) == model.requests
    if not model.over:
        assert (response.status, response.result) == ("success", "whole")
        return
    assert response.error is not None
    assert any(f"({limit})" in response.error.message for limit in model.over)
