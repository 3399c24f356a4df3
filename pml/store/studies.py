"""Where studies of tuning lie in the database: a schema of their own, so that no table meets ours.

Optuna makes and migrates its tables itself; all it needs is a URL and a schema to be in.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import psycopg
from psycopg.conninfo import conninfo_to_dict

from pml.errors import StoreError
from pml.store.connection import first_line
from pml.store.embedded import EmbeddedPostgres
from pml.store.supervisor.cluster import SUPERUSER

SCHEMA = "pml_studies"
_CONNECT_S = 5


@contextmanager
def studies_url(*, url: str | None, data_dir: Path) -> Iterator[str]:
    """A URL for SQLAlchemy with psycopg, as long as the block lasts.

    It is for this process: of the embedded server it names an open descriptor.

    Args:
        url: Of a PostgreSQL; None is the embedded one.
        data_dir: Where the embedded one has its data.

    Raises:
        StoreError: the database cannot be had, or lets us make no schema.
    """
    if url is not None:
        yield _prepared(url)
        return
    server = EmbeddedPostgres(data_dir)
    try:
        server.start()
        yield _prepared(server.conninfo(SUPERUSER))
    finally:
        server.close()


def _prepared(conninfo: str) -> str:
    """Make the schema if need be."""
    try:
        parts = conninfo_to_dict(conninfo, connect_timeout=_CONNECT_S)
        with psycopg.connect(conninfo, autocommit=True, connect_timeout=_CONNECT_S) as connection:
            # Two that make it at once both find none, and one of them would fail.
            connection.execute("SELECT pg_advisory_lock(hashtext(%s))", (SCHEMA,))
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}".encode())
    except psycopg.Error as error:
        message = f"the database cannot be used for studies: {first_line(error)}"
        raise StoreError(message) from error
    given = {name: value for name, value in parts.items() if value not in {None, ""}}
    return "postgresql+psycopg://?" + urlencode(given | {"options": f"-csearch_path={SCHEMA}"})
