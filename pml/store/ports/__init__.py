"""What the store offers, one small protocol per noun.

`pml.store.postgres.postgres_store` and `pml.store.memory.memory_store` fill them, and both
pass the same contract tests.  Every method is one transaction (deleting what has expired:
many): when it returns, what it wrote is committed; when it raises, nothing was written, or
(`StoreError` after the connection broke) nobody knows.  No database connection is held between
calls.

Texts for people (intents, reasons, error messages, descriptions) come back with NUL and lone
surrogates replaced by U+FFFD: PostgreSQL cannot hold them.  An id with one is of nothing.
"""

from pml.store.ports.capabilities import (
    PAST_INTENTS,
    Capabilities,
    CapabilityChanges,
    Embedding,
    Embeddings,
)
from pml.store.ports.consent import ApiKeys, Approvals, Audit, Grants
from pml.store.ports.runs import Leases, RunLog, Runs
from pml.store.ports.store import Store
from pml.store.ports.tools import Mark, Observation, ToolChanges, ToolDependencies, ToolSchemas
from pml.store.ports.traces import (
    NO_CALLEES,
    Collected,
    ImportedSource,
    Imports,
    ResultPage,
    Retention,
    SomeTraces,
    TaskResults,
    Traces,
)

__all__ = [
    "NO_CALLEES",
    "PAST_INTENTS",
    "ApiKeys",
    "Approvals",
    "Audit",
    "Capabilities",
    "CapabilityChanges",
    "Collected",
    "Embedding",
    "Embeddings",
    "Grants",
    "ImportedSource",
    "Imports",
    "Leases",
    "Mark",
    "Observation",
    "ResultPage",
    "Retention",
    "RunLog",
    "Runs",
    "SomeTraces",
    "Store",
    "TaskResults",
    "ToolChanges",
    "ToolDependencies",
    "ToolSchemas",
    "Traces",
]
