"""Keeping and naming procedures, in every store (ST-2, ST-8)."""

import asyncio

import msgspec
import pytest

from pml.domain.capability import Capability
from pml.domain.run import RunState
from pml.errors import NotFoundError
from pml.store.ports import Store
from tests.contract.capability_runs import kept, ran
from tests.store.nouns import (
    a_capability,
    a_program,
    a_run,
)


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


@pytest.mark.parametrize(
    "name", ["", "A", "2a", "a-b", "a" * 65, "a\n", "é", "then", "await", "__proto__"]
)
async def test_a_name_is_one_that_code_can_call(any_store: Store, name: str) -> None:
    made = await kept(any_store)
    expected = "is no name of a capability: expected|means something else in JavaScript"
    with pytest.raises(ValueError, match=expected):
        await kept(any_store, name)
    with pytest.raises(ValueError, match=expected):
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


async def test_a_run_knows_its_capability_and_its_parent(any_store: Store) -> None:
    made = await kept(any_store)
    await any_store.runs.create(a_run("parent"), a_program())
    child = a_run("child", capability_id=made.id, parent_run_id="parent")
    await any_store.runs.create(child, a_program(lifted={"path": '"b"'}))
    stored = await any_store.runs.get("child")
    assert (stored.capability_id, stored.parent_run_id) == (made.id, "parent")
    assert (await any_store.runs.recent(9))[0] == stored
    assert (await any_store.runs.program("child")).lifted == {"path": '"b"'}
    moved = await any_store.runs.move("child", RunState.PAUSED, now_ms=9, epoch=0)
    assert (moved.capability_id, moved.parent_run_id) == (made.id, "parent")


async def test_a_run_needs_its_capability_and_its_parent(any_store: Store) -> None:
    with pytest.raises(ValueError, match="there is no capability 'x'"):
        await any_store.runs.create(a_run(capability_id="x"), a_program())
    with pytest.raises(ValueError, match="there is no run 'x' that could call another"):
        await any_store.runs.create(a_run(parent_run_id="x"), a_program())
    assert await any_store.runs.recent(9) == ()
