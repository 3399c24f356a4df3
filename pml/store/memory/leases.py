"""Which processes live, in memory."""

from pml.store.memory.data import Data


class MemoryLeases:
    """By owner."""

    def __init__(self, data: Data) -> None:
        self._data = data

    async def renew(self, owner: str, *, ttl_s: float) -> None:
        """See `Leases.renew`."""
        self._data.leases[owner] = self._data.clock() + ttl_s

    async def release(self, owner: str) -> None:
        """See `Leases.release`."""
        self._data.leases.pop(owner, None)
