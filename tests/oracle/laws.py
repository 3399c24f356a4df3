"""What a run proves about the structure: soundness, the path law, and the law of data flow.

*Soundness*: every call has a site that is a node with its tool, or ``complete`` is false.

*Path law*: when control comes to a node that has edges into it, at least one of them is open:
the call before it has settled, the loop or fork before it was reached, the decision before it
went that way.  Where a node before it can be left out without a decision, because something
threw, it is looked through.

*Data flow*: what a call returned and what stands word for word in a later call's arguments is
a ``provides`` edge.
"""

import re
from collections import defaultdict
from collections.abc import Sequence

from pml.domain.program import Program
from pml.domain.structure import (
    CapabilityCall,
    Decision,
    Edge,
    EdgeType,
    Evidence,
    Fork,
    Join,
    Loop,
    StaticStructure,
    Task,
)
from pml.runtime.sandbox.protocol import CallIssued, DecisionMade, SiteReached
from tests.oracle.scenario import MARK, Observed, Settled

_MARKED = re.compile(MARK.format(r"(\d+)"))
_SKIPS = re.compile(
    r"\b(?:try|catch|then|finally|throw|yield|broken|flaky|Promise)\b|[^=!<>]=(?![=>])[^=]*[,}\])]"
)
"""Texts of programs in which a node may be left out without a decision of the structure."""


def broken_laws(program: Program, got: Observed) -> list[str]:
    """What the run did that the structure says cannot be."""
    return [
        *mislabelled(program.structure, got),
        *_off_the_path(program, got),
        *_unprovided(program.structure, got),
    ]


def mislabelled(structure: StaticStructure, got: Observed) -> list[str]:
    """Labels of nodes that are not in the structure, or are something else there."""
    nodes = {node.id: node for node in structure.nodes}
    found: list[str] = []
    for item in got.trail:
        node = nodes.get(item.site)
        if isinstance(item, CallIssued):
            tool = f"{item.server}:{item.tool}"
            hole = item.site == "?" and not structure.complete
            named = isinstance(node, Task) and node.tool in (tool, "*")
            named |= isinstance(node, CapabilityCall) and f"capabilities:{node.name}" == tool
            if not hole and not named:
                found.append(f"soundness: call of {tool} at site {item.site}, which is {node}")
        elif isinstance(item, DecisionMade):
            if not isinstance(node, Decision):
                found.append(f"soundness: decision at {item.site}, which is {node}")
            elif not _may_decide(structure, item):
                found.append(f"soundness: {item.site} ({node.condition}) = {item.outcome}")
        elif isinstance(item, SiteReached) and not isinstance(node, Fork | Loop):
            found.append(f"soundness: reached {item.site}, which is {node}")
    return found


def _may_decide(structure: StaticStructure, made: DecisionMade) -> bool:
    """Whether the outcome is of the kind that the edges of the decision have."""
    drawn = {e.outcome for e in structure.edges if e.source == made.site and e.outcome}
    drawn |= {made.outcome}
    if drawn <= {"true", "false"} or drawn <= {"ok", "catch"}:
        return True
    return all(outcome == "default" or outcome.startswith("case:") for outcome in drawn)


class _Paths:
    """Which edges are open at a moment of a run."""

    def __init__(self, program: Program) -> None:
        self._looks_through = bool(_SKIPS.search(program.source))
        self._into: dict[str, list[Edge]] = defaultdict(list)
        self._kinds = {node.id: type(node) for node in program.structure.nodes}
        for edge in program.structure.edges:
            if edge.type is not EdgeType.PROVIDES:
                self._into[edge.target].append(edge)
        self._passed: set[str] = set()
        self._decided: set[tuple[str, str]] = set()
        self.latest: dict[str, str] = {}

    def came_to(self, node: str) -> str | None:
        """What is wrong with control being at the node, if anything is."""
        edges = self._into[node]
        if not edges or any(self._is_open(edge, {node}) for edge in edges):
            return None
        wanted = [f"{e.source} {e.outcome or e.type}" for e in edges]
        return f"path: {node} was reached without any of {wanted}"

    def only_outcomes(self, node: str) -> tuple[str, set[str]] | None:
        """The decision and its outcomes where nothing else leads to the node."""
        edges = self._into[node]
        if not edges or len({e.source for e in edges}) > 1 or not all(e.outcome for e in edges):
            return None
        return edges[0].source, {e.outcome or "" for e in edges}

    def note(self, item: CallIssued | DecisionMade | SiteReached | Settled) -> None:
        """The item has happened."""
        if not isinstance(item, CallIssued):
            self._passed.add(item.site)
        if isinstance(item, DecisionMade):
            self._decided.add((item.site, item.outcome))
            self.latest[item.site] = item.outcome

    def _is_open(self, edge: Edge, seen: set[str]) -> bool:
        if edge.outcome is not None:
            if (edge.source, edge.outcome) in self._decided:
                return True
            if edge.source in self._passed:
                return False
        elif edge.source in self._passed:
            return True
        skippable = self._looks_through and edge.type is not EdgeType.CONTAINS
        if not skippable and self._kinds[edge.source] is not Join:
            return False
        return self._is_skipped(edge.source, seen)

    def _is_skipped(self, node: str, seen: set[str]) -> bool:
        """Whether control could go past the node: it came to where the node would follow."""
        if node in seen:
            return False
        seen.add(node)
        edges = self._into[node]
        return not edges or any(self._is_open(edge, seen) for edge in edges)


def _off_the_path(program: Program, got: Observed) -> list[str]:
    paths = _Paths(program)
    sequential = got.most_in_flight <= 1 and _is_flat(program.source)
    found: list[str] = []
    for item in got.trail:
        if item.site != "?" and not isinstance(item, Settled):
            problem = paths.came_to(item.site)
            if problem is not None:
                found.append(problem)
            only = paths.only_outcomes(item.site) if sequential else None
            if only is not None and paths.latest.get(only[0]) not in only[1]:
                found.append(
                    f"path: {item.site} needs {only[0]} to be one of {sorted(only[1])}, "
                    f"and it was {paths.latest.get(only[0])} last"
                )
        paths.note(item)
    return list(dict.fromkeys(found))


def _is_flat(source: str) -> bool:
    """Whether the program has no functions: then control is at one place at a time."""
    return not re.search(r"=>|\bfunction\b|\bclass\b|\) \{.*\breturn\b|\bget\b|\basync\b", source)


def _unprovided(structure: StaticStructure, got: Observed) -> list[str]:
    """Texts of results in arguments of calls that no ``provides`` edge leads to."""
    if not structure.complete:
        return []
    drawn = {
        (edge.source, edge.target)
        for edge in structure.edges
        if edge.type is EdgeType.PROVIDES and edge.evidence is Evidence.DATAFLOW
    }
    issued = [item for item in got.trail if isinstance(item, CallIssued)]
    missing = {
        (issued[producer].site, item.site)
        for item in issued
        for producer in _marks(item.arguments)
        if producer < len(issued)
    } - drawn
    return [f"data: no provides edge from {u} to {v}" for u, v in sorted(missing) if u != v]


def _marks(text: str) -> Sequence[int]:
    return sorted({int(number) for number in _MARKED.findall(text)})
