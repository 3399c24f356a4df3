"""The parts of a graph in which everything comes round to everything.

R. Tarjan, "Depth-first search and linear graph algorithms", SIAM J. Comput. 1 (1972), section 4,
doi:10.1137/0201010, on a graph that may be found while it is walked, and without recursion.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from sys import maxsize
from typing import TypeVar

T = TypeVar("T", bound=Hashable)

_CLOSED = maxsize
"""Of a vertex whose component is known: nothing comes round to it any more."""


def components(starts: Iterable[T], successors: Callable[[T], Iterable[T]]) -> Iterator[list[T]]:
    """The strongly connected components that can be reached, each after all it leads to.

    Within one, vertices come in the order in which they were met.  ``successors`` is asked once
    for each vertex.  Takes time in the number of vertices and edges.
    """
    low: dict[T, int] = {}
    """By vertex: the number of the first that it is known to come round to."""
    path: list[T] = []
    """Vertices whose component is not known yet, as they were met."""
    for start in starts:
        pending = [] if start in low else [(start, len(low), iter(successors(start)))]
        while pending:
            vertex, number, left = pending[-1]
            if vertex not in low:
                low[vertex] = number
                path.append(vertex)
            for after in left:
                if after not in low:
                    pending.append((after, len(low), iter(successors(after))))
                    break
                if low[after] < low[vertex]:  # noqa: PLR1730  # a call is a fourth of all
                    low[vertex] = low[after]
            else:
                pending.pop()
                if low[vertex] == number and path[-1] == vertex:  # most are alone
                    low[vertex] = _CLOSED
                    yield [path.pop()]
                elif low[vertex] == number:
                    component = _taken_off(path, vertex)
                    low.update(dict.fromkeys(component, _CLOSED))
                    yield component
                else:
                    outer = pending[-1][0]
                    low[outer] = min(low[outer], low[vertex])


def _taken_off(path: list[T], first: T) -> list[T]:
    """The end of a path from a vertex on, which it loses."""
    found = [path.pop()]
    while found[-1] != first:
        found.append(path.pop())
    found.reverse()
    return found
