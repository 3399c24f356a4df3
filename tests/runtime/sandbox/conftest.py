"""A pool of real Deno processes."""

from collections.abc import AsyncIterator, Iterator

import pytest

from pml.domain.limits import Limits
from pml.runtime.reaper import Reaper
from pml.runtime.sandbox.pool import SandboxPool


@pytest.fixture
def reaper() -> Iterator[Reaper]:
    with Reaper.start() as reaper:
        yield reaper


@pytest.fixture
async def pool(reaper: Reaper) -> AsyncIterator[SandboxPool]:
    async with SandboxPool(limits=Limits(), reaper=reaper, size=1) as pool:
        yield pool
