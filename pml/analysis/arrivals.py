"""How control comes to a node: the ways there, and which of them the edges have to tell.

The law of paths (SA-3) is that whenever control comes to a node, one of the edges into it has
been gone: the node before it has run, with that outcome.  Happens-before alone can do without an
edge ``a > b`` where there is a path ``a > x > b``; but where ``x`` need not run between the two,
as a ``return`` leads past it or as ``a`` stands in a function that two places call, nothing would
say how control came to ``b``.

So the ways back from a node are looked at once more, with what remains of them.  Where ways come
together, each must be told by an edge; where everything that leads to a point has run, one of
them is enough: at a join, and behind a function that has run before, which control comes to from
before its call.  On a way that leads past what need not run, by an exception say, it is enough
that all that lies between is in a place where that is to be expected, such as a ``try``.
"""

from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from functools import partial

from pml.analysis.graph import Arrow, Form, Graph, Point, Way
from pml.analysis.reduction import Certainty, Leaving
from pml.analysis.syntax import FUNCTIONS
from pml.domain.structure import EdgeType

_CERTAINTY = {Way.PASSES: Certainty.PASSED, Way.LATER: Certainty.LATER}
_EACH = tuple(Certainty)
_PAST = frozenset({Way.THROWN, Way.SKIPS})
_MAY_BE_LEFT_OUT = FUNCTIONS | {
    "try_statement",
    "assignment_pattern",
    "object_assignment_pattern",
}
_MANY = 1_000_000
"""More ways than a graph has: their number can double at each of its points."""


def may_be_left_out(point: Point) -> bool:
    """Whether control can leave it out without a decision."""
    if point.form is Form.VALUE:  # a tool that is handed on as a function
        return True
    return any(outer.kind in _MAY_BE_LEFT_OUT for outer in point.syntax.ancestors())


class Arrivals:
    """The ways back from the nodes of a graph."""

    def __init__(self, graph: Graph, kept: AbstractSet[int], order: list[int]) -> None:
        self._joins = graph.joins
        self._kept = kept
        self._place = [0] * len(order)
        for index, point in enumerate(order):
            self._place[point] = index
        self._arriving = graph.arriving()
        self._first = _first_by_another_call(graph, kept)

    def ways(self, node: int) -> dict[Leaving, Certainty]:
        """The nodes that can run last before one, as the points between them are no nodes.

        None of what may be the first of all that happens, though another call of its function
        comes later: an edge would say that it cannot be.
        """
        found: dict[Leaving, Certainty] = {}
        if node in self._first:
            return found
        seen: set[int] = set()
        pending: list[list[int]] = [[node], [], []]
        for certainty in _EACH:
            while pending[certainty]:
                point = pending[certainty].pop()
                if point in seen:
                    continue
                seen.add(point)
                for source, arrow in self._arriving[point]:
                    if arrow.leaves in self._kept:
                        continue
                    here = max(certainty, _CERTAINTY.get(arrow.way, Certainty.DIRECT))
                    if source not in self._kept:
                        pending[here].append(source)
                        continue
                    leaving = _leaving(source, arrow)
                    found[leaving] = min(here, found.get(leaving, here))
        return found

    def into(self, point: int) -> Iterator[tuple[int, Arrow]]:
        """The arrows to a point; out of a loop that is a node leads only its own."""
        for source, arrow in self._arriving[point]:
            if arrow.leaves not in self._kept:
                yield source, arrow

    def unsaid(
        self, node: int, told: AbstractSet[Leaving], left_out: Callable[[Leaving], bool]
    ) -> set[Leaving]:
        """The ways without which some arrivals at a node would not be told.

        Args:
            node: where they lead.
            told: the ways that remain in any case.
            left_out: whether all that is drawn between a way and the node can be left out.
        """
        found = _Untold(self, node, told, left_out).fewest(node)
        bodies = {source for source, kind, _outcome in found if kind is EdgeType.CONTAINS}
        return {way for way in found if way[1] is not EdgeType.SEQUENCE or way[0] not in bodies}

    def back(self, node: int) -> list["_Seen"]:
        """How the points before a node, over no other, are seen from there; itself last."""
        seen, pending = {(node, False)}, [(node, False)]
        while pending:
            point, past = pending.pop()
            for source, arrow in self.into(point):
                further = source, past or arrow.way in _PAST
                if source not in self._kept and further not in seen:
                    seen.add(further)
                    pending.append(further)
        return sorted(seen, key=lambda each: self._place[each[0]])

    def groups(self, point: int) -> Iterator[list[tuple[int, Arrow]]]:
        """The arrows to a point: all groups have been gone, and of each of them one arrow.

        The first are those that tell most: the last before the point.
        """
        arrows = sorted(self.into(point), key=lambda each: -self._place[each[0]])
        if point in self._joins:
            yield from ([arrow] for arrow in arrows)
            return
        passing = [each for each in arrows if each[1].way is Way.PASSES]
        direct = [each for each in arrows if each[1].way is not Way.PASSES]
        yield from (group for group in (direct, passing) if group)

    def is_node(self, point: int) -> bool:
        """Whether the structure has the point."""
        return point in self._kept


_Seen = tuple[int, bool]
"""A point, and whether the way from there leads past something that need not run."""


class _Untold:
    """How many of the ways to each point are not told, as it is seen from a node."""

    def __init__(
        self,
        arrivals: Arrivals,
        node: int,
        told: AbstractSet[Leaving],
        left_out: Callable[[Leaving], bool],
    ) -> None:
        self._arrivals = arrivals
        self._told = told
        self._left_out = left_out
        self._numbers: dict[_Seen, int] = {}
        for point, past in arrivals.back(node):
            groups = arrivals.groups(point)
            number = min((self._of_group(group, past=past) for group in groups), default=0)
            self._numbers[point, past] = number

    def _of_group(self, group: list[tuple[int, Arrow]], *, past: bool) -> int:
        return min(sum(self._of_arrow(*each, past=past) for each in group), _MANY)

    def _of_arrow(self, source: int, arrow: Arrow, *, past: bool) -> int:
        past |= arrow.way in _PAST
        if not self._arrivals.is_node(source):
            return self._numbers[source, past]
        leaving = _leaving(source, arrow)
        if leaving in self._told or (source, EdgeType.CONTAINS, None) in self._told:
            return 0
        return int(not (past and self._left_out(leaving)))

    def fewest(self, node: int) -> set[Leaving]:
        """The ways to tell, where one of several is enough on the side of the fewest."""
        found: set[Leaving] = set()
        seen: set[_Seen] = set()
        pending = [(node, False)]
        while pending:
            point, past = pending.pop()
            if (point, past) in seen or not self._numbers[point, past]:
                continue
            seen.add((point, past))
            least = partial(self._of_group, past=past)
            for source, arrow in min(self._arrivals.groups(point), key=least):
                if not self._arrivals.is_node(source):
                    pending.append((source, past or arrow.way in _PAST))
                elif self._of_arrow(source, arrow, past=past):
                    found.add(_leaving(source, arrow))
        return found


def _first_by_another_call(graph: Graph, kept: AbstractSet[int]) -> set[int]:
    """Nodes before which nothing need run, as a call leads there that is not its function's first.

    The first call of the source may stand in a function that nobody waits for.
    """
    found: set[int] = set()
    seen, pending = {(0, False)}, [(0, False)]
    while pending:
        point, again = pending.pop()
        for arrow in graph.arrows[point]:
            further = arrow.target, again or arrow.way is Way.AGAIN
            if arrow.way is Way.BACK or further in seen:
                continue
            seen.add(further)
            if arrow.target not in kept:
                pending.append(further)
            elif further[1]:
                found.add(arrow.target)
    return found


def _leaving(source: int, arrow: Arrow) -> Leaving:
    if arrow.way is Way.CONTAINS:
        return source, EdgeType.CONTAINS, None
    if arrow.outcome is not None:
        return source, EdgeType.CONDITIONAL, arrow.outcome
    return source, EdgeType.SEQUENCE, None
