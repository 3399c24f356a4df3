"""A pool of real Deno processes, one per test module."""

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from pml.domain.limits import Limits
from pml.runtime.reaper import Reaper
from pml.runtime.sandbox.pool import SandboxPool


@pytest.fixture(scope="module")
def reaper() -> Iterator[Reaper]:
    with Reaper.start() as reaper:
        yield reaper


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool(reaper: Reaper) -> AsyncIterator[SandboxPool]:
    async with SandboxPool(limits=Limits(), reaper=reaper, size=1) as pool:
        yield pool
