"""Which values a variable may have where it is used, as nodes of a graph of linear size.

One walk over a variable's definitions and uses in source order, with the regions of code around
them: blocks, branches, loops.  A definition that stands straight in a block replaces what was
before, for what follows in that block.  On the way out of a region everything that it gives the
variable is added, since it may have been left anywhere or not entered at all; into a loop its
later definitions come around.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from pml.analysis.scope import Binding, Definition
from pml.analysis.syntax import FUNCTIONS, LOOPS, Syntax, function_of
from pml.analysis.valuegraph import ValueGraph

_STRAIGHT = frozenset(
    {
        "expression_statement",
        "lexical_declaration",
        "variable_declaration",
        "variable_declarator",
        "parenthesized_expression",
        "assignment_expression",
    }
)
_BLOCKS = frozenset({"statement_block", "program"})


@dataclass(slots=True)
class Versions:
    """``of_use``: the node of what a use sees; ``of_definition``: the node that a value goes to."""

    of_use: dict[Syntax, int] = field(default_factory=dict)
    of_definition: dict[Definition, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Region:
    syntax: Syntax
    everything: int
    """All values that it gives the variable."""
    state: int


def number(binding: Binding, graph: ValueGraph, into: Versions) -> int:
    """Give the binding's definitions and uses their nodes; the node of all its values."""
    everything = graph.new()
    definitions, uses = binding.definitions, binding.uses
    for use in uses:
        into.of_use[use] = everything
    owner = sole_owner(binding) if len(definitions) > 1 else None
    if owner is None:
        for definition in definitions:
            into.of_definition[definition] = everything
        return everything
    here = [use for use in uses if function_of(use) is owner]
    _walk(binding, here, everything, graph, into)
    return everything


def sole_owner(binding: Binding) -> Syntax | None:
    """The function whose own variable it is, if that alone sets it: then order tells what it holds.

    A variable of outside may be set by another run of the function in between.
    """
    if binding.kind in {"parameter", "function"}:
        return None
    owner = function_of(binding.node)
    alone = all(function_of(d.at) is owner for d in binding.definitions)
    return owner if alone else None


def _walk(
    binding: Binding,
    uses: list[Syntax],
    everything: int,
    graph: ValueGraph,
    into: Versions,
) -> None:
    events: list[tuple[int, int, Syntax, Definition | None]] = [
        # a loop sets its variable before its body
        (d.value.end if d.at.kind in LOOPS else d.at.end, 0, d.at, d)
        for d in binding.definitions
    ]
    events += [(use.start, 1, use, None) for use in uses]
    events.sort(key=lambda event: event[:2])
    stack = [_Region(binding.scope, everything, graph.new())]
    if binding.scope.kind in LOOPS:
        graph.flow(everything, stack[0].state)
    for _offset, _rank, node, definition in events:
        _move(stack, list(_regions(node, binding.scope)), graph)
        top = stack[-1]
        if definition is None:
            into.of_use[node] = top.state
            continue
        own = into.of_definition[definition] = graph.new()
        graph.flow(own, top.everything)
        replaces = not definition.weak and top.syntax.kind in _BLOCKS
        state = own if replaces else graph.new()
        if not replaces:
            graph.flow(top.state, state)
            graph.flow(own, state)
        top.state = state


def _regions(node: Syntax, scope: Syntax) -> Iterator[Syntax]:
    """The regions around a node inside the scope, outermost first."""
    found: list[Syntax] = []
    if node.kind in LOOPS and node is not scope:
        found.append(node)
    for outer in node.ancestors():
        if outer is scope:
            break
        if outer.kind not in _STRAIGHT:
            found.append(outer)
    return reversed(found)


def _move(
    stack: list[_Region],
    regions: list[Syntax],
    graph: ValueGraph,
) -> None:
    """Leave the regions that end, and enter those that begin."""
    shared = 0
    while (
        shared < min(len(stack) - 1, len(regions)) and stack[shared + 1].syntax is regions[shared]
    ):
        shared += 1
    while len(stack) - 1 > shared:
        left = stack.pop()
        state = graph.new()
        graph.flow(stack[-1].state, state)
        graph.flow(left.everything, state)
        graph.flow(left.everything, stack[-1].everything)
        stack[-1].state = state
    for region in regions[shared:]:
        everything, state = graph.new(), graph.new()
        graph.flow(stack[-1].state, state)
        if region.kind in LOOPS or region.kind in FUNCTIONS:
            graph.flow(everything, state)
        stack.append(_Region(region, everything, state))
