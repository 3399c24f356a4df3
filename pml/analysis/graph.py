"""The control-flow graph of a program: points that control passes, some of which are nodes.

Straight-line code between nodes has no points of its own.  What runs side by side branches off
and meets again where it is awaited, so a point may have several predecessors that all have run
(a join) or one of which has run (a merge); happens-before is the same relation for both.
"""

from dataclasses import dataclass, field
from enum import Enum

from pml.analysis.calls import Site
from pml.analysis.syntax import Syntax


class Way(Enum):
    """Why control goes from one point to another."""

    NEXT = "next"
    CONTAINS = "into the body of a loop"
    LEAVES = "out of the body of a loop"
    BACK = "to what has run before"


class Role(Enum):
    """What kind of node a point is; the letter of its id."""

    TASK = "n"
    DECISION = "d"
    FORK = "f"
    JOIN = "j"
    LOOP = "l"


class Form(Enum):
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


@dataclass(slots=True, eq=False)
class Point:
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
    body: tuple[int, int] = (0, 0)
    """Of a loop: the points made while its body was built, as a range."""
    id: str = ""


@dataclass(frozen=True, slots=True)
class Arrow:
    """One step of control; ``outcome`` where it leaves a decision."""

    target: int
    way: Way = Way.NEXT
    outcome: str | None = None


@dataclass(slots=True)
class Graph:
    """Points by number, and the arrows that leave each.

    Invariant: without the arrows of way BACK there is no cycle.
    """

    points: list[Point | None] = field(default_factory=list)
    arrows: list[list[Arrow]] = field(default_factory=list)
    loop_ends: dict[int, int] = field(default_factory=dict)
    """The points that loops end at, and the loops."""

    def add(self, point: Point | None = None) -> int:
        """A new point; its number."""
        self.points.append(point)
        self.arrows.append([])
        return len(self.points) - 1

    def link(
        self, source: int, target: int, way: Way = Way.NEXT, outcome: str | None = None
    ) -> None:
        """An arrow between two points; a second equal one changes nothing."""
        arrow = Arrow(target, way, outcome)
        if arrow not in self.arrows[source][-4:]:
            self.arrows[source].append(arrow)

    def forward_order(self) -> list[int]:
        """All points so that every arrow but the BACK ones leads to a later one."""
        done: set[int] = set()
        order: list[int] = []
        for start in range(len(self.points)):
            if start in done:
                continue
            done.add(start)
            stack = [(start, iter(self.arrows[start]))]
            while stack:
                point, rest = stack[-1]
                for arrow in rest:
                    if arrow.way is not Way.BACK and arrow.target not in done:
                        done.add(arrow.target)
                        stack.append((arrow.target, iter(self.arrows[arrow.target])))
                        break
                else:
                    order.append(point)
                    stack.pop()
        order.reverse()
        return order
