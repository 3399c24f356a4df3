"""The store in memory; `pml.store.postgres` is its twin.

For tests, and for trying things out; nothing outlives the process.
"""

import hashlib
import hmac
import os
import time
from collections.abc import Callable
from functools import partial

from pml.domain.limits import Limits
from pml.store.memory.api_keys import MemoryApiKeys
from pml.store.memory.capabilities import MemoryCapabilities
from pml.store.memory.consent import MemoryApprovals, MemoryAudit, MemoryGrants
from pml.store.memory.data import Data
from pml.store.memory.embeddings import MemoryEmbeddings
from pml.store.memory.imports import MemoryImports
from pml.store.memory.leases import MemoryLeases
from pml.store.memory.retention import MemoryRetention
from pml.store.memory.runs import MemoryRunLog, MemoryRuns
from pml.store.memory.tool_schemas import MemoryToolSchemas
from pml.store.memory.traces import MemoryTaskResults, MemoryToolDependencies, MemoryTraces
from pml.store.ports import Store


def memory_store(
    user_id: str = "local",
    *,
    limits: Limits = Limits(),  # noqa: B008  # frozen
    clock: Callable[[], float] = time.monotonic,
) -> Store:
    """An empty store; leases count by ``clock``, in seconds."""
    data = Data(user_id, clock)
    runs = MemoryRuns(data, log_ttl_ms=limits.result_ttl_s * 1000)
    run_log, task_results = MemoryRunLog(data), MemoryTaskResults(data)
    return Store(
        tool_schemas=MemoryToolSchemas(data),
        capabilities=MemoryCapabilities(data),
        embeddings=MemoryEmbeddings(),
        runs=runs,
        run_log=run_log,
        traces=MemoryTraces(data, runs),
        imports=MemoryImports(),
        task_results=task_results,
        tool_dependencies=MemoryToolDependencies(data),
        leases=MemoryLeases(data),
        approvals=MemoryApprovals(data),
        grants=MemoryGrants(data),
        audit=MemoryAudit(data),
        api_keys=MemoryApiKeys(data),
        retention=MemoryRetention(data, run_log, task_results),
        hmac=partial(_hmac, os.urandom(32)),
    )


def _hmac(key: bytes, text: str) -> str:
    return hmac.new(key, text.encode(errors="surrogatepass"), hashlib.sha256).hexdigest()
