"""Sets that flow along a graph: what every node gathers from all that lead to it.

A set is the bits of an integer.  Nodes that reach one another have the same set, so strongly
connected components are found first; each comes after all that leads to it.
"""

from collections.abc import Sequence

from pml.analysis.components import components


def gathered(sources: Sequence[Sequence[int]], own: Sequence[int]) -> list[int]:
    """For every node its ``own`` bits and those of all nodes that lead to it.

    Takes time in the number of nodes and ``sources`` (times the words of a set).
    """
    found = list(own)
    for together in components(range(len(found)), sources.__getitem__):
        total = 0
        for node in together:
            total |= found[node]
            for source in sources[node]:
                total |= found[source]
        for node in together:
            found[node] = total
    return found
