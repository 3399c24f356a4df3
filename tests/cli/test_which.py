"""Runs by the beginning of their id."""

import msgspec
import pytest

from pml.cli.which import run_named
from pml.domain.run import Run, RunProgram, RunState
from pml.errors import NotFoundError, RequestError
from pml.store.memory import memory_store
from pml.store.ports import Store

RUN = Run(
    id="",
    intent="x",
    state=RunState.RUNNING,
    source_hash="0" * 64,
    owner="me",
    created_at_ms=1,
    updated_at_ms=1,
    timeout_ms=1,
)
PROGRAM = RunProgram(source="", instrumented="", structure="{}", arguments={}, seed=1)


async def with_runs(*ids: str) -> Store:
    store = memory_store()
    for run_id in ids:
        await store.runs.create(msgspec.structs.replace(RUN, id=run_id), PROGRAM)
    return store


async def test_the_whole_id_or_a_beginning_that_only_one_has() -> None:
    store = await with_runs("3f2a91bc-1", "3f2a91bc-12", "77aa01cd-3")

    assert (await run_named(store, "3f2a91bc-1")).id == "3f2a91bc-1"
    assert (await run_named(store, "77AA")).id == "77aa01cd-3"


async def test_a_beginning_of_several_names_them() -> None:
    store = await with_runs("3f2a91bc-1", "3f2a91bc-2")

    with pytest.raises(RequestError, match="3f2a91bc-1") as error:
        await run_named(store, "3f2a")
    assert "give more of it" in str(error.value)


@pytest.mark.parametrize("wanted", ["77", "", "99999999"])
async def test_too_little_or_nothing_like_it_is_not_found(wanted: str) -> None:
    with pytest.raises(NotFoundError, match="`pml runs` lists them"):
        await run_named(await with_runs("77aa01cd-3"), wanted)
