"""API keys in memory."""

import msgspec

from pml.domain.approval import ApiKey
from pml.store.audited import of_key
from pml.store.memory.data import Data, stored
from pml.store.messages import key_exists, no_key
from pml.store.printable import printable


class MemoryApiKeys:
    """By the hash of the key."""

    def __init__(self, data: Data) -> None:
        self._data = data

    async def create(self, key: ApiKey, *, key_hash: str, by: str = "local") -> None:
        """See `ApiKeys.create`."""
        kept = msgspec.structs.replace(key, name=printable(key.name))
        taken = [
            one
            for one in self._data.keys.values()
            if one.id == kept.id
            or (one.name == kept.name and one.revoked_at_ms is None and kept.revoked_at_ms is None)
        ]
        if taken or key_hash in self._data.keys:
            raise key_exists(key)
        self._data.keys[key_hash] = stored(kept)
        self._data.note(of_key(kept, by=by))

    async def find(self, key_hash: str) -> ApiKey | None:
        """See `ApiKeys.find`."""
        found = self._data.keys.get(key_hash)
        return found if found is not None and found.revoked_at_ms is None else None

    async def used(self, key_id: str, *, now_ms: int) -> None:
        """See `ApiKeys.used`."""
        for key_hash, key in self._data.keys.items():
            if key.id == key_id:
                used_at_ms = max(now_ms, key.used_at_ms or now_ms)
                self._data.keys[key_hash] = msgspec.structs.replace(key, used_at_ms=used_at_ms)

    async def all(self) -> tuple[ApiKey, ...]:
        """See `ApiKeys.all`."""
        keys = self._data.keys.values()
        return tuple(sorted(keys, key=lambda one: (one.name, one.created_at_ms, one.id)))

    async def revoke(self, key_id: str, *, now_ms: int, by: str = "local") -> ApiKey:
        """See `ApiKeys.revoke`."""
        for key_hash, key in self._data.keys.items():
            if key.id == key_id:
                if key.revoked_at_ms is None:
                    key = msgspec.structs.replace(key, revoked_at_ms=now_ms)  # noqa: PLW2901
                    self._data.keys[key_hash] = key
                    self._data.note(of_key(key, by=by))
                return key
        raise no_key(key_id)
