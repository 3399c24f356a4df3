"""The parts of a graph in which everything comes round to everything.

R. Tarjan, "Depth-first search and linear graph algorithms", SIAM J. Comput. 1 (1972), section 4,
doi:10.1137/0201010, on a graph that is found while it is walked, and without recursion.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def components(start: T, successors: Callable[[T], Iterable[T]]) -> Iterator[list[T]]:
    """The strongly connected components that can be reached, each after all it leads to.

    Within one, vertices come in the order in which they were met.  ``successors`` is asked once
    for each.
    """
    low = {start: 0}
    """By vertex: the first one that it is known to come round to, by its number."""
    path = [start]
    """Vertices whose component is not known yet."""
    closed: set[T] = set()
    pending = [(start, 0, iter(successors(start)))]
    while pending:
        vertex, number, left = pending[-1]
        after = next(left, None)
        if after is None:
            pending.pop()
            if pending:
                outer = pending[-1][0]
                low[outer] = min(low[outer], low[vertex])
            if low[vertex] == number:
                component = _taken_off(path, vertex)
                closed.update(component)
                yield component
        elif after not in low:
            low[after] = number = len(low)
            path.append(after)
            pending.append((after, number, iter(successors(after))))
        elif after not in closed:
            low[vertex] = min(low[vertex], low[after])


def _taken_off(path: list[T], first: T) -> list[T]:
    """The end of a path from a vertex on, which it loses."""
    found = [path.pop()]
    while found[-1] != first:
        found.append(path.pop())
    found.reverse()
    return found
