"""What makes a capability stale: a change of what it calls, directly or below (ST-4)."""

from collections.abc import Collection, Mapping

from pml.domain.structure import CapabilityCall, StaticStructure


def called(structure: StaticStructure) -> tuple[str, ...]:
    """Ids of the tools and capabilities that a program calls, each once."""
    nodes = (node for node in structure.nodes if isinstance(node, CapabilityCall))
    return tuple(dict.fromkeys((*structure.tools(), *(node.capability_id for node in nodes))))


def callers(changed: Collection[str], calls: Mapping[str, Collection[str]]) -> set[str]:
    """Those of ``calls`` that reach something of ``changed`` through what they call."""
    found: set[str] = set()
    reached = set(changed)
    while reached:
        reached = {one for one, ids in calls.items() if not reached.isdisjoint(ids)} - found
        found |= reached
    return found
