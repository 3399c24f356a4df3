"""Replaying a run that is over gives the same way and the same end, without a call (EX-3)."""

import dataclasses
from functools import partial

import msgspec
import pytest

from pml.domain.ledger import Ledger
from pml.domain.limits import Limits
from pml.domain.run import Delivered, LogRecord, Returned, RunState
from pml.errors import DivergedError
from pml.runtime.plan import RunPlan
from pml.runtime.rerun import Replayed, replay_finished
from pml.runtime.sandbox.pool import SandboxPool
from tests.oracle.compare import CATALOG
from tests.oracle.programs import case
from tests.oracle.sandboxed import Reusing, Sandboxes
from tests.oracle.scenario import Case
from tests.oracle.snippets import SNIPPETS
from tests.runtime.resuming.checking import Checked, check_all
from tests.runtime.resuming.lives import Prepared, live, prepared
from tests.runtime.resuming.world import Watched, World

pytestmark = pytest.mark.asyncio(loop_scope="module")

PROGRAMS = 150


async def replayed(program: Prepared, ledger: Ledger, pool: Sandboxes) -> Replayed:
    """There is nobody who could be called."""
    plan = RunPlan(
        run_id="run",
        start=program.start,
        sites=frozenset(node.id for node in program.structure.nodes),
        catalog=CATALOG,
        permissions=World(0, ledger),
        timeout_ms=30_000,
    )
    async with pool.checkout() as player:
        return await replay_finished(plan, Watched(player), ledger, limits=Limits())


async def problems_of(program: Prepared, pool: Reusing) -> Checked:
    """Run it, then replay it."""
    whole = await live(program, pool)
    ledger = Ledger(whole.records)
    try:
        result = await replayed(program, ledger, pool)
    except DivergedError as error:
        return Checked(1, (str(error),))
    outcome = ledger.settled.outcome if ledger.settled else None
    expected = Replayed(len(whole.essence()), outcome)
    return Checked(1, () if result == expected else (f"{result} != {expected}",))


async def test_generated_programs_replay_to_their_end(reusing: Reusing) -> None:
    checked = partial(problems_of, pool=reusing)
    assert await check_all([case(seed) for seed in range(PROGRAMS)], checked) == PROGRAMS


async def test_tricky_programs_replay_to_their_end(reusing: Reusing) -> None:
    checked = partial(problems_of, pool=reusing)
    assert await check_all(list(SNIPPETS.values()), checked) > 0.9 * len(SNIPPETS)


def ready(source: str, seed: int = 1) -> Prepared:
    program = prepared(Case(source=source, seed=seed))
    assert program is not None
    return program


WRITES_WHAT_IT_READ = "const n = await mcp.db.count(); await mcp.fs.write({ n }); return n;"


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ("const n = await mcp.db.count(); await mcp.fs.write({ n: -n }); return n;", "arguments"),
        ("const n = await mcp.db.count(); await mcp.fs.list({ n }); return n;", "fs:list at n2"),
        ("await mcp.fs.write({ n: 1 }); return await mcp.db.count();", "fs:write at n1"),
        ("await mcp.db.count(); return 1;", "a return"),
        ("const n = await mcp.db.count(); await null; return new Promise(() => {});", "nothing"),
    ],
)
async def test_other_code_diverges_and_nothing_is_called(
    pool: SandboxPool, other: str, said: str
) -> None:
    whole = await live(ready(WRITES_WHAT_IT_READ), pool)
    issued = next(i for i, r in enumerate(whole.records) if r.seq and "write" in str(r))
    resumed = await live(ready(other), pool, Ledger(whole.records[: issued + 1]))
    assert resumed.ending is not None
    assert resumed.ending.state is RunState.DIVERGED
    assert resumed.ending.error is not None
    assert said in resumed.ending.error.message
    assert not resumed.sent
    with pytest.raises(DivergedError):
        await replayed(ready(other), Ledger(whole.records), pool)


async def test_an_answer_that_was_changed_in_the_log_is_noticed(pool: SandboxPool) -> None:
    program = ready(WRITES_WHAT_IT_READ)
    whole = await live(program, pool)

    def forged(record: LogRecord) -> LogRecord:
        if isinstance(record, Delivered) and record.call == 0:
            return msgspec.structs.replace(record, outcome=Returned(value="77"))
        return record

    with pytest.raises(DivergedError, match="fs:write at n2 with other arguments"):
        await replayed(program, Ledger([forged(record) for record in whole.records]), pool)


CHANCE = """
const seen: any[] = [Math.random(), Date.now(), new Date().toISOString(), performance.now()];
seen.push(crypto.randomUUID(), [...crypto.getRandomValues(new Uint8Array(4))]);
await new Promise((done) => setTimeout(done, 25));
seen.push(Date.now(), performance.now(), Math.random());
let ticks = 0;
await new Promise((done) => {
  const clock = setInterval(() => { if (++ticks > 2) { clearInterval(clock); done(0); } }, 7);
});
const late = mcp.fs.stat({ seen });
const timer = new Promise((done) => setTimeout(done, 5, 'timer'));
const first = await Promise.race([late, mcp.db.count({ r: Math.random() }), timer]);
seen.push(first, Date.now(), await late);
try { AbortSignal.timeout(3).throwIfAborted(); } catch { seen.push('never'); }
const soon = AbortSignal.timeout(9);
seen.push(await new Promise((done) => soon.addEventListener('abort', () => done(soon.aborted))));
const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(JSON.stringify(seen)));
return [seen, [...new Uint8Array(hash)].slice(0, 4), Date.now()];
"""


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_chance_clocks_timers_and_races_are_the_same_after_any_cut(
    pool: SandboxPool, seed: int
) -> None:
    program = ready(CHANCE, seed)
    whole = await live(program, pool)
    assert whole.ending is not None
    assert whole.ending.state is RunState.SUCCESS, whole.ending.error
    for cut in range(len(whole.records)):
        resumed = await live(program, pool, Ledger(whole.records[:cut]))
        assert resumed.essence() == whole.essence()
        assert resumed.outcome() == whole.outcome()


async def test_another_seed_is_another_run(pool: SandboxPool) -> None:
    """A control: what the test before holds equal is not equal by itself."""
    one, other = await live(ready(CHANCE, 1), pool), await live(ready(CHANCE, 2), pool)
    assert one.outcome() != other.outcome()
    program = ready(CHANCE, 1)
    forged = dataclasses.replace(program, start=msgspec.structs.replace(program.start, seed=9))
    with pytest.raises(DivergedError):
        await replayed(forged, Ledger(one.records), pool)
