"""From the structure to the plan that a person agrees to (HIL-2).

What must be true for a call to run is read off the control edges: a condition holds at a node
if it holds on every way into it.  Anything in a ``try`` may fail before it decides, so at its
catch only what was decided around the whole ``try`` holds.  What may repeat a call is the union
over the ways.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any

import msgspec

from pml.domain.capability import CAPABILITY_SERVER, Capability
from pml.domain.permissions import Permission
from pml.domain.plan import (
    Condition,
    Plan,
    PlannedArgument,
    PlannedCall,
    PlannedFlow,
    PlannedProgram,
    Unknown,
    UnknownKind,
)
from pml.domain.record import JsonText
from pml.domain.structure import (
    ANY_TOOL,
    CATCH,
    SPREAD,
    Argument,
    CapabilityCall,
    Decision,
    Edge,
    EdgeType,
    Evidence,
    Literal,
    Loop,
    Node,
    Parameter,
    Reference,
    StaticStructure,
    Task,
)

_Conditions = frozenset[tuple[str, str]]
"""Decisions and the outcomes that they must have had."""


def plan_of(
    structure: StaticStructure,
    *,
    source_hash: str,
    arguments: Mapping[str, JsonText],
    tools: Iterable[Permission],
    callees: Mapping[str, Capability],
) -> Plan:
    """The plan of a program with bound arguments.

    Args:
        structure: of the program.
        source_hash: of its source as sent.
        arguments: JSON by name; of lifted literals those whose value is another than in the code.
        tools: what holds for every tool that it may call, through capabilities too.
        callees: every capability that it calls, directly or not, by id.
    """
    given = {name: json.loads(text) for name, text in arguments.items()}
    return Plan(
        program=planned_program(structure, source_hash=source_hash, given=given),
        arguments=given,
        tools=tuple(tools),
        capabilities={
            each.name: planned_program(
                each.structure, source_hash=sha256(each.code.encode()).hexdigest(), given=None
            )
            for each in sorted(callees.values(), key=lambda each: each.name)
        },
    )


def planned_program(
    structure: StaticStructure, *, source_hash: str, given: Mapping[str, Any] | None
) -> PlannedProgram:
    """One program; ``given`` is None for a capability, whose caller gives other arguments."""
    calls = _Calls(structure, given)
    planned = tuple(calls.planned(n) for n in structure.nodes if isinstance(n, _CALLS))
    return PlannedProgram(
        source_hash=source_hash,
        calls=tuple(sorted(planned, key=lambda call: int(call.id[1:]))),
        flows=tuple(
            PlannedFlow(source=edge.source, target=edge.target, fields=edge.fields)
            for edge in structure.edges
            if edge.type is EdgeType.PROVIDES and edge.evidence is Evidence.DATAFLOW
        ),
        unknown=tuple(_unknown(structure, planned)),
    )


_CALLS = (Task, CapabilityCall)


class _Calls:
    """Plans the calls of one structure."""

    def __init__(self, structure: StaticStructure, given: Mapping[str, Any] | None) -> None:
        self._structure = structure
        self._given = given
        self._nodes: dict[str, Node] = {node.id: node for node in structure.nodes}
        self._layer = {
            call: number for number, layer in enumerate(structure.layers) for call in layer
        }
        self._when, self._loops = _conditions_and_loops(structure)

    def planned(self, node: Task | CapabilityCall) -> PlannedCall:
        """One call site."""
        tool = node.tool if isinstance(node, Task) else f"{CAPABILITY_SERVER}:{node.name}"
        place = self._structure.locations.get(node.id)
        return PlannedCall(
            id=node.id,
            tool=tool,
            arguments={name: self._argument(a) for name, a in node.arguments.items()},
            when=tuple(self._condition(*each) for each in _in_order(self._when[node.id])),
            loops=tuple(
                found.condition
                for loop in sorted(self._loops[node.id], key=_number)
                if isinstance(found := self._nodes[loop], Loop)
            ),
            layer=self._layer.get(node.id, 0),
            line=1 if place is None else place.line,
        )

    def _condition(self, node_id: str, outcome: str) -> Condition:
        node = self._nodes[node_id]
        condition = node.condition if isinstance(node, Decision) else ""
        return Condition(node=node_id, condition=condition, outcome=outcome)

    def _argument(self, argument: Argument) -> PlannedArgument:
        if isinstance(argument, Literal):
            return self._literal(argument)
        if isinstance(argument, Parameter):
            name = argument.parameter_name
            return PlannedArgument(value=self._value(name), parameters=(name,))
        if isinstance(argument, Reference):
            return PlannedArgument(expression=argument.expression, calls=(argument.node,))
        return PlannedArgument(
            expression=argument.expression,
            calls=_once(i.node for i in argument.inputs if isinstance(i, Reference)),
            parameters=_once(i.parameter_name for i in argument.inputs if isinstance(i, Parameter)),
        )

    def _literal(self, literal: Literal) -> PlannedArgument:
        name = literal.parameter_name
        if name is None:
            return PlannedArgument(value=literal.value)
        if self._given is None:
            return PlannedArgument(default=literal.value, parameters=(name,))
        return PlannedArgument(value=self._given.get(name, literal.value), parameters=(name,))

    def _value(self, parameter: str) -> Any:  # noqa: ANN401  # JSON, or unset
        return msgspec.UNSET if self._given is None else self._given.get(parameter, msgspec.UNSET)


def _once(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _number(node_id: str) -> tuple[str, int]:
    return node_id[0], int(node_id[1:])


def _in_order(conditions: _Conditions) -> list[tuple[str, str]]:
    return sorted(conditions, key=lambda each: (_number(each[0]), each[1]))


def _conditions_and_loops(
    structure: StaticStructure,
) -> tuple[dict[str, _Conditions], dict[str, frozenset[str]]]:
    """For every node what certainly was decided, and the loops that it may be in."""
    arriving: dict[str, list[Edge]] = defaultdict(list)
    leaving: dict[str, list[str]] = defaultdict(list)
    for edge in structure.edges:
        if edge.type is not EdgeType.PROVIDES:
            arriving[edge.target].append(edge)
            leaving[edge.source].append(edge.target)
    catches = {n.id for n in structure.nodes if isinstance(n, Decision) and n.condition == CATCH}
    when: dict[str, _Conditions] = {}
    loops: dict[str, frozenset[str]] = {}
    for node_id in _topological([node.id for node in structure.nodes], arriving, leaving):
        ways = [_decided(when, edge) for edge in arriving[node_id]]
        decided = frozenset.intersection(*ways) if ways else frozenset()
        when[node_id] = _around(structure, node_id, decided) if node_id in catches else decided
        inside = [_looping(loops, edge) for edge in arriving[node_id]]
        loops[node_id] = frozenset().union(*inside)
    return when, loops


def _around(structure: StaticStructure, catch: str, decided: _Conditions) -> _Conditions:
    """Of what was decided, the decisions whose source holds the whole ``try``."""
    places = structure.locations
    inner = places[catch]
    return frozenset(
        (decision, outcome)
        for decision, outcome in decided
        if places[decision].start <= inner.start and inner.end <= places[decision].end
    )


def _decided(when: Mapping[str, _Conditions], edge: Edge) -> _Conditions:
    own = frozenset() if edge.outcome is None else frozenset({(edge.source, edge.outcome)})
    return when.get(edge.source, frozenset()) | own


def _looping(loops: Mapping[str, frozenset[str]], edge: Edge) -> frozenset[str]:
    own = frozenset({edge.source} if edge.type is EdgeType.CONTAINS else ())
    return loops.get(edge.source, frozenset()) | own


def _topological(
    nodes: list[str], arriving: Mapping[str, list[Edge]], leaving: Mapping[str, list[str]]
) -> list[str]:
    """Nodes after what leads to them; control edges have no cycle (SA-3)."""
    missing = {node: len(arriving[node]) for node in nodes}
    ready = [node for node in reversed(nodes) if not missing[node]]
    found = []
    while ready:
        node = ready.pop()
        found.append(node)
        for target in leaving[node]:
            missing[target] -= 1
            if not missing[target]:
                ready.append(target)
    return found


def _unknown(structure: StaticStructure, calls: Iterable[PlannedCall]) -> Iterable[Unknown]:
    """What stays open, most dangerous first."""
    untold = [node.id for node in structure.nodes if isinstance(node, Task) and _any(node)]
    for node_id in untold:
        message = "which tool this calls is known only when it runs"
        yield Unknown(kind=UnknownKind.TOOL, node=node_id, message=message)
    if not structure.complete and not untold:
        message = "a server goes where it cannot be followed: any of its tools may be called"
        yield Unknown(kind=UnknownKind.TOOL, message=message)
    if not structure.flows_complete:
        message = "more results flow into arguments than are listed: any earlier one may"
        yield Unknown(kind=UnknownKind.FLOW, message=message)
    for call in calls:
        for name, argument in call.arguments.items():
            if argument.value is msgspec.UNSET:
                kind = UnknownKind.NAMES if name == SPREAD else UnknownKind.VALUE
                yield Unknown(kind=kind, node=call.id, message=_open_value(name, argument))
    for node in structure.nodes:
        if isinstance(node, Decision):
            message = "whether it fails" if node.condition == CATCH else node.condition
            yield Unknown(kind=UnknownKind.BRANCH, node=node.id, message=message)
        elif isinstance(node, Loop):
            yield Unknown(kind=UnknownKind.TIMES, node=node.id, message=node.condition)


def _any(task: Task) -> bool:
    return task.tool == ANY_TOOL


def _open_value(name: str, argument: PlannedArgument) -> str:
    what = "which further arguments" if name == SPREAD else name
    made_of = [*argument.calls, *(f"args.{each}" for each in argument.parameters)]
    source = f" (from {', '.join(made_of)})" if made_of else ""
    text = f": {argument.expression}" if argument.expression else ""
    return f"{what}{source}{text}"
