"""Our upstream client, as the conformance suite starts it: connect, list, call each tool.

python tests/conformance/client.py URL
"""

import asyncio
import json
import sys

from pml.domain.limits import Limits
from pml.runtime.reaper import Reaper
from pml.runtime.upstream.config import ServerConfig
from pml.runtime.upstream.servers import Upstreams
from pml.store.memory.store import memory_store

ARGUMENTS = {"add_numbers": {"a": 5, "b": 3}}


async def main(url: str) -> None:
    reaper = Reaper.start()
    config = ServerConfig(name="judge", url=url)
    sink = memory_store().tool_schemas
    async with Upstreams([config], limits=Limits(), reaper=reaper, sink=sink) as upstreams:
        for tool in await upstreams.tools("judge"):
            arguments = json.dumps(ARGUMENTS.get(tool.name, {}))
            print(await upstreams.call("judge", tool.name, arguments))  # noqa: T201
    reaper.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
