"""The graph of `pml.analysis.taint`: what values hold, and what is put into them later."""

from collections.abc import Iterable

from pml.analysis.unions import gathered

NOTHING = 0
"""The node of what holds no result of a call; nothing flows there."""


class ValueGraph:
    """Nodes are numbers; what a node holds on its own is a set of bits.

    Beside each node into which anything may be put there is one for what that is.  Invariant: it
    leads to the node itself, and to what is put into all that the node is made of.
    """

    def __init__(self) -> None:
        self._parts: list[list[int]] = [[]]
        """By node: what it holds the value of, or parts of it."""
        self._made: dict[int, list[int]] = {}
        """By node: what it is made of, where that is no part of it."""
        self._stored: dict[int, list[int]] = {}
        """By node: what is put into it."""
        self.own: list[int] = [0]

    def new(self) -> int:
        """A node."""
        self._parts.append([])
        self.own.append(0)
        return len(self.own) - 1

    def flow(self, source: int, target: int) -> None:
        """What ``source`` holds, ``target`` holds; what is put into that, is put into this."""
        if source != target and NOTHING not in (source, target):
            self._parts[target].append(source)

    def made(self, source: int, target: int) -> None:
        """What ``source`` holds is in what is made of it, which is no part of it."""
        if NOTHING not in (source, target):
            self._made.setdefault(target, []).append(source)

    def store(self, value: int, holder: int) -> None:
        """The value is put into the holder, and is what is later found there."""
        if NOTHING not in (value, holder):
            self._stored.setdefault(holder, []).append(value)

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
        put = self._put_into()
        sources = [[*parts, *self._made.get(node, ())] for node, parts in enumerate(self._parts)]
        sources += [list(self._stored.get(node, ())) for node in put]
        for node, number in put.items():
            sources[node].append(number)
            for part in (*self._parts[node], *self._stored.get(node, ())):
                sources[put[part]].append(number)
        return gathered(sources, [*self.own, *([0] * len(put))])[: len(self.own)]

    def _put_into(self) -> dict[int, int]:
        """The nodes into which anything may be put, each with the number of the one beside it.

        What is put into a value is put into its parts too, and into what is stored in it.
        """
        pending = list(self._stored)
        found = dict.fromkeys(pending)
        while pending:
            node = pending.pop()
            for part in (*self._parts[node], *self._stored.get(node, ())):
                if part not in found:
                    found[part] = None
                    pending.append(part)
        return {node: number for number, node in enumerate(found, len(self.own))}
