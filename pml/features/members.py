"""What a capability is made of, as a record that needs no arrays.

Apart from the graphs that are made of it, because what serves names members and has no scipy.
"""

from dataclasses import dataclass

from pml.domain.capability import Capability
from pml.domain.structure import ANY_TOOL, CapabilityCall


@dataclass(frozen=True, slots=True, kw_only=True)
class Members:
    """What a capability is made of: tools that it calls itself, and capabilities in it."""

    id: str
    tools: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    """Ids; one that is not known is passed over, as its name may mean nothing yet."""


def members_of(capability: Capability) -> Members:
    """Read from its static structure."""
    nodes = capability.structure.nodes
    calls = [node.capability_id for node in nodes if isinstance(node, CapabilityCall)]
    return Members(
        id=capability.id,
        tools=tuple(tool for tool in capability.structure.tools() if tool != ANY_TOOL),
        capabilities=tuple(dict.fromkeys(calls)),
    )
