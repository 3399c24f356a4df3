"""What goes into the hypergraph and what comes out of it (LE-6).

A directed hyperedge leads from a set of nodes to one node, and fires only when *all* its sources
are reached.  A hyperpath is a set of hyperedges that reaches its target from given nodes: every
node on it that was not given is entered by exactly one of them.
"""

from dataclasses import dataclass
from enum import StrEnum

START = "start"
"""The node that is reached before anything is called."""


class HyperedgeKind(StrEnum):
    """Why a hyperedge stands."""

    START = "start"
    """The caller can give all required inputs of the tool."""
    PROVIDES = "provides"
    """The sources' results cover the required inputs that the caller cannot give."""
    DEPENDENCY = "dependency"
    """The tool declares that it needs its sources."""
    MEMBERS = "members"
    """The sources are what the capability calls."""
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hyperedge:
    """From all its sources together to its target.

    Invariant, checked where a graph takes it in: at least one source, none twice, the target is
    none of them; the weight is finite and not negative.
    """

    id: str
    sources: tuple[str, ...]
    """Costs are added in this order, so it decides the last bits of a sum, and nothing else."""
    target: str
    weight: float
    kind: HyperedgeKind = HyperedgeKind.OTHER


@dataclass(frozen=True, slots=True, kw_only=True)
class Hyperpath:
    """How a target is reached.

    Invariant: each hyperedge's sources are given or targets of earlier ones; no two hyperedges
    have the same target; all but the target are needed by a later one.
    """

    target: str
    hyperedges: tuple[Hyperedge, ...]
    """In firing order: by depth, the cheaper first.  Empty if the target was given."""
    nodes: tuple[str, ...]
    """Every node on the path, each before the first hyperedge that needs it."""
    cost: float
    """Additive and recursive: the last hyperedge's weight plus the costs of its sources, so that a
    part that is used twice counts twice.  Infinite only if the sum overflows."""
    distinct_weight: float
    """Each hyperedge's weight once.  Of this path; the least of all paths is NP-hard to find."""
    depth: int
    """Hyperedges on the longest chain from a given node to the target."""


class Action(StrEnum):
    """What an update does."""

    INSERT = "insert"
    DELETE = "delete"
    REWEIGHT = "reweight"


@dataclass(frozen=True, slots=True, kw_only=True)
class HyperedgeUpdate:
    """One change of the graph; made by `insert`, `delete` and `reweight`."""

    action: Action
    id: str
    hyperedge: Hyperedge | None = None
    """What is inserted."""
    weight: float | None = None
    """The new weight."""

    @classmethod
    def insert(cls, hyperedge: Hyperedge) -> "HyperedgeUpdate":
        """Add a hyperedge; nodes that are not there yet come with it."""
        return cls(action=Action.INSERT, id=hyperedge.id, hyperedge=hyperedge)

    @classmethod
    def delete(cls, hyperedge_id: str) -> "HyperedgeUpdate":
        """Take a hyperedge out; its nodes stay."""
        return cls(action=Action.DELETE, id=hyperedge_id)

    @classmethod
    def reweight(cls, hyperedge_id: str, weight: float) -> "HyperedgeUpdate":
        """Give a hyperedge another weight."""
        return cls(action=Action.REWEIGHT, id=hyperedge_id, weight=weight)
