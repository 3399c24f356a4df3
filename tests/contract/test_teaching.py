"""What runs teach a capability, in every store (LE-1, LE-2, ST-4, ST-8)."""

import asyncio
from itertools import permutations

import msgspec
import pytest

from pml.domain.capability import Capability, Learning, Lifecycle, PastIntent, normalised_intent
from pml.domain.run import RunState
from pml.domain.trace import DependencyType, ExecutionTrace
from pml.errors import RunStateError
from pml.learning.priority import priority
from pml.learning.td import learned
from pml.store.ports import PAST_INTENTS, Store
from tests.contract.capability_runs import kept, ran
from tests.store.nouns import (
    a_program,
    a_run,
    a_trace,
    an_edge,
)

STOPPED = [
    state for state in RunState if state not in (RunState.RUNNING, RunState.SUCCESS, RunState.ERROR)
]


async def test_a_success_teaches_and_brings_to_light(any_store: Store) -> None:
    made = await kept(any_store)
    await ran(any_store, made.id, intent_text="Read  THE log!")
    trace = await any_store.traces.get("trace-1")
    assert await any_store.capabilities.get(made.id) == msgspec.structs.replace(
        made,
        learning=learned(Learning(), trace, made.structure),
        hidden=False,
        usage_count=1,
        success_count=1,
        distinct_arguments=1,
        updated_at_ms=2_000,
    )
    assert (trace.priority, trace.capability_id) == (1.0, made.id)


async def test_a_failure_teaches_and_leaves_hidden(any_store: Store) -> None:
    made = await kept(any_store)
    await ran(any_store, made.id, state=RunState.ERROR)
    failed = await any_store.capabilities.get(made.id)
    assert (failed.hidden, failed.usage_count, failed.success_count) == (True, 1, 0)
    assert (failed.distinct_arguments, failed.success_rate) == (0, 0.0)
    assert failed.learning.paths[0].success_rate == 0.45


@pytest.mark.parametrize("state", STOPPED)
async def test_a_run_that_was_stopped_teaches_nothing(any_store: Store, state: RunState) -> None:
    made = await kept(any_store)
    await ran(any_store, made.id, state=state)
    assert await any_store.capabilities.get(made.id) == made
    assert await any_store.capabilities.intents(made.id) == ()


async def test_the_priority_of_a_trace_is_against_what_was_known_before(any_store: Store) -> None:
    made = await kept(any_store)
    for number in range(3):
        await ran(any_store, made.id, number)
    await ran(any_store, made.id, 3, state=RunState.ERROR)
    await ran(any_store, made.id, 4, executed_path=("n1",))
    await ran(any_store, None, 5, priority=0.125)
    found = [(await any_store.traces.get(f"trace-{number}")).priority for number in range(6)]
    assert found == pytest.approx([1.0, 0.45, 0.405, 1 - 0.5 * 0.9**3, 1.0, 0.125])


async def test_a_trace_teaches_once(any_store: Store) -> None:
    made = await kept(any_store)
    await any_store.runs.create(a_run(), a_program())
    trace = a_trace(capability_id=made.id)

    async def finish() -> None:
        await any_store.traces.finish(
            "run-1",
            RunState.SUCCESS,
            reason="",
            now_ms=5,
            epoch=0,
            trace=trace,
            results=(),
            dependencies=(),
            result_expires_at_ms=5,
        )

    await asyncio.gather(*(finish() for _ in range(5)))
    await finish()
    assert (await any_store.capabilities.get(made.id)).usage_count == 1
    assert [one.success_count for one in await any_store.capabilities.intents(made.id)] == [1]


async def test_a_trace_that_is_refused_teaches_nothing(any_store: Store) -> None:
    made = await kept(any_store)
    await any_store.runs.create(a_run(state=RunState.CANCELLED), a_program())
    with pytest.raises(RunStateError, match="is cancelled and cannot become success"):
        await any_store.traces.finish(
            "run-1",
            RunState.SUCCESS,
            reason="",
            now_ms=5,
            epoch=0,
            trace=a_trace(capability_id=made.id),
            results=(),
            dependencies=(),
            result_expires_at_ms=5,
        )
    assert await any_store.capabilities.get(made.id) == made


async def test_many_runs_of_one_capability_lose_no_update(any_store: Store) -> None:
    made = await kept(any_store)
    states = [RunState.ERROR if number % 5 == 0 else RunState.SUCCESS for number in range(50)]
    await asyncio.gather(
        *(
            ran(
                any_store,
                made.id,
                number,
                state=state,
                executed_path=("n1",) if number % 3 else ("d1", "n1"),
                intent_text=f"intent {number % 2}",
                duration_ms=float(number),
                now_ms=2_000 + number,
            )
            for number, state in enumerate(states)
        )
    )
    taught = await any_store.capabilities.get(made.id)
    assert (taught.usage_count, taught.success_count) == (50, 40)
    assert {path.path: path.count for path in taught.learning.paths} == {
        ("n1",): 33,
        ("d1", "n1"): 17,
    }
    intents = await any_store.capabilities.intents(made.id)
    assert sorted((one.success_count, one.failure_count) for one in intents) == [(20, 5), (20, 5)]


async def test_runs_that_end_together_teach_in_some_order(any_store: Store) -> None:
    made = await kept(any_store)
    states = [RunState.SUCCESS, RunState.ERROR, RunState.SUCCESS, RunState.ERROR, RunState.SUCCESS]
    await asyncio.gather(
        *(
            ran(any_store, made.id, number, state=state, duration_ms=10.0**number)
            for number, state in enumerate(states)
        )
    )
    taught = (await any_store.capabilities.get(made.id)).learning
    traces = await any_store.traces.recent(9)
    assert any(
        in_turn(order, made) == (taught, [trace.priority for trace in order])
        for order in permutations(traces)
    )


def in_turn(
    traces: tuple[ExecutionTrace, ...], capability: Capability
) -> tuple[Learning, list[float]]:
    """What the traces teach one after the other, and how each surprised."""
    learning, priorities = Learning(), []
    for trace in traces:
        priorities.append(priority(learning, trace))
        learning = learned(learning, trace, capability.structure)
    return learning, priorities


async def test_different_arguments_are_counted_as_far_as_they_are_needed(any_store: Store) -> None:
    made = await kept(any_store)
    seen = []
    for number, arguments in enumerate(
        ('{"a":1,"b":2}', '{"b": 2, "a": 1}', '{"a":2}', '{"a":3}', '{"a":4}')
    ):
        await ran(any_store, made.id, number, arguments=arguments)
        seen.append((await any_store.capabilities.get(made.id)).distinct_arguments)
    assert seen == [1, 1, 2, 3, 3]


async def test_promotion_needs_successes_with_different_arguments(any_store: Store) -> None:
    fixed, other = await kept(any_store, "fixed", parameters=()), await kept(any_store, "other")
    states: list[tuple[Lifecycle, Lifecycle]] = []
    for number in range(13):
        await ran(any_store, fixed.id, 2 * number)
        await ran(any_store, other.id, 2 * number + 1, arguments=f'{{"n":{number}}}')
        found = await any_store.capabilities.named(["fixed", "other"])
        states.append((found["fixed"].lifecycle, found["other"].lifecycle))
    assert states == [
        *[(Lifecycle.CANDIDATE, Lifecycle.CANDIDATE)] * 3,
        *[(Lifecycle.VERIFIED, Lifecycle.VERIFIED)] * 9,
        (Lifecycle.CANONICAL, Lifecycle.CANONICAL),
    ]


async def test_intents_count_as_the_same_whatever_their_spelling(any_store: Store) -> None:
    made = await kept(any_store)
    await ran(any_store, made.id, 1, intent_text="Read\x00 it.", now_ms=2_000)
    await ran(any_store, made.id, 2, intent_text="read\ufffd   IT", now_ms=4_000)
    await ran(any_store, made.id, 3, intent_text="é" * 9_000, state=RunState.ERROR, now_ms=3_000)
    assert await any_store.capabilities.intents(made.id) == (
        PastIntent(
            capability_id=made.id,
            intent="Read\ufffd it.",
            success_count=2,
            failure_count=0,
            last_success=True,
            last_at_ms=4_000,
        ),
        PastIntent(
            capability_id=made.id,
            intent="é" * 9_000,
            success_count=0,
            failure_count=1,
            last_success=False,
            last_at_ms=3_000,
        ),
    )
    await ran(any_store, made.id, 4, intent_text="read\ufffd it", state=RunState.ERROR)
    latest = {
        normalised_intent(one.intent): one for one in await any_store.capabilities.intents(made.id)
    }
    assert not latest["read\ufffd it"].last_success
    assert latest["read\ufffd it"].failure_count == 1


async def test_only_the_latest_intents_of_a_capability_are_told(any_store: Store) -> None:
    made = await kept(any_store)
    for number in range(PAST_INTENTS + 5):
        await ran(any_store, made.id, number, intent_text=f"intent {number}", now_ms=number)
    latest = [f"intent {number}" for number in range(PAST_INTENTS + 4, 4, -1)]
    assert [one.intent for one in await any_store.capabilities.intents(made.id)] == latest
    told = (await any_store.capabilities.changes(None)).intents
    assert [one.intent for one in told] == latest


async def test_what_a_capability_called_is_counted(any_store: Store) -> None:
    """ST-3: edges between capabilities, from runs that teach, to what is there."""
    a, b, c = [await kept(any_store, name) for name in "abc"]
    called = {b.id: 2, c.id: 1, "gone\x00": 7}
    await ran(any_store, a.id, 1, callees=called)
    await ran(any_store, a.id, 2, callees={c.id: 3}, state=RunState.ERROR)
    await ran(any_store, a.id, 3, callees=called, state=RunState.CANCELLED)
    await ran(any_store, None, 4, callees=called)
    contains = DependencyType.CONTAINS
    expected = [
        an_edge(a.id, target, type=contains, count=count)
        for target, count in ((b.id, 2), (c.id, 4))
    ]
    found = await any_store.capabilities.dependencies()
    assert found == tuple(sorted(expected, key=lambda edge: edge.target))
    assert {edge.weight for edge in found} == {0.8}
    assert await any_store.tool_dependencies.all() == ()
