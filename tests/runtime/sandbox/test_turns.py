"""Turns, time and chance (design, section 5, rules 3 and 4)."""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pml.runtime.sandbox.pool import SandboxPool
from pml.runtime.sandbox.protocol import (
    CallIssued,
    DecisionMade,
    DeliverInput,
    ProgramReturned,
    TimerCleared,
    TimerSet,
    Turn,
)
from tests.runtime.sandbox.driver import START_MS, run_program, start_input

pytestmark = pytest.mark.asyncio(loop_scope="module")

_CHAINS = """
const chain = async (name: string, depth: number) => {
  await mcp.a[name]({});
  let p: Promise<unknown> = Promise.resolve();
  for (let i = 0; i < depth; i++) p = p.then(() => null);
  await p;
  const nest = async (k: number): Promise<void> => { if (k > 0) await nest(k - 1); };
  await nest(depth);
  await mcp.b[name]({});
};
await Promise.all(names.map((name: string) => chain(name, 100)));
return "done";
"""


@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(order=st.permutations([f"t{i}" for i in range(6)]))
async def test_all_microtasks_drain_before_the_next_of_many_queued_deliveries(
    pool: SandboxPool, order: Sequence[str]
) -> None:
    """Deliveries are put in at once; each turn holds what its own delivery caused."""
    names = sorted(order)
    async with pool.checkout() as sandbox, asyncio.timeout(20):
        sandbox.start(start_input(_CHAINS, {"names": names}))
        (first,) = [await sandbox.turn()]
        calls = {item.tool: item for item in first.items if isinstance(item, CallIssued)}
        for name in order:
            value = msgspec.Raw(b"null")
            sandbox.deliver(DeliverInput(call=calls[name].call, now_ms=START_MS, value=value))
        turns = [await sandbox.turn() for _ in order]
    assert [turn.consumed for turn in turns] == [2, 3, 4, 5, 6, 7]
    issued = [[i.tool for i in turn.items if isinstance(i, CallIssued)] for turn in turns]
    assert issued == [[name] for name in order]


async def test_every_input_is_answered_by_exactly_one_turn(pool: SandboxPool) -> None:
    source = "await mcp.a.b(); await Promise.all([mcp.a.b(), mcp.a.b()]); return 1;"
    story = await run_program(pool, source)
    assert [turn.consumed for turn in story.turns] == [1, 2, 3, 4]
    assert [len(turn.items) for turn in story.turns] == [1, 2, 0, 1]


async def test_a_long_turn_comes_in_parts_and_loses_nothing(pool: SandboxPool) -> None:
    source = (
        "for (let i = 0; i < 100_000; i++) if (__pml.decide(`d${i}`, i % 2)) mcp.a;"
        "await mcp.a.b(); return 1;"
    )
    story = await run_program(pool, source)
    assert sum(isinstance(item, DecisionMade) for item in story.items) == 100_000
    consumed = [turn.consumed for turn in story.turns]
    assert consumed == [0] * (len(consumed) - 2) + [1, 2]
    assert len(consumed) > 4


async def test_native_work_that_ends_by_itself_belongs_to_the_turn(pool: SandboxPool) -> None:
    """Digests and blobs run in other threads; the sandbox is not idle before they are done."""
    source = """
const digest = async (n: number) =>
  (await crypto.subtle.digest("SHA-256", new Uint8Array(n))).byteLength;
const seen: unknown[] = [];
await Promise.all([5e6, 1].map(async (n) => {
  await digest(n); seen.push(n); await mcp.a.b({n}); }));
seen.push((await new Blob(["abc"]).arrayBuffer()).byteLength);
return seen;
"""
    story = await run_program(pool, source)
    assert story.value == [5_000_000, 1, 3]
    assert [turn.consumed for turn in story.turns] == [1, 2, 3]


async def test_activity_from_elsewhere_is_a_further_turn(pool: SandboxPool) -> None:
    """An import ends when it likes; what follows is told without a new input."""
    source = (
        "mcp.a.first(); await import('data:text/javascript,export default 1');"
        "mcp.a.second(); await new Promise(() => 0);"
    )
    async with pool.checkout() as sandbox, asyncio.timeout(20):
        sandbox.start(start_input(source))
        turns: list[Turn] = []
        while sum(len(turn.items) for turn in turns) < 2:
            turns.append(await sandbox.turn())
    assert {turn.consumed for turn in turns} == {1}


async def test_a_turn_can_be_awaited_again_after_it_was_cancelled(pool: SandboxPool) -> None:
    async with pool.checkout() as sandbox, asyncio.timeout(20):
        sandbox.start(start_input("await mcp.a.b(); return 'x'.repeat(1_000_000);"))
        await sandbox.turn()
        waiting = asyncio.create_task(sandbox.turn())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait({waiting})
        sandbox.deliver(DeliverInput(call=0, now_ms=START_MS, value=msgspec.Raw(b"1")))
        (end,) = (await sandbox.turn()).items
    assert isinstance(end, ProgramReturned)
    assert len(end.value) == 1_000_002


async def test_timers_fire_when_the_broker_says_so(pool: SandboxPool) -> None:
    source = """
const seen: unknown[] = [];
setTimeout((x: string) => seen.push(x, performance.now()), 20, "b");
setTimeout(() => seen.push("a"), 10);
const gone = setTimeout(() => seen.push("never"), 15);
clearTimeout(gone); clearTimeout(gone); clearTimeout(undefined); clearInterval(77);
const tick = setInterval(() => { seen.push("i"); if (seen.length > 5) clearInterval(tick); }, 6);
await new Promise((resolve) => setTimeout(resolve, 100));
return [seen, performance.now(), Date.now() - start];
"""
    story = await run_program(pool, source, {"start": START_MS})
    assert story.value == [["i", "a", "i", "i", "b", 20, "i"], 100, 100]
    timers = [i for i in story.items if isinstance(i, TimerSet)]
    assert [(t.timer, t.delay_ms) for t in timers] == [
        (1, 20), (2, 10), (3, 15), (4, 6), (5, 100), (4, 6), (4, 6), (4, 6),
    ]  # fmt: skip
    assert [i.timer for i in story.items if isinstance(i, TimerCleared)] == [3, 4]


async def test_a_signal_times_out_by_the_brokers_clock(pool: SandboxPool) -> None:
    source = (
        "const s = AbortSignal.timeout(50);"
        "await new Promise((resolve) => s.addEventListener('abort', resolve));"
        "return [s.aborted, s.reason.name, performance.now()];"
    )
    assert (await run_program(pool, source)).value == [True, "TimeoutError", 50]


_CLOCKS = """
const read = () => [Date.now(), new Date().getTime(), Number(new Date(new Date())), Date(),
  new Date().getTimezoneOffset(), new Intl.DateTimeFormat("en-US").format(),
  Temporal.Now.instant().epochMilliseconds, String(Temporal.Now.plainDateISO()),
  String(Temporal.Now.zonedDateTimeISO()), performance.timeOrigin + performance.now()];
const before = read();
for (let i = 0; i < 1e6; i++);
const same = JSON.stringify(read()) === JSON.stringify(before);
await new Promise((resolve) => setTimeout(resolve, 86_400_000));
return [same, before, read(), class extends Date {}.name,
  new (class X extends Date {})(5).getTime(), new Date().constructor === Date, Date.length,
  new Date(2020, 1).getMonth(), isNaN(+new Date(undefined as any))];
"""


async def test_every_clock_shows_the_time_of_the_last_input(pool: SandboxPool) -> None:
    value = (await run_program(pool, _CLOCKS)).value
    same, before, after, *rest = value
    assert same
    day = 86_400_000
    text = "Tue Nov 14 2023 22:13:20 GMT+0000 (Coordinated Universal Time)"
    assert before[:6] == [START_MS, START_MS, START_MS, text, 0, "11/14/2023"]
    assert before[6:] == [START_MS, "2023-11-14", "2023-11-14T22:13:20+00:00[UTC]", START_MS]
    assert after[0] == after[6] == after[9] == START_MS + day
    assert after[7] == "2023-11-15"
    assert rest == ["", 5, True, 7, 1, True]


_CHANCE = """
const bytes = crypto.getRandomValues(new Uint8Array(8));
return [Math.random(), Math.random(), crypto.randomUUID(), [...bytes],
  [...crypto.getRandomValues(new Uint32Array(2))]];
"""


@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**63 - 1))
async def test_chance_follows_from_the_seed(pool: SandboxPool, seed: int) -> None:
    async def draw(seed: int) -> Any:  # noqa: ANN401  # JSON
        return (await run_program(pool, _CHANCE, seed=seed)).value

    first = await draw(seed)
    assert first == await draw(seed)
    assert first != await draw(seed ^ (1 << 40))
    assert all(0 <= number < 1 for number in first[:2])


_STACKS = """
const seen: string[] = [];
const see = (error: unknown) => { seen.push((error as Error).stack!); };
see(new Error("x"));
[1].map(() => see(new TypeError("y")));
const held = {}; Error.captureStackTrace(held); see(held);
(Error as any).prepareStackTrace = (_: unknown, all: any[]) => all.map((f) => f.getFileName());
see(new Error("z"));
try { JSON.parse("{"); } catch (error) { see(error); }
try { mcp.s.t({ big: 1n }); } catch (error) { see(error); }
const slow = async () => { await null; throw new Error("slow"); };
try { await slow(); } catch (error) { see(error); }
await new Promise<void>((done) => setTimeout(() => { see(new Error("late")); done(); }, 5));
return seen;
"""


async def test_a_stack_names_the_program_and_nothing_of_the_process(pool: SandboxPool) -> None:
    """EX-3: a program that passes a stack on does the same each time that it is replayed."""
    stacks = (await run_program(pool, _STACKS)).value
    assert stacks == (await run_program(pool, _STACKS)).value
    assert isinstance(stacks, list)
    assert len(stacks) == 8
    assert stacks[0] == "Error: x\n    at default (pml:program:4:5)"
    assert "Array.map (<anonymous>)" in stacks[1]
    assert "pml:program:11:" in stacks[6]
    for stack in stacks:
        assert "pml:program:" in stack
        assert "blob:" not in stack
        assert "ext:" not in stack


async def test_random_numbers_are_spread_evenly(pool: SandboxPool) -> None:
    source = (
        "const bins = new Array(16).fill(0);"
        "for (let i = 0; i < 160_000; i++) bins[Math.floor(Math.random() * 16)]++; return bins;"
    )
    bins = (await run_program(pool, source)).value
    assert all(9_500 < count < 10_500 for count in bins)  # 5 standard deviations


async def test_random_values_refuse_what_the_platform_refuses(pool: SandboxPool) -> None:
    source = (
        "const seen = []; for (const bad of [[1], new Uint8Array(65_537)]) {"
        " try { crypto.getRandomValues(bad as any); } catch (e) { seen.push(e.name); } }"
        "return seen;"
    )
    assert (await run_program(pool, source)).value == ["TypeError", "QuotaExceededError"]
