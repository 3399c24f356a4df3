"""What analysis says the sandbox offers is what it offers (SA-4: anything else is a parameter)."""

import json

from pml.analysis.globals import ABSENT, ARGS, CAPABILITIES, MCP, SHIM, STANDARD
from pml.domain.limits import Limits
from pml.runtime.reaper import Reaper
from pml.runtime.sandbox.module import module_text
from pml.runtime.sandbox.pool import SandboxPool
from pml.runtime.sandbox.protocol import ProgramReturned, StartInput

NAMES = """
  const names = new Set();
  for (let o = globalThis; o !== Object.prototype; o = Object.getPrototypeOf(o)) {
    for (const name of Object.getOwnPropertyNames(o)) names.add(name);
  }
  return [...names];
"""
OF_THE_MODULE = {MCP, CAPABILITIES, ARGS, SHIM, "arguments"}
OF_THE_EVENT_TARGET = {"constructor", "dispatchEvent"}


async def test_the_sandbox_offers_exactly_the_standard_globals() -> None:
    start = StartInput(module=module_text(NAMES, ()), arguments="{}", seed=1, now_ms=0)
    with Reaper.start() as reaper:
        async with (
            SandboxPool(limits=Limits(), reaper=reaper, size=1) as pool,
            pool.checkout() as sandbox,
        ):
            sandbox.start(start)
            settled = (await sandbox.turn()).items[-1]
    assert isinstance(settled, ProgramReturned)
    offered = set(json.loads(settled.value)) - OF_THE_EVENT_TARGET
    assert offered == STANDARD - OF_THE_MODULE
    assert not offered & set(ABSENT)
