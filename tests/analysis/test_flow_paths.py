"""Control edges against all paths of small programs, found without any graph (SA-2, SA-3)."""

from itertools import pairwise

from hypothesis import HealthCheck, assume, given, settings

from pml.domain.program import Severity
from pml.domain.structure import EdgeType, StaticStructure
from tests.analysis.flow_paths import Event, Path, TooManyPathsError, paths
from tests.analysis.flow_programs import PROGRAMS, WITH_HELPERS, WITH_ITERABLE, Block, Text, render
from tests.analysis.programs import program

Leaving = tuple[str, str]
"""A node, and the outcome, ``in`` for the body of a loop, or nothing."""
Edge = tuple[Leaving, str]
Drawn = set[Edge]


def _valid(found: Block) -> Text:
    """The source; programs that JavaScript refuses, or with too many paths, are not tried."""
    text = render(found)
    assume(not _misplaced(found, loops=0, breaks=0, labels=()))
    return text


def _misplaced(block: Block, *, loops: int, breaks: int, labels: tuple[str, ...]) -> bool:
    """Whether there is a jump to nowhere, or a label within itself."""
    for stmt in block:
        if stmt.kind == "break" and (
            stmt.label not in "".join(labels) if stmt.label else not breaks
        ):
            return True
        if stmt.kind == "continue" and ("oo" not in labels if stmt.label else not loops):
            return True
        if stmt.kind == "define":
            if _misplaced(stmt.parts[0], loops=0, breaks=0, labels=()):
                return True
            continue
        inner = (*labels, *{"label": ["o"], "labelled loop": ["oo"]}.get(stmt.kind, []))
        if len(inner) > 1:
            return True
        is_loop = stmt.kind in {"while", "forof", "do", "whilecall", "labelled loop"}
        further = is_loop or stmt.kind in {"switch", "default"}
        for part in stmt.parts:
            if _misplaced(part, loops=loops + is_loop, breaks=breaks + further, labels=inner):
                return True
    return False


def _names(text: Text, structure: StaticStructure) -> dict[int, str]:
    """The ids that the statements of a program have in its structure."""
    ids = {(i[0], place.start, place.end): i for i, place in structure.locations.items()}
    return {n: ids[place] for n, place in enumerate(text.places) if place in ids}


def _followed(first: Event, second: Event, names: dict[int, str]) -> tuple[Leaving, str] | None:
    """The edge of two events in a row, by the conventions on loops; None for the way back."""
    one = [step for step in first.around if step[0] in names]
    two = [step for step in second.around if step[0] in names]
    target = names[second.node]
    for inside, other in zip(one, [*two, None], strict=False):
        if other is not None and other[:2] == inside[:2]:
            if other[2] != inside[2]:
                return None
            continue
        return (names[inside[0]], ""), target
    entered = len(two) > len(one) and two[len(one)][0] == first.node
    return (names[first.node], first.outcome or ("in" if entered else "")), target


def _expected(found: list[Path], names: dict[int, str]) -> dict[Edge, bool]:
    """The edges before reduction; whether only exceptions lead along them."""
    edges: dict[Edge, bool] = {}
    for path in found:
        events = [event for event in path if event.node in names]
        for first, second in pairwise(events):
            edge = _followed(first, second, names)
            if edge is not None:
                edges[edge] = second.thrown and edges.get(edge, True)
    return edges


def _reduced(edges: dict[Edge, bool], left_out: set[str]) -> Drawn:
    """Without those that another path, which begins in the same way, replaces.

    Where the program was seen to go along one, that is said only by a path over nothing else than
    what an exception can leave out.
    """
    return {
        edge
        for edge, only_thrown in edges.items()
        if not _replaced(set(edges), edge, left_out if only_thrown else set())
    }


def _replaced(edges: Drawn, edge: Edge, over: set[str]) -> bool:
    """Whether a path over some nodes begins in the same way as an edge and ends where it does."""
    start, goal = edge
    seen: set[str] = set()
    pending = [then for leaving, then in edges if leaving == start and then in over]
    while pending:
        node = pending.pop()
        if node not in seen:
            seen.add(node)
            after = {then for (source, _how), then in edges if source == node}
            if goal in after:
                return True
            pending += after & over
    return False


def _left_out(text: Text, names: dict[int, str]) -> set[str]:
    """The nodes that stand within a helper or a ``try``; it does not stand within itself."""
    spans = [(start, end) for _letter, start, end in text.places]
    around = [span for span in spans if text.text.startswith("try ", span[0])] + text.helpers
    return {
        name
        for n, name in names.items()
        if any(start < spans[n][0] and spans[n][1] < end for start, end in around)
    }


def _untold(path: Path, drawn: Drawn, left_out: set[str], names: dict[int, str]) -> list[str]:
    """The nodes to which a path comes without having gone along an edge to them.

    Its first node counts in no case: no edge says that a program can begin with a node.
    """
    gone: set[Leaving] = set()
    found: list[str] = []

    def is_open(edge: Edge) -> bool:
        source = edge[0][0]
        if edge[0] in gone:
            return True
        skipped = source in left_out and all(node != source for node, _how in gone)
        return skipped and has_come(source)

    def has_come(node: str) -> bool:
        into = [edge for edge in drawn if edge[1] == node]
        return not into or any(is_open(edge) for edge in into)

    for event in path:
        if event.node in names:
            name = names[event.node]
            found += [name] if gone and not has_come(name) else []
            gone |= {(name, ""), (name, "in"), (name, event.outcome or "")}
    return found


def _drawn(structure: StaticStructure) -> Drawn:
    return {
        ((edge.source, "in" if edge.type is EdgeType.CONTAINS else edge.outcome or ""), edge.target)
        for edge in structure.edges
        if edge.type is not EdgeType.PROVIDES
    }


LOOKED_AT = settings(
    max_examples=400, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow]
)


class Followed:
    """A program, its structure's edges, and all its paths."""

    def __init__(self, found: Block) -> None:
        self.text = _valid(found)
        analysed = program(self.text.text)
        assert not [d for d in analysed.diagnostics if d.severity is Severity.ERROR]
        try:
            self.paths = paths(found, self.text)
        except TooManyPathsError:
            assume(False)
        self.names = _names(self.text, analysed.structure)
        self.left_out = _left_out(self.text, self.names)
        events = [event for path in self.paths for event in path if event.node in self.names]
        ran = {self.names[event.node] for event in events}
        drawn = _drawn(analysed.structure)
        self.drawn = {edge for edge in drawn if edge[0][0] in ran or edge[1] in ran}


@LOOKED_AT
@given(PROGRAMS)
def test_edges_join_exactly_what_can_follow_each_other(found: Block) -> None:
    """SA-3: no edge is missing and none is invented, up to transitive reduction."""
    it = Followed(found)
    assert it.drawn == _reduced(_expected(it.paths, it.names), it.left_out), it.text.text


@LOOKED_AT
@given(PROGRAMS | WITH_HELPERS | WITH_ITERABLE)
def test_every_path_goes_along_the_edges(found: Block) -> None:
    """SA-3: wherever control comes, it has gone along an edge into that, if there is one."""
    it = Followed(found)
    for path in it.paths:
        assert _untold(path, it.drawn, it.left_out, it.names) == [], it.text.text
