"""Learned procedures in memory."""

from collections.abc import Collection, Mapping

import msgspec

from pml.domain.capability import Capability, NewCapability, PastIntent
from pml.domain.trace import ToolDependency
from pml.store.capability_names import candidates, check_name, name_taken
from pml.store.memory.data import Data, KeptCapability, stored
from pml.store.messages import capability_not_found
from pml.store.ports import PAST_INTENTS, CapabilityChanges, Mark
from pml.store.printable import printable


class MemoryCapabilities:
    """By id."""

    def __init__(self, data: Data) -> None:
        self._data = data

    async def keep(self, new: NewCapability, *, now_ms: int) -> Capability:
        """See `Capabilities.keep`."""
        check_name(new.name)
        if new.id not in self._data.capabilities:
            taken = self._names()
            name = next(name for name in candidates(new.name) if name not in taken)
            self._data.capabilities[new.id] = KeptCapability(
                self._made(new, name, now_ms), self._data.changed(), now_ms
            )
        return self._data.capabilities[new.id].whole()

    def _made(self, new: NewCapability, name: str, now_ms: int) -> Capability:
        fields = msgspec.structs.asdict(new) | {
            "name": name,
            "intent": printable(new.intent),
            "description": printable(new.description),
        }
        return stored(
            Capability(
                **fields, user_id=self._data.user_id, created_at_ms=now_ms, updated_at_ms=now_ms
            )
        )

    def _names(self) -> set[str]:
        return {kept.capability.name for kept in self._data.capabilities.values()}

    async def get(self, capability_id: str) -> Capability:
        """See `Capabilities.get`."""
        return self._kept(capability_id).whole()

    def _kept(self, capability_id: str) -> KeptCapability:
        if capability_id not in self._data.capabilities:
            raise capability_not_found(capability_id)
        return self._data.capabilities[capability_id]

    async def named(self, names: Collection[str]) -> Mapping[str, Capability]:
        """See `Capabilities.named`."""
        return {
            kept.capability.name: kept.whole()
            for kept in self._data.capabilities.values()
            if kept.capability.name in names and not kept.experience.hidden
        }

    async def recent(self, limit: int, *, hidden: bool = False) -> tuple[Capability, ...]:
        """See `Capabilities.recent`."""
        found = [
            kept
            for kept in self._data.capabilities.values()
            if hidden or not kept.experience.hidden
        ]
        found.sort(key=lambda kept: (-kept.used_at_ms, kept.capability.id))
        return tuple(kept.whole() for kept in found[:limit])

    async def intents(self, capability_id: str) -> tuple[PastIntent, ...]:
        """See `Capabilities.intents`."""
        kept = self._data.capabilities.get(capability_id)
        return () if kept is None else _latest_first(kept)

    async def rename(self, capability_id: str, name: str, *, now_ms: int) -> Capability:
        """See `Capabilities.rename`."""
        check_name(name)
        kept = self._kept(capability_id)
        if name != kept.capability.name and name in self._names():
            raise name_taken(name)
        kept.capability = msgspec.structs.replace(kept.capability, name=name, updated_at_ms=now_ms)
        kept.changed = self._data.changed()
        return kept.whole()

    async def dependencies(self) -> tuple[ToolDependency, ...]:
        """See `Capabilities.dependencies`."""
        edges = self._data.capability_dependencies.values()
        return tuple(sorted(edges, key=lambda edge: (edge.source, edge.target, edge.type)))

    async def changes(self, since: Mark | None) -> CapabilityChanges:
        """See `Capabilities.changes`."""
        new = [
            kept
            for _, kept in sorted(self._data.capabilities.items())
            if since is None or kept.changed > since
        ]
        return CapabilityChanges(
            mark=self._data.mark,
            capabilities=tuple(kept.whole() for kept in new),
            intents=tuple(intent for kept in new for intent in _latest_first(kept)),
        )


def _latest_first(kept: KeptCapability) -> tuple[PastIntent, ...]:
    ordered = sorted(kept.intents.values(), key=lambda intent: (-intent.last_at_ms, intent.intent))
    return tuple(ordered[:PAST_INTENTS])
