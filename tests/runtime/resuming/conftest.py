"""Sandboxes that play one program after the other, and sandboxes that play one."""

from collections.abc import AsyncIterator

import pytest_asyncio

from pml.domain.limits import Limits
from pml.runtime.reaper import Reaper
from pml.runtime.sandbox.pool import SandboxPool
from tests.oracle.sandboxed import Reusing, reusing_sandboxes


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def reusing() -> AsyncIterator[Reusing]:
    async with reusing_sandboxes() as sandboxes:
        yield sandboxes


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool() -> AsyncIterator[SandboxPool]:
    """For programs that are left in the middle: what was fed ahead would go on in the next."""
    reaper = Reaper.start()
    try:
        async with SandboxPool(limits=Limits(), reaper=reaper, size=2) as warm:
            yield warm
    finally:
        reaper.close()
