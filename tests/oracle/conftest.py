"""A native Deno and a pool of sandboxes, shared by the programs of a module."""

from collections.abc import AsyncIterator

import pytest_asyncio

from pml.domain.limits import Limits
from pml.runtime.reaper import Reaper
from pml.runtime.sandbox.pool import SandboxPool
from tests.oracle.native import Native, native_runner
from tests.oracle.sandboxed import Reusing, reusing_sandboxes


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def native() -> AsyncIterator[Native]:
    async with native_runner() as runner:
        yield runner


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool() -> AsyncIterator[SandboxPool]:
    reaper = Reaper.start()
    try:
        async with SandboxPool(limits=Limits(), reaper=reaper, size=3) as warm:
            yield warm
    finally:
        reaper.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def reusing() -> AsyncIterator[Reusing]:
    async with reusing_sandboxes() as sandboxes:
        yield sandboxes
