"""Capabilities, their intents and vectors, in every store (ST-2, ST-4, ST-8, LE-1, LE-2)."""

import asyncio
from itertools import permutations
from typing import Any

import msgspec
import numpy as np
import pytest

from pml.domain.capability import Capability, Learning, Lifecycle, PastIntent, normalised_intent
from pml.domain.run import RunState
from pml.domain.trace import ExecutionTrace
from pml.errors import NotFoundError, RunStateError
from pml.learning.priority import priority
from pml.learning.td import learned
from pml.store.ports import CapabilityChanges, Embedding, Store, ToolChanges
from tests.store.nouns import (
    a_capability,
    a_program,
    a_run,
    a_structure,
    a_tool,
    a_trace,
)

STOPPED = [
    state for state in RunState if state not in (RunState.RUNNING, RunState.SUCCESS, RunState.ERROR)
]


async def kept(store: Store, name: str = "read_log", **fields: object) -> Capability:
    return await store.capabilities.keep(a_capability(name, **fields), now_ms=1_000)


async def ran(
    store: Store,
    capability_id: str | None,
    number: int = 1,
    *,
    state: RunState = RunState.SUCCESS,
    arguments: str = "{}",
    now_ms: int = 2_000,
    **trace: object,
) -> None:
    """One run, from its start to its end."""
    run_id = f"run-{number}"
    await store.runs.create(a_run(run_id, capability_id=capability_id), a_program())
    success = state is RunState.SUCCESS
    known: dict[str, Any] = {"state": state, "success": success, "capability_id": capability_id}
    await store.traces.finish(
        run_id,
        state,
        reason="",
        now_ms=now_ms,
        trace=a_trace(f"trace-{number}", run_id, **known | trace),
        results=(),
        dependencies=(),
        result_expires_at_ms=now_ms,
        arguments=arguments,
    )


# Keeping --------------------------------------------------------------------------------------


async def test_a_new_capability_is_hidden_and_comes_back_as_it_was(any_store: Store) -> None:
    new = a_capability()
    made = await any_store.capabilities.keep(new, now_ms=1_000)
    assert made == Capability(
        **msgspec.structs.asdict(new),
        user_id=made.user_id,
        created_at_ms=1_000,
        updated_at_ms=1_000,
    )
    assert made.user_id.startswith("test-")
    assert made.hidden
    assert await any_store.capabilities.get(made.id) == made
    (call,) = (node for node in made.structure.nodes if node.id == "n1")
    assert str(call).index("'z': 1.0") < str(call).index("'a': '\\x00'")


async def test_a_procedure_that_is_there_stays_as_it_is(any_store: Store) -> None:
    made = await kept(any_store)
    again = a_capability("another", procedure="read_log", intent="other", code="other")
    assert await any_store.capabilities.keep(again, now_ms=9) == made


async def test_names_that_are_taken_get_a_number(any_store: Store) -> None:
    for expected in ("a", "a_2", "a_3"):
        assert (await kept(any_store, "a", procedure=expected)).name == expected
    longest = "x" * 64
    assert (await kept(any_store, longest)).name == longest
    assert (await kept(any_store, longest, procedure="more")).name == "x" * 62 + "_2"


async def test_a_name_has_many_numbers(any_store: Store) -> None:
    names = [(await kept(any_store, "a", procedure=str(number))).name for number in range(120)]
    assert names == ["a", *(f"a_{number}" for number in range(2, 121))]


async def test_of_many_who_keep_one_procedure_all_get_the_same(any_store: Store) -> None:
    made = await asyncio.gather(*(kept(any_store) for _ in range(20)))
    assert len({(one.id, one.name) for one in made}) == 1
    assert await any_store.capabilities.recent(9, hidden=True) == (made[0],)


async def test_of_many_who_want_one_name_each_gets_its_own(any_store: Store) -> None:
    made = await asyncio.gather(
        *(kept(any_store, "a", procedure=str(number)) for number in range(20))
    )
    assert {one.name for one in made} == {"a", *(f"a_{number}" for number in range(2, 21))}


@pytest.mark.parametrize("name", ["", "A", "2a", "a-b", "a" * 65, "a\n", "é"])
async def test_a_name_is_one_that_code_can_call(any_store: Store, name: str) -> None:
    made = await kept(any_store)
    with pytest.raises(ValueError, match="is no name of a capability: expected"):
        await kept(any_store, name)
    with pytest.raises(ValueError, match="is no name of a capability: expected"):
        await any_store.capabilities.rename(made.id, name, now_ms=9)


async def test_a_capability_is_renamed(any_store: Store) -> None:
    made, other = await kept(any_store, "a"), await kept(any_store, "b")
    renamed = await any_store.capabilities.rename(made.id, "c", now_ms=9)
    assert renamed == msgspec.structs.replace(made, name="c", updated_at_ms=9)
    with pytest.raises(ValueError, match="another capability is named 'b'"):
        await any_store.capabilities.rename(made.id, "b", now_ms=9)
    assert (await any_store.capabilities.rename(made.id, "c", now_ms=10)).updated_at_ms == 10
    assert await any_store.capabilities.get(other.id) == other
    assert (await kept(any_store, "a", procedure="later")).name == "a"


async def test_an_unknown_capability_is_not_found(any_store: Store) -> None:
    for question in (
        any_store.capabilities.get("x"),
        any_store.capabilities.rename("x", "a", now_ms=1),
    ):
        with pytest.raises(NotFoundError, match="no capability 'x': `pml capabilities` lists"):
            await question
    assert await any_store.capabilities.intents("x") == ()


async def test_only_names_that_are_not_hidden_are_found(any_store: Store) -> None:
    shown, hidden = await kept(any_store, "a"), await kept(any_store, "b")
    await ran(any_store, shown.id)
    found = await any_store.capabilities.named(["a", "b", "c"])
    assert {name: one.id for name, one in found.items()} == {"a": shown.id}
    assert [one.id for one in await any_store.capabilities.recent(9)] == [shown.id]
    everything = await any_store.capabilities.recent(9, hidden=True)
    assert [one.id for one in everything] == [shown.id, hidden.id]


async def test_recent_capabilities_come_latest_used_first(any_store: Store) -> None:
    made = [await kept(any_store, name) for name in "abc"]
    for number, (place, now_ms) in enumerate(((1, 3_000), (0, 4_000), (2, 3_500))):
        await ran(any_store, made[place].id, number, now_ms=now_ms)
    await any_store.capabilities.rename(made[1].id, "renamed", now_ms=9_000)
    assert [one.name for one in await any_store.capabilities.recent(2)] == ["a", "c"]


# Runs -----------------------------------------------------------------------------------------


async def test_a_run_knows_its_capability_and_its_parent(any_store: Store) -> None:
    made = await kept(any_store)
    await any_store.runs.create(a_run("parent"), a_program())
    child = a_run("child", capability_id=made.id, parent_run_id="parent")
    await any_store.runs.create(child, a_program(lifted={"path": '"b"'}))
    stored = await any_store.runs.get("child")
    assert (stored.capability_id, stored.parent_run_id) == (made.id, "parent")
    assert (await any_store.runs.recent(9))[0] == stored
    assert (await any_store.runs.program("child")).lifted == {"path": '"b"'}
    moved = await any_store.runs.move("child", RunState.PAUSED, now_ms=9)
    assert (moved.capability_id, moved.parent_run_id) == (made.id, "parent")


async def test_a_run_needs_its_capability_and_its_parent(any_store: Store) -> None:
    with pytest.raises(ValueError, match="there is no capability 'x'"):
        await any_store.runs.create(a_run(capability_id="x"), a_program())
    with pytest.raises(ValueError, match="there is no run 'x' that could call another"):
        await any_store.runs.create(a_run(parent_run_id="x"), a_program())
    assert await any_store.runs.recent(9) == ()


# Teaching -------------------------------------------------------------------------------------


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


# Intents --------------------------------------------------------------------------------------


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


# Staleness ------------------------------------------------------------------------------------


async def stale(store: Store) -> set[str]:
    return {one.name for one in await store.capabilities.recent(99, hidden=True) if one.stale}


async def test_a_changed_tool_makes_its_users_stale(any_store: Store) -> None:
    listed = [a_tool("read"), a_tool("write"), a_tool("list")]
    await any_store.tool_schemas.replace("fs", listed)
    reader = await kept(any_store, "reader")
    await kept(any_store, "both", structure=a_structure("fs:write", "fs:read"))
    await kept(any_store, "writer", structure=a_structure("fs:write"))
    await any_store.tool_schemas.replace("fs", [a_tool("list"), a_tool("write"), a_tool("read")])
    await any_store.tool_schemas.replace("other", [a_tool("read", "other")])
    assert await stale(any_store) == set()
    listed[0] = a_tool("read", description="new")
    await any_store.tool_schemas.replace("fs", listed)
    assert await stale(any_store) == {"reader", "both"}
    await ran(any_store, reader.id, 1, state=RunState.ERROR)
    assert await stale(any_store) == {"reader", "both"}
    await ran(any_store, reader.id, 2)
    await any_store.tool_schemas.replace("fs", listed)
    assert await stale(any_store) == {"both"}


async def test_a_tool_that_is_gone_makes_its_users_stale(any_store: Store) -> None:
    await any_store.tool_schemas.replace("fs", [a_tool("read"), a_tool("write")])
    reader = await kept(any_store, "reader")
    await any_store.tool_schemas.replace("fs", [a_tool("write")])
    assert await stale(any_store) == {"reader"}
    await ran(any_store, reader.id, 1)
    await any_store.tool_schemas.replace("fs", [a_tool("write")])
    await any_store.tool_schemas.replace("fs", [a_tool("read"), a_tool("write")])
    assert await stale(any_store) == set()
    await any_store.tool_schemas.replace("fs", [])
    await ran(any_store, reader.id, 2)
    await any_store.tool_schemas.replace("fs", [a_tool("read", description="came back other")])
    assert await stale(any_store) == {"reader"}


async def test_callers_of_what_uses_a_changed_tool_are_stale_too(any_store: Store) -> None:
    await any_store.tool_schemas.replace("fs", [a_tool("read"), a_tool("write")])
    below = await kept(any_store, "below")
    writes = a_structure("fs:write", calls=(below.id,))
    between = await kept(any_store, "between", structure=writes)
    await kept(any_store, "above", structure=a_structure("fs:write", calls=(between.id, "none")))
    await kept(any_store, "apart", structure=a_structure("fs:write"))
    await any_store.tool_schemas.replace("fs", [a_tool("write")])
    assert await stale(any_store) == {"below", "between", "above"}


# Changes --------------------------------------------------------------------------------------


def told(changes: CapabilityChanges) -> set[str]:
    return {one.name for one in changes.capabilities}


async def until_quiet(store: Store) -> tuple[ToolChanges, CapabilityChanges]:
    """Marks after which nothing is told: all transactions before them have ended."""
    tools, capabilities = (
        await store.tool_schemas.changes(None),
        await store.capabilities.changes(None),
    )
    while tools.tools or tools.gone or capabilities.capabilities:
        tools = await store.tool_schemas.changes(tools.mark)
        capabilities = await store.capabilities.changes(capabilities.mark)
    return tools, capabilities


async def test_capabilities_that_changed_are_told_with_all_their_intents(any_store: Store) -> None:
    a, b, c = [await kept(any_store, name) for name in "abc"]
    await ran(any_store, a.id, 1, intent_text="one")
    everything = await any_store.capabilities.changes(None)
    assert told(everything) == {"a", "b", "c"}
    assert everything.intents == await any_store.capabilities.intents(a.id)
    _, quiet = await until_quiet(any_store)
    await ran(any_store, a.id, 2, intent_text="two")
    await any_store.capabilities.rename(b.id, "renamed", now_ms=9)
    await ran(any_store, c.id, 3, state=RunState.CANCELLED)
    changes = await any_store.capabilities.changes(quiet.mark)
    assert told(changes) == {"a", "renamed"}
    assert list(changes.capabilities) == [
        await any_store.capabilities.get(one) for one in sorted((a.id, b.id))
    ]
    assert {one.intent for one in changes.intents} == {"one", "two"}


async def test_a_capability_that_became_stale_has_changed(any_store: Store) -> None:
    await any_store.tool_schemas.replace("fs", [a_tool("read")])
    await kept(any_store, "a")
    _, quiet = await until_quiet(any_store)
    await any_store.tool_schemas.replace("fs", [])
    (changed,) = (await any_store.capabilities.changes(quiet.mark)).capabilities
    assert changed.stale


async def test_tools_that_changed_or_are_gone_are_told(any_store: Store) -> None:
    await any_store.tool_schemas.replace("fs", [a_tool(name) for name in "abcd"])
    await any_store.tool_schemas.replace("fs", [a_tool(name) for name in "abc"])
    everything = await any_store.tool_schemas.changes(None)
    assert {tool.id for tool in everything.tools} == {"fs:a", "fs:b", "fs:c"}
    assert everything.gone == ()
    quiet, _ = await until_quiet(any_store)
    changed = a_tool("a", description="new")
    await any_store.tool_schemas.replace("fs", [a_tool("e"), a_tool("c"), changed])
    changes = await any_store.tool_schemas.changes(quiet.mark)
    assert {tool.id: tool for tool in changes.tools} == {"fs:a": changed, "fs:e": a_tool("e")}
    assert changes.gone == ("fs:b",)
    quiet, _ = await until_quiet(any_store)
    await any_store.tool_schemas.replace("fs", [changed, a_tool("b"), a_tool("c"), a_tool("e")])
    assert (await any_store.tool_schemas.changes(quiet.mark)).tools == (a_tool("b"),)


async def test_some_servers_and_some_tools_are_found(any_store: Store) -> None:
    await any_store.tool_schemas.replace("fs", [a_tool("read"), a_tool("a:b")])
    await any_store.tool_schemas.replace("db", [a_tool("read", "db"), a_tool("gone", "db")])
    await any_store.tool_schemas.replace("db", [a_tool("read", "db")])
    catalog = await any_store.tool_schemas.catalog(["db", "unknown"])
    assert {server: list(tools) for server, tools in catalog.servers.items()} == {"db": ["read"]}
    assert (await any_store.tool_schemas.catalog([])).servers == {}
    wanted = ["fs:a:b", "db:read", "db:gone", "fs:none", "nowhere:read", "fs", ""]
    found = await any_store.tool_schemas.find(wanted)
    assert found == {"fs:a:b": a_tool("a:b"), "db:read": a_tool("read", "db")}
    assert await any_store.tool_schemas.find([]) == {}


# Vectors --------------------------------------------------------------------------------------


def a_vector(key: str, *values: float, text_hash: str = "h") -> Embedding:
    return Embedding(key=key, text_hash=text_hash, vector=np.array(values, dtype=np.float32))


def plain(embeddings: tuple[Embedding, ...]) -> list[tuple[str, str, list[float]]]:
    return [(one.key, one.text_hash, one.vector.tolist()) for one in embeddings]


async def test_vectors_come_back_exact_by_key(any_store: Store) -> None:
    long = "intent:" + "é" * 9_000
    third = float(np.float32(1 / 3))
    await any_store.embeddings.write("e", [a_vector("b", third, -1e30), a_vector(long, 0, 2)])
    await any_store.embeddings.write("e", [a_vector("Z", 5, 6)])
    await any_store.embeddings.write("other", [a_vector("b", 1, 2, 3)])
    read = await any_store.embeddings.read("e")
    tiny = float(np.float32(-1e30))
    assert plain(read) == [("Z", "h", [5, 6]), ("b", "h", [third, tiny]), (long, "h", [0, 2])]
    assert read[0].vector.dtype == np.float32
    assert plain(await any_store.embeddings.read("other")) == [("b", "h", [1, 2, 3])]
    assert await any_store.embeddings.read("none") == ()


async def test_a_vector_is_replaced_and_forgotten(any_store: Store) -> None:
    await any_store.embeddings.write("e", [a_vector("a", 1), a_vector("b", 2), a_vector("c", 3)])
    await any_store.embeddings.write("e", [a_vector("a", 9), a_vector("a", 4, text_hash="new")])
    await any_store.embeddings.delete("e", ["b", "unknown"])
    await any_store.embeddings.delete("other", ["c"])
    await any_store.embeddings.write("e", [])
    assert plain(await any_store.embeddings.read("e")) == [("a", "new", [4]), ("c", "h", [3])]


async def test_those_who_write_the_same_vectors_do_not_wait_in_a_circle(any_store: Store) -> None:
    some = [a_vector(str(number), number) for number in range(200)]
    writes = [any_store.embeddings.write("e", some[::step]) for step in (1, -1) * 4]
    await asyncio.gather(*writes)
    assert len(await any_store.embeddings.read("e")) == 200
