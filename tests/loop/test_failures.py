"""What a run becomes when what it stands on fails: no hang, no doubt without need (EX-8, ST-5)."""

import asyncio
import dataclasses
import json
from collections.abc import Sequence

import msgspec
import pytest

from pml.domain.events import Event, RunEnd, TaskEnd
from pml.domain.ledger import Ledger
from pml.domain.limits import Limits
from pml.domain.permissions import Effect
from pml.domain.record import JsonText
from pml.domain.response import ExecuteRequest
from pml.domain.run import LogRecord, Outcome, Returned, Run, RunProgram, RunState
from pml.errors import LedgerKeyError, StoreError
from pml.loop.act import Act
from pml.loop.bookkeeping import Bookkeeping
from pml.loop.recover import recover
from pml.store.ports import RunLog, Runs, Store
from tests.loop.outside import Outside, echo

pytestmark = pytest.mark.asyncio(loop_scope="module")

SECRET = "hunter22-and-more"


async def slip(_tool: str, _arguments: JsonText) -> Outcome:
    message = "nobody expected this"
    raise ValueError(message)


async def hang(_tool: str, _arguments: JsonText) -> Outcome:
    await asyncio.Event().wait()
    raise AssertionError


class FailingLog:
    """The log of a database that is gone after some appends."""

    def __init__(self, log: RunLog, appends: int) -> None:
        self._log = log
        self.left = appends

    async def append(self, run_id: str, records: Sequence[LogRecord], *, epoch: int) -> None:
        if self.left == 0:
            message = "the database was lost"
            raise StoreError(message)
        self.left -= 1
        await self._log.append(run_id, records, epoch=epoch)

    async def read(self, run_id: str) -> tuple[LogRecord, ...]:
        return await self._log.read(run_id)

    async def delete_expired(self, now_ms: int) -> int:
        return await self._log.delete_expired(now_ms)


class SlowRuns:
    """Runs in a store that takes its time to create one."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs
        self.entered = asyncio.Event()
        self.gate = asyncio.Event()

    async def create(self, run: Run, program: RunProgram) -> None:
        self.entered.set()
        await self.gate.wait()
        await self._runs.create(run, program)

    def __getattr__(self, name: str) -> object:
        return getattr(self._runs, name)


class LockedLog(FailingLog):
    """A log whose key is lost."""

    async def read(self, run_id: str) -> tuple[LogRecord, ...]:
        message = f"the log of {run_id} cannot be decrypted"
        raise LedgerKeyError(message)


def with_store(act: Act, **parts: object) -> Act:
    return dataclasses.replace(act, store=store_with(act.store, **parts))


def store_with(store: Store, **parts: object) -> Store:
    fields = {name: getattr(store, name) for name in Store.__slots__}
    return Store(**(fields | parts))


async def test_an_error_that_nobody_expected_ends_the_run_at_once(
    act: Act, outside: Outside
) -> None:
    outside.offer("fs:read", slip, Effect.READ)
    answer = await act.execute(
        ExecuteRequest(intent="x", code="return mcp.fs.read({})", timeout_ms=100_000)
    )
    assert answer.error is not None
    assert (answer.status, answer.error.code) == ("error", "internal")
    (run,) = await act.store.runs.recent(1)
    assert run.state is RunState.ERROR


@pytest.mark.parametrize("appends", range(5))
async def test_a_lost_log_stops_the_run_and_leaves_no_doubt_about_what_was_not_sent(
    act: Act, outside: Outside, events: list[Event], appends: int
) -> None:
    outside.offer("fs:write", echo)
    failing = with_store(act, run_log=FailingLog(act.store.run_log, appends))
    code = "for (let i = 0; i < 9; i++) await mcp.fs.write({ i });"
    answer = await failing.execute(ExecuteRequest(intent="x", code=code))
    assert answer.error is not None
    assert (answer.status, answer.error.code) == ("error", "store_unavailable")
    assert (len(outside.requests), answer.in_doubt) == (appends, ())
    assert isinstance(events[-1], RunEnd)


async def test_a_run_whose_end_could_not_be_kept_is_closed_before_the_next_one(
    act: Act, outside: Outside
) -> None:
    outside.offer("fs:write", echo)
    log = FailingLog(act.store.run_log, 1)
    failing = with_store(act, run_log=log)
    code = "await mcp.fs.write({}); await mcp.fs.write({});"
    answer = await failing.execute(ExecuteRequest(intent="x", code=code))
    assert answer.workflow_id is not None
    assert (await act.store.runs.get(answer.workflow_id)).state is RunState.RUNNING
    log.left = 100
    await failing.execute(ExecuteRequest(intent="x", code="return 1"))
    run = await act.store.runs.get(answer.workflow_id)
    assert (run.state, "database" in run.reason) == (RunState.INTERRUPTED, True)


async def test_what_was_sent_before_the_log_was_lost_is_still_awaited(
    act: Act, outside: Outside
) -> None:
    lost = asyncio.Event()

    async def late(_tool: str, arguments: JsonText) -> Outcome:
        asyncio.get_running_loop().call_later(0.2, lost.set)
        await lost.wait()
        return Returned(value=arguments)

    outside.offer("fs:late", late)
    outside.offer("fs:read", echo, Effect.READ)
    failing = with_store(act, run_log=FailingLog(act.store.run_log, 2))
    code = "const slow = mcp.fs.late({}); await mcp.fs.read({}); await mcp.fs.read({}); await slow;"
    answer = await failing.execute(ExecuteRequest(intent="x", code=code))
    assert (answer.status, answer.in_doubt) == ("error", ())
    said = {task.task_id: task.error for task in answer.tasks}
    assert (said["n1"] or "").startswith("its server answered, and the answer could not be kept")


async def test_a_request_cancelled_while_its_run_is_created_leaves_no_running_run(
    act: Act,
) -> None:
    slow = SlowRuns(act.store.runs)
    request = asyncio.create_task(
        with_store(act, runs=slow).execute(ExecuteRequest(intent="x", code="1"))
    )
    await slow.entered.wait()
    request.cancel()
    slow.gate.set()
    with pytest.raises(asyncio.CancelledError):
        await request
    (run,) = await act.store.runs.recent(1)
    assert run.state is RunState.CANCELLED


async def test_a_run_that_cannot_be_read_keeps_nobody_from_the_others(act: Act) -> None:
    program = RunProgram(source="", instrumented="", structure="{}", arguments={}, seed=1)
    for name in ("a", "b"):
        run = Run(
            id=name,
            intent="x",
            state=RunState.RUNNING,
            source_hash="0",
            owner="dead",
            created_at_ms=0,
            updated_at_ms=0,
            timeout_ms=1,
        )
        await act.store.runs.create(run, program)
    store = store_with(act.store, run_log=LockedLog(act.store.run_log, 0))
    books = Bookkeeping(store=store, owner="here", now_ms=lambda: 1, limits=Limits())
    await recover(books, alive=lambda _: False)
    runs = await act.store.runs.recent(5)
    assert {run.state for run in runs} == {RunState.IN_DOUBT}
    assert all("cannot be read" in run.reason for run in runs)


async def test_secrets_stay_out_of_what_is_stored_and_told(
    act: Act, outside: Outside, events: list[Event]
) -> None:
    """ST-5: run, trace, events and results; the agent itself gets the raw result."""
    outside.offer("fs:read", echo, Effect.READ)
    code = f"""
      const found = await mcp.fs.read({{ cookie: "{SECRET}", n: 1 }});
      Promise.reject(new Error("password={SECRET}"));
      throw new Error("password={SECRET} " + found.n);
    """
    request = ExecuteRequest(intent=f"log in with password={SECRET}", code=code)
    answer = await act.execute(request)
    assert answer.workflow_id is not None
    run = await act.store.runs.get(answer.workflow_id)
    traces = await act.store.traces.of_run(run.id)
    page = await act.store.task_results.page(run.id, "n1", offset=0, limit=1000, now_ms=0)
    stored = msgspec.json.encode([run, traces, page.text, events, answer.warnings, answer.tasks])
    assert SECRET.encode() not in stored
    assert b"password=" in stored
    assert any(isinstance(event, TaskEnd) for event in events)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("throw new Error('x'.repeat(1_000_000))", "more characters"),
        ("for (let i = 0; i < 300; i++) Promise.reject(i)", "left out"),
        ("Promise.reject('x'.repeat(1_000_000))", "unhandled"),
    ],
)
async def test_messages_and_warnings_are_bounded(act: Act, code: str, said: str) -> None:
    answer = await act.execute(ExecuteRequest(intent="x", code=code))
    text = msgspec.json.encode(answer).decode()
    assert said in text
    assert len(text) < 30_000


async def test_the_log_of_one_run_is_bounded(act: Act) -> None:
    small = dataclasses.replace(act, limits=Limits(records_per_run=100))
    code = "let n = 0; await new Promise((f) => setInterval(() => ++n > 300 && f(0), 0)); return n;"
    answer = await small.execute(ExecuteRequest(intent="x", code=code))
    assert answer.error is not None
    assert (answer.error.code, answer.workflow_id is not None) == ("limit", True)
    assert answer.workflow_id is not None
    assert len(Ledger(await act.store.run_log.read(answer.workflow_id)).records) == 100


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"intent": "x" * 20_000}, "limit is 10000"),
        ({"intent": "caf\udce9"}, "expected text"),
        ({"args": {"a": "\ud800"}}, "args"),
        ({"args": json.loads('{"a":' + "[" * 300 + "]" * 300 + "}")}, "deep"),
        ({"args": {"a": {1, 2}, "b": object()}}, "args"),
    ],
)
async def test_requests_that_cannot_travel_are_refused(
    act: Act, fields: dict[str, object], said: str
) -> None:
    request = {"intent": "x", "code": "return args"} | fields
    answer = await act.execute(ExecuteRequest(**request))  # type: ignore[arg-type]
    assert answer.error is not None
    assert answer.error.code == "bad_request"
    assert said in answer.error.message
