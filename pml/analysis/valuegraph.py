"""The graph of `pml.analysis.taint`: what values hold, and what is put into them later."""

from collections.abc import Iterable

from pml.analysis.unions import gathered

NOTHING = 0
"""The node of what holds no result of a call; nothing flows there."""


class ValueGraph:
    """Nodes are numbers; what a node holds on its own is a set of bits.

    Beside each node there is one for what may have been put into it.  Invariant: that leads to
    the node itself, and to what is put into all that the node is made of.
    """

    def __init__(self) -> None:
        self._sources: list[list[int]] = [[]]
        self._put: list[list[int]] = [[]]
        self._stored: list[list[int]] = [[]]
        self.own: list[int] = [0]

    def new(self) -> int:
        """A node."""
        self._sources.append([])
        self._put.append([])
        self._stored.append([])
        self.own.append(0)
        return len(self.own) - 1

    def flow(self, source: int, target: int) -> None:
        """What ``source`` holds, ``target`` holds; what is put into that, is put into this."""
        if NOTHING not in {source, target} and source != target:
            self._sources[target].append(source)
            self._put[source].append(target)

    def made(self, source: int, target: int) -> None:
        """What ``source`` holds is in what is made of it, which is no part of it."""
        if source != NOTHING:
            self._sources[target].append(source)

    def store(self, value: int, holder: int) -> None:
        """The value is put into the holder, and is what is later found there."""
        if NOTHING not in {value, holder}:
            self._stored[holder].append(value)
            self._put[value].append(holder)

    def join(self, nodes: Iterable[int]) -> int:
        """A node that holds what these hold."""
        several = set(nodes) - {NOTHING}
        if len(several) <= 1:
            return several.pop() if several else NOTHING
        joined = self.new()
        for node in several:
            self.flow(node, joined)
        return joined

    def solved(self) -> list[int]:
        """What every node holds in the end."""
        count = len(self.own)
        held = [[*sources, count + n] for n, sources in enumerate(self._sources)]
        put = [
            [*stored, *(count + n for n in targets)]
            for stored, targets in zip(self._stored, self._put, strict=True)
        ]
        return gathered([*held, *put], [*self.own, *([0] * count)])[:count]
