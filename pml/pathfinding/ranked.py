"""The next best hyperpaths, one after the other, each computed when it is asked for.

The paths other than the best one fall into classes: for each of its hyperedges, taken from the
target backwards, those that keep the ones taken before and do without this one.  Each class is
the set of all paths of a smaller graph (nodes whose hyperedge is kept have no other, the one that
is done without is gone), so its best path is a shortest hyperpath again, and the class without
that path falls apart in the same way.

Reference:
    Nielsen, Andersen, Pretolani. Finding the K shortest hyperpaths. Computers & Operations
    Research 32(6), 2005, section 3.  They compute the costs of all classes of an acyclic graph
    together; here each class is a search of its own, which cyclic graphs need.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A path, by numbers."""

    cost: float
    depth: int
    edges: tuple[int, ...]
    """In firing order."""
    heads: tuple[int, ...]
    """What they enter; each once."""


Solve = Callable[[Mapping[int, int], frozenset[int]], Found | None]
"""The shortest path where some nodes may be entered by one hyperedge only, and some are banned."""


@dataclass(order=True, slots=True)
class _Class:
    cost: float
    depth: int
    turn: int
    """Classes of equal value come in the order in which they were made."""
    best: Found = field(compare=False)
    forced: Mapping[int, int] = field(compare=False)
    banned: frozenset[int] = field(compare=False)


def ranked(solve: Solve) -> Iterator[Found]:
    """All paths in order of cost, then of depth.

    Before the path after one of n hyperedges there are at most n searches.
    """
    first = solve({}, frozenset())
    if first is None:
        return
    classes = [_Class(first.cost, first.depth, 0, first, {}, frozenset())]
    turn = 0
    while classes:
        least = heappop(classes)
        yield least.best
        forced = dict(least.forced)
        for edge, head in zip(reversed(least.best.edges), reversed(least.best.heads), strict=True):
            if head in least.forced:
                continue
            banned = least.banned | {edge}
            found = solve(forced, banned)
            if found is not None:
                turn += 1
                each = _Class(found.cost, found.depth, turn, found, dict(forced), banned)
                heappush(classes, each)
            forced[head] = edge
