"""All of it together."""

from collections.abc import Callable
from dataclasses import dataclass

from pml.store.ports.capabilities import Capabilities, Embeddings
from pml.store.ports.consent import ApiKeys, Approvals, Audit, Grants
from pml.store.ports.runs import Leases, RunLog, Runs
from pml.store.ports.tools import ToolDependencies, ToolSchemas
from pml.store.ports.traces import Imports, Retention, TaskResults, Traces


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """Everything that is kept, for one user."""

    tool_schemas: ToolSchemas
    capabilities: Capabilities
    embeddings: Embeddings
    runs: Runs
    run_log: RunLog
    traces: Traces
    imports: Imports
    task_results: TaskResults
    tool_dependencies: ToolDependencies
    leases: Leases
    approvals: Approvals
    grants: Grants
    audit: Audit
    api_keys: ApiKeys
    retention: Retention
    hmac: Callable[[str], str]
    """Hash with a key of the store's own: what may outlive a run of values nobody may read."""
