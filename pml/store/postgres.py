"""The store in PostgreSQL; `pml.store.memory` is its twin."""

from pml.domain.limits import Limits
from pml.store.api_keys import PostgresApiKeys
from pml.store.approvals import PostgresApprovals
from pml.store.audit import PostgresAudit
from pml.store.capabilities import PostgresCapabilities
from pml.store.database import Database
from pml.store.embeddings import PostgresEmbeddings
from pml.store.grants import PostgresGrants
from pml.store.imports import PostgresImports
from pml.store.leases import PostgresLeases
from pml.store.ledger_key import LedgerKey
from pml.store.ports import Store
from pml.store.retention import PostgresRetention
from pml.store.run_log import PostgresRunLog
from pml.store.runs import PostgresRuns
from pml.store.task_results import PostgresTaskResults
from pml.store.tool_dependencies import PostgresToolDependencies
from pml.store.tool_schemas import PostgresToolSchemas
from pml.store.traces import PostgresTraces


def postgres_store(
    db: Database,
    key: LedgerKey,
    *,
    limits: Limits = Limits(),  # noqa: B008  # frozen
) -> Store:
    """The store of the database's user; runs' programs and logs encrypted with ``key``."""
    run_log, task_results = PostgresRunLog(db, key), PostgresTaskResults(db)
    return Store(
        tool_schemas=PostgresToolSchemas(db),
        capabilities=PostgresCapabilities(db),
        embeddings=PostgresEmbeddings(db),
        runs=PostgresRuns(db, key, log_ttl_ms=limits.result_ttl_s * 1000),
        run_log=run_log,
        traces=PostgresTraces(db, key),
        imports=PostgresImports(db),
        task_results=task_results,
        tool_dependencies=PostgresToolDependencies(db),
        leases=PostgresLeases(db),
        approvals=PostgresApprovals(db),
        grants=PostgresGrants(db),
        audit=PostgresAudit(db),
        api_keys=PostgresApiKeys(db),
        retention=PostgresRetention(db, run_log, task_results),
        hmac=key.hmac,
    )
