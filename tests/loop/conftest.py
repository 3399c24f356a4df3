"""The loop over real sandboxes, with the store in memory and servers that the test answers for."""

import itertools
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from pml.domain.events import Event
from pml.domain.limits import Limits
from pml.loop.act import Act
from pml.loop.library import Library
from pml.loop.means import Entropy
from pml.loop.places import Places
from pml.loop.steering import Steering
from pml.runtime.reaper import Reaper
from pml.runtime.sandbox.pool import SandboxPool
from pml.store.memory import memory_store
from tests.loop.outside import Outside


@pytest.fixture
def outside() -> Outside:
    return Outside()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool() -> AsyncIterator[SandboxPool]:
    with Reaper.start() as reaper:
        async with SandboxPool(limits=Limits(), reaper=reaper, size=2) as warm:
            yield warm


@pytest.fixture
def events() -> list[Event]:
    return []


@pytest.fixture
def act(outside: Outside, pool: SandboxPool, events: list[Event]) -> Act:
    clock, ids = itertools.count(1_700_000_000_000), itertools.count(1)
    store = memory_store()
    return Act(
        store=store,
        library=Library(store, outside, clock=itertools.count().__next__),
        servers=outside,
        sandboxes=pool,
        permissions=outside,
        entropy=Entropy(
            now_ms=lambda: next(clock), run_id=lambda: f"run-{next(ids)}", seed=lambda: 7
        ),
        limits=Limits(),
        user_id="local",
        owner="here/boot/ns/1/2",
        emit=events.append,
        places=Places(Limits()),
    )


@pytest.fixture
def steering(act: Act) -> Steering:
    """Of runs whose processes all live."""
    return Steering(engine=act, alive=lambda _: True)
