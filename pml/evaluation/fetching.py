"""What has to be fetched before a tool can be called: its hyperpath from the start (LE-6).

Each tool is entered by one hyperedge from all that it needs, or from the start.  Tools that
need each other (a setting is read before it is set and set after it was read) can be reached by no
B-hyperpath one before the other; they are fetched together: a node of their own stands for
them, entered from all that they need outside, and leads to each of them.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from pml.evaluation.needs import NEEDED, Needs
from pml.pathfinding.drdsp import DRDSP
from pml.pathfinding.records import START, Hyperedge, Hyperpath


class Fetching:
    """Hyperpaths over the dependencies that are needed."""

    def __init__(self, tools: Sequence[str], needs: Needs) -> None:
        needed = {tool: _needed(needs, tool) for tool in tools}
        groups = _together(tools, needed)
        self._members = {_group(members): members for members in groups if len(members) > 1}
        self._graph = DRDSP.from_hyperedges(
            edge for members in groups for edge in _hyperedges(members, needed, needs)
        )

    def firing_order(self, tool: str) -> tuple[str, ...]:
        """The tool and all that has to be fetched with it, each after what it needs."""
        return self._tools(self._path(tool).nodes)

    def nearest_first(self, tool: str) -> tuple[str, ...]:
        """The same, the tool first, then what it needs itself, then what that needs."""
        entering = {edge.target: edge.sources for edge in self._path(tool).hyperedges}
        nodes = [_node(tool)]
        for node in nodes:
            nodes += [one for one in entering.get(node, ()) if one not in nodes]
        return tuple(dict.fromkeys((tool, *self._tools(nodes))))

    def _path(self, tool: str) -> Hyperpath:
        path = self._graph.find_shortest_hyperpath({START}, _node(tool))
        assert path is not None  # what enters a tool is reached before it: cycles are one node
        return path

    def _tools(self, nodes: Iterable[str]) -> tuple[str, ...]:
        """Each once."""
        tools = (
            self._members.get(node, (node.removeprefix(_TOOL),)) for node in nodes if node != START
        )
        return tuple(dict.fromkeys(tool for group in tools for tool in group))


_TOOL = "tool:"
"""Before ids of tools, one of which may be called as the start is."""


def _node(tool: str) -> str:
    return _TOOL + tool


def _group(members: Sequence[str]) -> str:
    return f"together:{'+'.join(members)}"


def _needed(needs: Needs, tool: str) -> tuple[str, ...]:
    chances: Mapping[str, float] = needs.get(tool, {})
    return tuple(provider for provider, chance in chances.items() if chance > NEEDED)


def _together(tools: Sequence[str], needed: Mapping[str, Sequence[str]]) -> list[tuple[str, ...]]:
    """The strongly connected components, most of them of one tool."""
    places = {tool: place for place, tool in enumerate(tools)}
    pairs = [(places[tool], places[one]) for tool in tools for one in needed[tool]]
    rows, columns = np.array(pairs, np.int64).reshape(-1, 2).T
    graph = csr_matrix((np.ones(len(pairs)), (rows, columns)), shape=(len(tools), len(tools)))
    labels = connected_components(graph, connection="strong")[1]
    groups: dict[int, list[str]] = {}
    for tool, label in zip(tools, labels.tolist(), strict=True):
        groups.setdefault(label, []).append(tool)
    return [tuple(members) for members in groups.values()]


def _hyperedges(
    members: Sequence[str], needed: Mapping[str, Sequence[str]], needs: Needs
) -> Iterator[Hyperedge]:
    """One into the tool, or into those that are fetched together and from there into each.

    The weight is how little sure it is that all of this is needed: minus the logarithm.
    """
    outside = dict.fromkeys(one for tool in members for one in needed[tool] if one not in members)
    target = _node(members[0]) if len(members) == 1 else _group(members)
    sure = [needs[tool][one] for tool in members for one in needed[tool]]
    yield Hyperedge(
        id=f"into {target}",
        sources=tuple(map(_node, outside)) or (START,),
        target=target,
        weight=-sum(map(math.log, sure)) + 0.0,
    )
    if len(members) > 1:
        for tool in members:
            node = _node(tool)
            yield Hyperedge(id=f"into {node}", sources=(target,), target=node, weight=0.0)
