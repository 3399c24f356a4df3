"""Which processes live, in PostgreSQL (`pml.store.ports.Leases`)."""

from pml.store.database import Database
from pml.store.printable import printable
from pml.store.queries import queries

_SQL = queries("leases")


class PostgresLeases:
    """One row per process and user; the database's clock says whether it is over."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def renew(self, owner: str, *, ttl_s: float) -> None:
        """See `Leases.renew`."""
        row = {"owner": printable(owner), "ttl_s": ttl_s}
        async with self._database.connection() as connection:
            await connection.execute(_SQL["renew"], row)

    async def release(self, owner: str) -> None:
        """See `Leases.release`."""
        async with self._database.connection() as connection:
            await connection.execute(_SQL["release"], {"owner": printable(owner)})
