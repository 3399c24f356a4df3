"""A static structure as an outline: every node on the line where it stands in the source.

A node is indented under the decisions, forks and loops whose source text holds it, and
says after which nodes it can come, so the outline holds the whole flow.
"""

import json
from typing import Any

from pml.cli.table import shorten
from pml.domain.structure import (
    CATCH,
    Argument,
    CapabilityCall,
    Computed,
    Decision,
    Edge,
    EdgeType,
    Fork,
    Join,
    Literal,
    Loop,
    Node,
    Parameter,
    Reference,
    StaticStructure,
    Task,
)

MAX_INDENT = 8
"""Levels of nesting that are shown by indentation."""


def render_structure(structure: StaticStructure, *, width: int) -> str:
    """Head line, outline, and the values that flow from call to call."""
    parts = [_head(structure), _outline(structure, width), _dataflow(structure, width)]
    return "\n\n".join(part for part in parts if part)


def _head(structure: StaticStructure) -> str:
    calls = sum(isinstance(node, Task | CapabilityCall) for node in structure.nodes)
    words = [
        _count(calls, "call site"),
        _count(len(structure.tools()), "tool"),
        _count(sum(isinstance(node, Decision) for node in structure.nodes), "decision"),
        _count(len(structure.layers), "layer"),
    ]
    line = ", ".join(words)
    if structure.parameters:
        line += f"; parameters: {', '.join(structure.parameters)}"
    if not structure.complete:
        line += "\nIncomplete: a call was found whose tool is known only when it runs."
    if not structure.flows_complete:
        line += "\nMore results flow into arguments than are listed."
    return line


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _outline(structure: StaticStructure, width: int) -> str:
    depths = nesting(structure)
    rows = []
    for node in _in_source_order(structure):
        place = structure.locations.get(node.id)
        indent = "  " * min(depths.get(node.id, 0), MAX_INDENT)
        line = str(place.line) if place and not isinstance(node, Join) else ""
        rows.append((line, node.id, indent + _label(node)))
    if not rows:
        return ""
    after = {row[1]: _after(structure.edges, row[1]) for row in rows}
    tail = max(len("after"), *(len(text) for text in after.values()))
    tail = min(tail, width // 3)
    room = min(max(len(row[2]) for row in rows), width - 6 - 5 - tail - 2)
    lines = [f"{'line':>4}  {'node':<5}{'what':<{room}}  after"]
    for line, node_id, label in rows:
        shown = _cut(label, room)
        text = f"{line:>4}  {node_id:<5}{shown:<{room}}  {shorten(after[node_id], tail)}"
        lines.append(text.rstrip())
    return "\n".join(lines)


def _cut(label: str, room: int) -> str:
    return label if len(label) <= room else label[: room - 3] + "..."


def _in_source_order(structure: StaticStructure) -> list[Node]:
    """Nodes by where they start; a join has no place of its own and follows its fork's calls."""
    where = structure.locations

    def key(node: Node) -> tuple[int, int]:
        if isinstance(node, Join):
            fork = where.get("f" + node.id[1:])
            return (fork.end, 1) if fork else (0, 1)
        place = where.get(node.id)
        return (place.start if place else 0, 0)

    return sorted(structure.nodes, key=key)


def nesting(structure: StaticStructure) -> dict[str, int]:
    """How many decisions, forks and loops hold each node in their source text."""
    spans = [
        (structure.locations[node.id], node.id)
        for node in structure.nodes
        if isinstance(node, Decision | Fork | Loop) and node.id in structure.locations
    ]
    depths = {}
    for node in structure.nodes:
        place = structure.locations.get(node.id)
        depths[node.id] = sum(
            place is not None
            and node.id != other
            and span.start <= place.start
            and place.end <= span.end
            for span, other in spans
        )
    return depths


def _label(node: Node) -> str:
    match node:
        case Task():
            return f"{node.tool}({_arguments(node.arguments)})"
        case CapabilityCall():
            return f"capabilities.{node.name or node.capability_id}({_arguments(node.arguments)})"
        case Decision():
            return "try, or catch" if node.condition == CATCH else f"decide {node.condition}"
        case Fork():
            return f"fork ({node.combinator})"
        case Join():
            return "join"
        case Loop():
            return f"loop {node.condition}"


def _arguments(arguments: dict[str, Argument]) -> str:
    return ", ".join(f"{name}: {_argument(value)}" for name, value in arguments.items())


def _argument(argument: Argument) -> str:
    match argument:
        case Literal():
            return _json(argument.value)
        case Reference() | Computed():
            return shorten(argument.expression, 40)
        case Parameter():
            return f"args.{argument.parameter_name}"


def _json(value: Any) -> str:  # noqa: ANN401  # a JSON value
    return shorten(json.dumps(value, ensure_ascii=False), 40)


def _after(edges: tuple[Edge, ...], node: str) -> str:
    """The nodes that can run just before, with the outcome that leads here."""
    names = []
    for edge in edges:
        if edge.target != node or edge.type is EdgeType.PROVIDES:
            continue
        if edge.type is EdgeType.CONTAINS:
            names.append(f"in {edge.source}")
        else:
            names.append(f"{edge.source}={edge.outcome}" if edge.outcome else edge.source)
    return ", ".join(names)


def _dataflow(structure: StaticStructure, width: int) -> str:
    flows = [
        f"{edge.source} -> {edge.target}"
        for edge in structure.edges
        if edge.type is EdgeType.PROVIDES
    ]
    return _wrapped("results that flow into arguments: ", flows, width) if flows else ""


def _wrapped(head: str, items: list[str], width: int) -> str:
    lines, line = [], head
    for index, item in enumerate(items):
        piece = item + ("," if index + 1 < len(items) else "")
        if len(line) + len(piece) > width and line.strip():
            lines.append(line.rstrip())
            line = "  "
        line += piece + " "
    return "\n".join([*lines, line.rstrip()])
