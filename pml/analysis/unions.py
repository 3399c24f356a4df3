"""Sets that flow along a graph: what every node gathers from all that lead to it.

A set is the bits of an integer.  Nodes that reach one another have the same set, so strongly
connected components are found first (R. Tarjan, "Depth-first search and linear graph algorithms",
SIAM J. Comput. 1(2), 1972, here over the sources of a node and without recursion); they come out
in an order in which the sources of each are known.
"""

from collections.abc import Iterator, Sequence


def gathered(sources: Sequence[Sequence[int]], own: Sequence[int]) -> list[int]:
    """For every node its ``own`` bits and those of all nodes that lead to it.

    Takes time in the number of nodes and ``sources`` (times the words of a set).
    """
    return _Gathering(sources, own).result


class _Gathering:
    """``order`` is when a node was found, from 1; ``lowest`` the first that it leads back to."""

    def __init__(self, sources: Sequence[Sequence[int]], own: Sequence[int]) -> None:
        self._sources = sources
        self._order = [0] * len(sources)
        self._lowest = [0] * len(sources)
        self._done = [False] * len(sources)
        self._found = 0
        self._open: list[int] = []
        self._walk: list[tuple[int, Iterator[int]]] = []
        self.result = list(own)
        for root in range(len(sources)):
            if not self._order[root]:
                self._enter(root)
                while self._walk:
                    self._step()

    def _enter(self, node: int) -> None:
        self._found += 1
        self._order[node] = self._lowest[node] = self._found
        self._open.append(node)
        self._walk.append((node, iter(self._sources[node])))

    def _step(self) -> None:
        """Go on with the innermost node: into a source that is new, or back out of it."""
        node, rest = self._walk[-1]
        for source in rest:
            if not self._order[source]:
                self._enter(source)
                return
            if self._done[source]:
                self.result[node] |= self.result[source]
            else:
                self._lowest[node] = min(self._lowest[node], self._order[source])
        self._walk.pop()
        if self._lowest[node] == self._order[node]:
            self._close(node)
        if self._walk:
            before = self._walk[-1][0]
            self._lowest[before] = min(self._lowest[before], self._lowest[node])
            if self._done[node]:
                self.result[before] |= self.result[node]

    def _close(self, root: int) -> None:
        """Give all nodes of a component what any of them has."""
        place = len(self._open) - 1
        while self._open[place] != root:
            place -= 1
        members = self._open[place:]
        del self._open[place:]
        total = 0
        for node in members:
            total |= self.result[node]
        for node in members:
            self._done[node] = True
            self.result[node] = total
