"""Control edges against all paths of small programs, found without any graph (SA-2, SA-3)."""

from itertools import pairwise

from hypothesis import HealthCheck, assume, given, settings

from pml.domain.program import Severity
from pml.domain.structure import CATCH, Decision, EdgeType, StaticStructure
from tests.analysis.flow_programs import (
    PROGRAMS,
    Block,
    Event,
    Path,
    Text,
    TooManyPathsError,
    paths,
    render,
)
from tests.analysis.programs import program

Leaving = tuple[str, str]
"""A node, and the outcome, ``in`` for the body of a loop, or nothing."""
Drawn = set[tuple[Leaving, str]]


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


def _expected(found: list[Path], names: dict[int, str]) -> Drawn:
    """The edges before reduction."""
    edges: Drawn = set()
    for path in found:
        events = [event for event in path if event.node in names]
        for first, second in pairwise(events):
            edge = _followed(first, second, names)
            if edge is not None:
                edges.add(edge)
    return edges


def _reduced(edges: Drawn, catches: set[str]) -> Drawn:
    """Without those that another path, which begins in the same way, replaces.

    Where all that remain at a node agree on a condition, the last of those on which it does not
    hold stay.
    """
    kept: Drawn = set()
    for target in {target for _leaving, target in edges}:
        ways = {leaving for leaving, then in edges if then == target}
        lost = {way for way in ways if _replaced(edges, way, target, ways)}
        kept |= {(way, target) for way in ways - lost}
        agreed = _decided(edges, target, ways - lost) - _decided(edges, target, ways)
        if agreed and target not in catches:
            other = {way for way in lost if not agreed <= _decided(edges, target, {way})}
            last = {way for way in other if not _replaced(edges, way, target, other)}
            assert not agreed & _decided(edges, target, ways - lost | last)
            kept |= {(way, target) for way in last}
    return kept


def _replaced(edges: Drawn, start: Leaving, goal: str, ends: set[Leaving]) -> bool:
    """Whether a path that begins in a way leads to a node out of one of some others."""
    if start[1] == "" and (start[0], "in") in ends:
        return True
    seen: set[str] = set()
    pending = [then for leaving, then in edges if leaving == start and then != goal]
    while pending:
        node = pending.pop()
        if any(node == end for end, _how in ends):
            return True
        if node not in seen:
            seen.add(node)
            pending += [t for (source, _how), t in edges if source == node and t != goal]
    return False


def _decided(edges: Drawn, target: str, ways: set[Leaving]) -> set[Leaving]:
    """The outcomes without which none of these ways to a node can be gone."""
    outcomes = {leaving for leaving, _then in edges if leaving[1] not in {"", "in"}}
    return {each for each in outcomes if not _open(edges, target, ways, each)}


def _open(edges: Drawn, target: str, ways: set[Leaving], closed: Leaving) -> bool:
    """Whether one of the ways to a node can be gone without an outcome."""
    targets = {then for _leaving, then in edges}
    reached = {source for (source, _how), _then in edges if source not in targets}
    pending = list(reached)
    while pending:
        node = pending.pop()
        for leaving, then in edges:
            if leaving[0] != node or leaving == closed or then in reached:
                continue
            if then != target:
                reached.add(then)
                pending.append(then)
    return any(way[0] in reached and way != closed for way in ways)


def _drawn(structure: StaticStructure) -> Drawn:
    return {
        ((edge.source, "in" if edge.type is EdgeType.CONTAINS else edge.outcome or ""), edge.target)
        for edge in structure.edges
        if edge.type is not EdgeType.PROVIDES
    }


@settings(
    max_examples=400, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow]
)
@given(PROGRAMS)
def test_edges_join_exactly_what_can_follow_each_other(found: Block) -> None:
    """SA-3: no edge is missing and none is invented, up to transitive reduction."""
    text = _valid(found)
    analysed = program(text.text)
    assert not [d for d in analysed.diagnostics if d.severity is Severity.ERROR]
    try:
        walked = paths(found, text)
    except TooManyPathsError:
        assume(False)
        return
    names = _names(text, analysed.structure)
    ran = {names[event.node] for path in walked for event in path if event.node in names}
    drawn = {edge for edge in _drawn(analysed.structure) if edge[0][0] in ran or edge[1] in ran}
    nodes = analysed.structure.nodes
    catches = {n.id for n in nodes if isinstance(n, Decision) and n.condition == CATCH}
    assert drawn == _reduced(_expected(walked, names), catches), text.text
