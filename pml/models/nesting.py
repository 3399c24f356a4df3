"""Who is in whom, as it changes: nodes that know their members, containers and level.

`pml.models.hypergraph` is the same as arrays, made at once.  Here one node comes, goes or changes
its members, and the question is whom that concerns: messages go up to containers, then down to
members, so it is all that is below anything above the node.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class Node:
    """A tool or a capability.

    Invariant: it is among the containers of each of its members and the other way round; its level
    is one above its highest member, at least 1 for a capability, and 0 for a tool.
    """

    id: str
    level: int
    row: int
    """In the matrices of its kind."""
    members: dict["Node", None] = field(default_factory=dict)
    """In the order in which they were named; a tool has none."""
    containers: dict["Node", None] = field(default_factory=dict)


def link(node: Node, members: Iterable[Node]) -> None:
    """Give a capability these members in place of those it had; levels follow.

    Raises:
        ValueError: it would contain itself; nothing is changed.
    """
    wanted = dict.fromkeys(members)
    over = above([node])
    if not wanted.keys().isdisjoint(over):
        msg = f"capability {node.id!r} contains itself"
        raise ValueError(msg)
    for one in node.members:
        del one.containers[node]
    for one in wanted:
        one.containers[node] = None
    node.members = wanted
    _relevel(over)


def unlink(node: Node) -> None:
    """Take a node out of its containers, and its members out of it; levels follow."""
    over = above(node.containers)
    for one in node.members:
        del one.containers[node]
    for one in node.containers:
        del one.members[node]
    node.members, node.containers = {}, {}
    _relevel(over)


def above(nodes: Iterable[Node]) -> list[Node]:
    """These and all that contain them at any depth, the lowest level first."""
    return sorted(_closure(nodes, lambda node: node.containers), key=lambda node: node.level)


def below(nodes: Iterable[Node]) -> list[Node]:
    """These and all that is in them at any depth, the highest level first."""
    return sorted(_closure(nodes, lambda node: node.members), key=lambda node: -node.level)


def _closure(
    nodes: Iterable[Node], neighbours: Callable[[Node], Iterable[Node]]
) -> dict[Node, None]:
    found = dict.fromkeys(nodes)
    waiting = list(found)
    while waiting:
        for one in neighbours(waiting.pop()):
            if one not in found:
                found[one] = None
                waiting.append(one)
    return found


def _relevel(nodes: Iterable[Node]) -> None:
    """Levels anew, in the order given: before, it was one in which members come first.

    It still is, as what changed is only who is below the lowest of them.
    """
    for node in nodes:
        node.level = 1 + max((one.level for one in node.members), default=0)
