"""The store in memory; `pml.store.postgres` is its twin.

For tests, and for trying things out; nothing outlives the process.
"""

import time
from collections.abc import Callable

from pml.store.memory.capabilities import MemoryCapabilities
from pml.store.memory.data import Data
from pml.store.memory.embeddings import MemoryEmbeddings
from pml.store.memory.leases import MemoryLeases
from pml.store.memory.runs import MemoryRunLog, MemoryRuns
from pml.store.memory.tool_schemas import MemoryToolSchemas
from pml.store.memory.traces import MemoryTaskResults, MemoryToolDependencies, MemoryTraces
from pml.store.ports import Store


def memory_store(user_id: str = "local", *, clock: Callable[[], float] = time.monotonic) -> Store:
    """An empty store; leases count by ``clock``, in seconds."""
    data = Data(user_id, clock)
    runs = MemoryRuns(data)
    return Store(
        tool_schemas=MemoryToolSchemas(data),
        capabilities=MemoryCapabilities(data),
        embeddings=MemoryEmbeddings(),
        runs=runs,
        run_log=MemoryRunLog(data),
        traces=MemoryTraces(data, runs),
        task_results=MemoryTaskResults(data),
        tool_dependencies=MemoryToolDependencies(data),
        leases=MemoryLeases(data),
    )
