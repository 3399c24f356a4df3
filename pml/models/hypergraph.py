"""The hypergraph that SHGAT passes messages over: tools, capabilities, capabilities of those.

A node is a tool (level 0) or a capability.  A capability's level is one more than that of the
highest capability in it, and 1 if there is none; what is in it may be of any lower level.  The
incidence is a list of pairs (member, container), not a dense matrix, because a capability uses a
handful of thousands of tools.

Numbers of nodes run through the levels from the lowest, so a level is a range.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import accumulate

import numpy as np
from jaxtyping import Int64

from pml.features.members import Members


@dataclass(frozen=True, kw_only=True, eq=False)
class Hypergraph:
    """Ids by level, and who is in whom.

    Invariant: ids are unique within tools and within capabilities; a pair's container is of a
    higher level than its member; pairs are unique, in the order of container, then member.
    """

    levels: tuple[tuple[str, ...], ...]
    """Ids of the tools, then of the capabilities of level 1, of level 2...; at least the tools."""
    members: Int64[np.ndarray, " pairs"]
    """Numbers of nodes."""
    containers: Int64[np.ndarray, " pairs"]

    @property
    def tools(self) -> tuple[str, ...]:
        """Level 0."""
        return self.levels[0]

    @cached_property
    def capabilities(self) -> tuple[str, ...]:
        """All higher levels, in the order of their numbers; the first has number ``len(tools)``."""
        return tuple(key for level in self.levels[1:] for key in level)

    @property
    def nodes(self) -> int:
        """How many."""
        return sum(map(len, self.levels))

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Number of the first node of each level, then the number of nodes."""
        return tuple(accumulate(map(len, self.levels), initial=0))

    @cached_property
    def identity(self) -> str:
        """SHA-256 in hex of ids and pairs: parameters belong to a graph (LE-7)."""
        digest = sha256(repr(self.levels).encode())
        for pairs in (self.members, self.containers):
            digest.update(np.ascontiguousarray(pairs, dtype="<i8").tobytes())
        return digest.hexdigest()


def hypergraph(tools: Iterable[str], capabilities: Iterable[Members] = ()) -> Hypergraph:
    """Of these tools and capabilities, each level in the order given.

    Members that are not known are passed over, as their names may mean nothing yet.

    Raises:
        ValueError: an id comes twice, or a capability contains itself.
    """
    known_tools = _numbered(tools, "tool")
    known = {one.id: one for one in capabilities_once(capabilities)}
    level = _levels(known)
    by_level: list[list[str]] = [[] for _ in range(max(level.values(), default=0))]
    for key in known:
        by_level[level[key] - 1].append(key)
    first = len(known_tools)
    number = {key: first + at for at, key in enumerate(key for one in by_level for key in one)}
    pairs = [
        (number[one.id], member)
        for one in known.values()
        for member in {
            *(known_tools[tool] for tool in one.tools if tool in known_tools),
            *(number[key] for key in one.capabilities if key in number),
        }
    ]
    sorted_pairs = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
    return Hypergraph(
        levels=(tuple(known_tools), *map(tuple, by_level)),
        members=sorted_pairs[:, 1].copy(),
        containers=sorted_pairs[:, 0].copy(),
    )


def capabilities_once(capabilities: Iterable[Members]) -> list[Members]:
    """Pass them on, each once.

    Raises:
        ValueError: an id comes twice.
    """
    given = list(capabilities)
    _numbered((one.id for one in given), "capability")
    return given


def _numbered(ids: Iterable[str], kind: str) -> dict[str, int]:
    known: dict[str, int] = {}
    for key in ids:
        if key in known:
            msg = f"{kind} {key!r} comes twice"
            raise ValueError(msg)
        known[key] = len(known)
    return known


def _levels(known: Mapping[str, Members]) -> dict[str, int]:
    """Level of each capability; without recursion, as nesting may be deep."""
    level: dict[str, int] = {}
    for first in known:
        stack, open_ids = [first], {first}
        while stack:
            inner = [key for key in known[stack[-1]].capabilities if key in known]
            waiting = next((key for key in inner if key not in level), None)
            if waiting is None:
                done = stack.pop()
                open_ids.discard(done)
                level[done] = 1 + max((level[key] for key in inner), default=0)
            elif waiting in open_ids:
                msg = f"capability {waiting!r} contains itself"
                raise ValueError(msg)
            else:
                stack.append(waiting)
                open_ids.add(waiting)
    return level
