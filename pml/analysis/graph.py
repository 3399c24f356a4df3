"""The control-flow graph of a program: points that control passes, some of which are nodes.

Straight-line code between nodes has no points of its own.  What runs side by side branches off
and meets again where it is awaited, so a point may have several predecessors that all have run
(a join) or one of which has run (a merge); happens-before is the same relation for both.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from msgspec import Struct

from pml.analysis.calls import Site
from pml.analysis.kinds import Identified
from pml.analysis.syntax import Syntax


class Way(Identified):
    """Why control goes from one point to another."""

    NEXT = "next"
    CONTAINS = "into the body of a loop"
    THROWN = "to where an exception is caught"
    SKIPS = "past what may run here, as the code at hand does not say"
    AGAIN = "into a function that other ways lead to first"
    PASSES = "past a function that has run before"
    LATER = "to a function that runs later for the first time on this way"
    BACK = "to what has run before"


class Role(Identified):
    """What kind of node a point is; the letter of its id."""

    TASK = "n"
    DECISION = "d"
    FORK = "f"
    JOIN = "j"
    LOOP = "l"


class Form(Identified):
    """The syntax that makes a node; decides what is spliced in."""

    CALL = "call"
    VALUE = "value"
    IF = "if"
    TERNARY = "ternary"
    LOGICAL = "logical"
    NULLISH = "nullish"
    ASSIGNMENT = "assignment"
    OPTIONAL_MEMBER = "optional member"
    OPTIONAL_CALL = "optional call"
    SWITCH = "switch"
    TRY = "try"
    COMBINATOR = "combinator"
    CALLBACK = "callback"
    FOR = "for"
    FOR_IN = "for in"
    WHILE = "while"


class Point(Struct, eq=False):
    """A node of the structure in the making.

    ``at`` orders ids (start offset, then where the node takes effect), ``order`` the nodes;
    ``guards`` says that a call lies in one of its branches, so that it is kept in any case.
    """

    role: Role
    form: Form
    syntax: Syntax
    label: str
    at: tuple[int, int]
    order: tuple[int, int]
    site: Site | None = None
    guards: bool = False
    id: str = ""


class Arrow(NamedTuple):
    """One step of control; ``outcome`` where it leaves a decision.

    ``leaves`` is the outermost loop whose body the step leaves; -1 if none.
    """

    target: int
    way: Way = Way.NEXT
    outcome: str | None = None
    leaves: int = -1


class Repeat(NamedTuple):
    """A call of a function that the source calls before.

    It leads from ``before`` to the ``entry``, and on at ``end``; ``certain`` if every way to it
    leads through an earlier call, as long as the functions ``within`` that it lies in, by their
    entries, are called once.
    """

    before: int
    entry: int
    end: int
    certain: bool
    within: frozenset[int] = frozenset()


@dataclass(slots=True)
class Graph:
    """Points by number, and the arrows that leave each.

    Without the arrows of way BACK there is no cycle.
    """

    points: list[Point | None] = field(default_factory=list)
    arrows: list[list[Arrow]] = field(default_factory=list)
    joins: set[int] = field(default_factory=set)
    """Points before which everything that leads there has run, not only one of it."""
    inside: list[int] = field(default_factory=list)
    """Of every point the loop in whose body it was made, or -1."""
    repeats: list[Repeat] = field(default_factory=list)
    """Calls of functions that were called before."""
    loop: int = -1
    """The loop in whose body new points are."""
    order: list[int] = field(default_factory=list)

    def add(self, point: Point | None = None) -> int:
        """A new point; its number."""
        self.points.append(point)
        self.arrows.append([])
        self.inside.append(self.loop)
        return len(self.points) - 1

    def link(
        self,
        source: int,
        target: int,
        way: Way = Way.NEXT,
        outcome: str | None = None,
        *,
        leaves: int = -1,
    ) -> None:
        """An arrow between two points; a second equal one changes nothing."""
        arrow = Arrow(target, way, outcome, leaves)
        if arrow not in self.arrows[source][-4:]:
            self.arrows[source].append(arrow)

    def forward_order(self) -> list[int]:
        """All points so that every arrow but the BACK ones leads to a later one."""
        if len(self.order) != len(self.points):
            self.order = depth_first(self)
        return self.order

    def arriving(self) -> list[list[tuple[int, Arrow]]]:
        """For every point the arrows that lead to it, with where they start."""
        found: list[list[tuple[int, Arrow]]] = [[] for _ in self.points]
        for source, arrows in enumerate(self.arrows):
            for arrow in arrows:
                if arrow.way is not Way.BACK:
                    found[arrow.target].append((source, arrow))
        return found


_UNSEEN, _OPEN, _DONE, _REACHED = range(4)


def depth_first(graph: Graph) -> list[int]:
    """The points in topological order; what would close a cycle becomes an arrow of way BACK.

    What the first point does not lead to never runs, and leads to nothing that does.
    """
    state = bytearray(len(graph.points))
    order: list[int] = []
    for start in range(len(graph.points)):
        if state[start] == _UNSEEN:
            _search(graph, start, state, order)
        if start == 0:
            state = state.replace(bytes([_DONE]), bytes([_REACHED]))
    order.reverse()
    return order


def _search(graph: Graph, start: int, state: bytearray, order: list[int]) -> None:
    """Add what is reached from ``start`` to the order, last first."""
    state[start] = _OPEN
    stack = [(start, iter(range(len(graph.arrows[start]))))]
    while stack:
        point, places = stack[-1]
        for place in places:
            arrow = graph.arrows[point][place]
            if arrow.way is Way.BACK or state[arrow.target] == _DONE:
                continue
            if state[arrow.target] == _UNSEEN:
                state[arrow.target] = _OPEN
                stack.append((arrow.target, iter(range(len(graph.arrows[arrow.target])))))
                break
            graph.arrows[point][place] = arrow._replace(way=Way.BACK)
        else:
            state[point] = _DONE
            order.append(point)
            stack.pop()
