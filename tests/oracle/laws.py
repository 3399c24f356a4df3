"""What a run proves about the structure: soundness, the path law, and the law of data flow.

*Soundness*: every call has a site that is a node with its tool, or ``complete`` is false.

*Path law*: when control comes to a node that has edges into it, at least one of them is open:
the call before it has settled, the loop or fork before it was reached, the decision before it
went that way; outside functions, where only one decision leads to it, the last time.  A node
before it that can be left out without a decision is looked through: one in a function, whose
call may end early, in a ``try`` or in a default value.

*Data flow*: what a call returned and what stands word for word in a later call's arguments is
a ``provides`` edge, or ``complete`` or ``flows_complete`` is false.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

import tree_sitter_typescript
from tree_sitter import Language, Node, Parser

from pml.analysis import syntax
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
_UNCERTAIN = re.compile(r'__pml\.(?:atMember|owner)\("(n\d+)"')
"""Sites of methods of what may be a server or something else: then they are no calls."""
_FIRST_WINS = {"race", "any"}
_MAY_BE_LEFT_OUT = syntax.FUNCTIONS | {
    "try_statement",
    "assignment_pattern",
    "object_assignment_pattern",
}
"""In there control may end early, or never come, without a decision of the structure."""


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

    def __init__(self, program: Program, sure: set[str]) -> None:
        self._sure = sure
        self._into: dict[str, list[Edge]] = defaultdict(list)
        nodes = program.structure.nodes
        self._joins = {node.id for node in nodes if isinstance(node, Join)}
        forks = [node for node in nodes if isinstance(node, Fork)]
        self._first_wins = {f"j{fork.id[1:]}" for fork in forks if fork.combinator in _FIRST_WINS}
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
        if edge.source in self._first_wins and f"f{edge.source[1:]}" in self._passed:
            return True  # what wins may be no call
        if edge.source in self._sure and edge.source not in self._joins:
            return False
        return edge.type is not EdgeType.CONTAINS and self._is_skipped(edge.source, seen)

    def _is_skipped(self, node: str, seen: set[str]) -> bool:
        """Whether control could go past the node: it came to where the node would follow."""
        if node in seen:
            return False
        seen.add(node)
        edges = self._into[node]
        return not edges or any(self._is_open(edge, seen) for edge in edges)


def _off_the_path(program: Program, got: Observed) -> list[str]:
    once = _outside(program, syntax.FUNCTIONS)
    may_be_no_call = set(_UNCERTAIN.findall(program.instrumented))
    paths = _Paths(program, _outside(program, _MAY_BE_LEFT_OUT) - may_be_no_call)
    found: list[str] = []
    for item in got.trail:
        if item.site != "?" and not isinstance(item, Settled):
            problem = paths.came_to(item.site)
            if problem is not None:
                found.append(problem)
            only = paths.only_outcomes(item.site) if item.site in once else None
            if only is not None and only[0] in once and paths.latest.get(only[0]) not in only[1]:
                found.append(
                    f"path: {item.site} needs {only[0]} to be one of {sorted(only[1])}, "
                    f"and it was {paths.latest.get(only[0])} last"
                )
        paths.note(item)
    return list(dict.fromkeys(found))


def _outside(program: Program, kinds: AbstractSet[str]) -> set[str]:
    """Ids of the nodes that stand in no syntax of these kinds, and are no function themselves."""
    tree = _PARSER.parse(program.source.encode())
    found = set()
    for site, place in program.structure.locations.items():
        node: Node | None = tree.root_node.descendant_for_byte_range(place.start, place.end)
        if site.startswith("n") and node is not None and node.type != "call_expression":
            continue
        while node is not None and (
            node.type not in kinds or (node.start_byte, node.end_byte) == (place.start, place.end)
        ):
            node = node.parent
        if node is None:
            found.add(site)
    return found


_PARSER = Parser(Language(tree_sitter_typescript.language_typescript()))


def _unprovided(structure: StaticStructure, got: Observed) -> list[str]:
    """Texts of results in arguments of calls that no ``provides`` edge leads to."""
    if not (structure.complete and structure.flows_complete):
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
