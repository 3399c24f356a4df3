"""Ways that no capability goes yet: what exploring tries (XP-1, story 12.8).

Paths to the likely targets are taken in order of cost, all targets together.  A path is known if
it calls exactly the tools of some capability; running that would show nothing new.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from heapq import heappop, heappush

from pml.pathfinding.records import START, Hyperedge, HyperedgeKind, Hyperpath

TRIES = 32
"""Paths looked at for each that is wanted.  The next best path costs a search per hyperedge of the
last one, and a graph may hold any number of known or deep ones."""


def hypothetical(
    ways: Mapping[str, Iterator[Hyperpath]],
    known: Callable[[frozenset[str]], bool],
    *,
    max_paths: int,
    max_depth: int,
) -> tuple[Hyperpath, ...]:
    """The cheapest unknown paths of at most ``max_depth``; of equals those to the first target.

    Looks at no more than `TRIES` paths for each one wanted, and at one for each target.

    Args:
        ways: to each target, by cost.
        known: whether some capability calls exactly these tools.
        max_paths: how many are wanted.
        max_depth: of a path.

    Raises:
        ValueError: a limit is negative.
    """
    if max_paths < 0 or max_depth < 0:
        msg = f"limits are at least 0, not {max_paths} paths and depth {max_depth}"
        raise ValueError(msg)
    found: list[Hyperpath] = []
    for path in _bounded(_merged(list(ways.values())), TRIES * max_paths):
        called = tools_called(path.hyperedges)
        if path.depth <= max_depth and called and not known(called):
            found.append(path)
        if len(found) == max_paths:
            break
    return tuple(found)


def tools_called(hyperedges: Iterable[Hyperedge]) -> frozenset[str]:
    """What is called on a path: what it reaches, capabilities taken for their members."""
    return frozenset(edge.target for edge in hyperedges if edge.kind is not HyperedgeKind.MEMBERS)


def tool_sets(members: Collection[Hyperedge]) -> frozenset[frozenset[str]]:
    """The tools of each capability, those of nested ones included.

    Args:
        members: the hyperedges of that kind.
    """
    sources: dict[str, set[str]] = {}
    for edge in members:
        sources.setdefault(edge.target, set()).update(edge.sources)
    return frozenset(_tools(edge.sources, sources) for edge in members)


def _tools(nodes: Collection[str], sources: Mapping[str, set[str]]) -> frozenset[str]:
    seen, waiting = set(nodes), list(nodes)
    while waiting:
        inner = sources.get(waiting.pop(), set()) - seen
        seen |= inner
        waiting += inner
    return frozenset(seen - sources.keys() - {START})


def _merged(ways: list[Iterator[Hyperpath]]) -> Iterator[Hyperpath]:
    heads: list[tuple[float, int, int, Hyperpath]] = []

    def push(turn: int) -> None:
        path = next(ways[turn], None)
        if path is not None:
            heappush(heads, (path.cost, path.depth, turn, path))

    for turn in range(len(ways)):
        push(turn)
    while heads:
        _, _, turn, path = heappop(heads)
        yield path
        push(turn)


def _bounded(paths: Iterator[Hyperpath], most: int) -> Iterator[Hyperpath]:
    return (path for _, path in zip(range(most), paths, strict=False))
