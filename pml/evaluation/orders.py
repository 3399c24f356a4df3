"""The orders that a workflow allows: paths through its edges, and what follows each node.

Edges that do not lead to a later node are left out: nodes stand in topological order, so such
an edge is damage, and following it might never end.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from pml.evaluation.dataset import Workflow

MOST_PATHS = 61
"""Of one workflow: a graph of a few dozen nodes can have millions."""
LONGEST_PREFIX = 6
"""Nodes of a graph that a prefix goes back over."""


def is_chain(workflow: Workflow) -> bool:
    """Whether the edges say only that each node follows the one before."""
    steps = range(len(workflow.nodes) - 1)
    return workflow.edges == tuple((step, step + 1) for step in steps)


def mostly_graphs(workflows: Sequence[Workflow]) -> bool:
    """Whether most workflows have edges that are no chain."""
    graphs = sum(bool(each.edges) and not is_chain(each) for each in workflows)
    return 2 * graphs > len(workflows)


def ordered(workflows: Sequence[Workflow]) -> bool:
    """Whether the order of nodes says anything: there are edges, or it varies.

    Without edges, and with the same tools always in the same order, nodes are sets: what a list
    of their members begins with says nothing of what is called first.
    """
    if any(each.edges for each in workflows):
        return True
    orders: dict[frozenset[str], tuple[str, ...]] = {}
    return any(
        orders.setdefault(frozenset(each.nodes), each.nodes) != each.nodes for each in workflows
    )


def paths(workflow: Workflow) -> tuple[tuple[str, ...], ...]:
    """Tools along the paths from nodes without predecessor to nodes without successor.

    Depth first, at most `MOST_PATHS`; nodes without edges are on none.
    """
    after = _successors(workflow)
    entered = {end for ends in after.values() for end in ends}
    roots = [node for node in sorted(after) if node not in entered]
    found = (path for root in roots for path in _walk(root, after))
    return tuple(tuple(workflow.nodes[n] for n in path) for path in islice(found, MOST_PATHS))


def successors(workflow: Workflow) -> Iterator[tuple[tuple[str, ...], frozenset[str]]]:
    """Of each node that has any: the tools on a way to it, itself included, and what follows.

    The way goes back along the first edge into each node, over at most `LONGEST_PREFIX` nodes.
    """
    after = _successors(workflow)
    before: dict[int, int] = {}
    for start, end in _forward(workflow):
        before.setdefault(end, start)
    for node, ends in after.items():
        way = [node]
        while way[0] in before and len(way) < LONGEST_PREFIX:
            way.insert(0, before[way[0]])
        tools = workflow.nodes
        yield tuple(tools[n] for n in way), frozenset(tools[n] for n in ends)


def _walk(root: int, after: Mapping[int, Sequence[int]]) -> Iterator[tuple[int, ...]]:
    stack: list[tuple[int, ...]] = [(root,)]
    while stack:
        path = stack.pop()
        ends = after.get(path[-1], ())
        if ends:
            stack.extend((*path, end) for end in reversed(ends))
        else:
            yield path


def _successors(workflow: Workflow) -> dict[int, list[int]]:
    after: dict[int, list[int]] = defaultdict(list)
    for start, end in _forward(workflow):
        after[start].append(end)
    return dict(after)


def _forward(workflow: Workflow) -> Iterator[tuple[int, int]]:
    return ((start, end) for start, end in workflow.edges if start < end)
