"""A PML that is about to be killed: opens a pool, says what belongs to it, and waits.

Run as a program by the tests; its arguments are names of guards to switch off, and ``no-reaper``.
"""

import asyncio
import json
import sys
from pathlib import Path

from pml.domain.limits import Limits
from pml.runtime.reaper import Reaper
from pml.runtime.sandbox.guards import Guards
from pml.runtime.sandbox.pool import SandboxPool


async def main(switched_off: list[str]) -> None:
    reaper = Reaper.start()
    if "no-reaper" in switched_off:
        switched_off.remove("no-reaper")
        reaper.close()
    guards = Guards(**dict.fromkeys(switched_off, False))
    async with (
        SandboxPool(limits=Limits(), reaper=reaper, size=1, guards=guards) as pool,
        pool.checkout() as one,
        pool.checkout() as two,
    ):
        scratch = Path(one.scratch).parent
        facts = {"pids": [one.pid, two.pid], "scratch": str(scratch), "reaper": reaper.pid}
        sys.stdout.write(json.dumps(facts) + "\n")
        sys.stdout.flush()
        await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
