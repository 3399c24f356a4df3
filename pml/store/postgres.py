"""The store in PostgreSQL; `pml.store.memory` is its twin."""

from pml.store.capabilities import PostgresCapabilities
from pml.store.database import Database
from pml.store.embeddings import PostgresEmbeddings
from pml.store.leases import PostgresLeases
from pml.store.ledger_key import LedgerKey
from pml.store.ports import Store
from pml.store.run_log import PostgresRunLog
from pml.store.runs import PostgresRuns
from pml.store.task_results import PostgresTaskResults
from pml.store.tool_dependencies import PostgresToolDependencies
from pml.store.tool_schemas import PostgresToolSchemas
from pml.store.traces import PostgresTraces


def postgres_store(db: Database, key: LedgerKey) -> Store:
    """The store of the database's user; runs' programs and logs encrypted with ``key``."""
    return Store(
        tool_schemas=PostgresToolSchemas(db),
        capabilities=PostgresCapabilities(db),
        embeddings=PostgresEmbeddings(db),
        runs=PostgresRuns(db, key),
        run_log=PostgresRunLog(db, key),
        traces=PostgresTraces(db, key),
        task_results=PostgresTaskResults(db),
        tool_dependencies=PostgresToolDependencies(db),
        leases=PostgresLeases(db),
    )
