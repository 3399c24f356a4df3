"""The hypergraph of LE-6: how tools and capabilities are reached.

=============  ====================================  ====================================
kind           from                                  to
=============  ====================================  ====================================
start          ``start``                             a tool that needs no other
provides       tools that cover the inputs that the  a tool; one hyperedge for each of the
               caller cannot give                    cheapest minimal covers
dependency     all that the tool declares to need    a tool that needs nothing else
members        all that it calls                     a capability
=============  ====================================  ====================================

What a tool declares to need is a source of each of its hyperedges, beside the providers: without
it the tool cannot be called, whoever gives the arguments.  A tool or member that nobody knows is
a node that nothing enters, so what needs it is not reached.  A capability that calls nothing
comes from ``start``.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import TypeAlias

import msgspec

from pml.domain.capability import NewCapability
from pml.domain.provides import ProvidesEdge
from pml.domain.structure import ANY_TOOL, CapabilityCall
from pml.domain.tools import Tool
from pml.domain.trace import DependencyType, ToolDependency
from pml.pathfinding.costs import Cost
from pml.pathfinding.covers import minimal_covers
from pml.pathfinding.records import START, Hyperedge, HyperedgeKind

CanGive: TypeAlias = Callable[[Tool, str], bool]
"""Whether the caller can give an input of a tool, by the input's name."""


def not_provided(provides: Iterable[ProvidesEdge]) -> CanGive:
    """The caller can give what no tool provides: nobody else can."""
    provided = {(each.consumer, m.to_field) for each in provides for m in each.field_mapping}
    return lambda tool, name: (tool.id, name) not in provided


def hyperedges_of(
    capabilities: Sequence[NewCapability],
    tools: Sequence[Tool],
    *,
    provides: Iterable[ProvidesEdge],
    dependencies: Iterable[ToolDependency],
    cost: Cost,
    can_give: CanGive,
) -> tuple[Hyperedge, ...]:
    """All hyperedges, by the rules above; tools first, in order.

    Raises:
        ValueError: an id comes twice, or a capability contains itself.
    """
    ids = Counter([START, *(tool.id for tool in tools), *(each.id for each in capabilities)])
    for name, times in ids.items():
        if times > 1:
            msg = f"{name!r} is the id of {times} tools and capabilities"
            raise ValueError(msg)
    into, needs = defaultdict[str, list[ProvidesEdge]](list), defaultdict[str, list[str]](list)
    for edge in provides:
        into[edge.consumer].append(edge)
    for each in dependencies:
        if each.type is DependencyType.DEPENDENCY and each.source != each.target:
            needs[each.target].append(each.source)
    calls = [
        hyperedge
        for tool in tools
        for hyperedge in _calls(tool, into[tool.id], sorted(set(needs[tool.id])), cost, can_give)
    ]
    return (*calls, *_compositions(capabilities, cost))


def hyperedge_id(kind: HyperedgeKind, sources: Sequence[str], target: str) -> str:
    """Says what the hyperedge is, so that it is the same in every graph.

    Signs that stand between names are percent-encoded in them, so that no two get the same id.
    """
    return f"{kind.value}:{'+'.join(map(_escaped, sources))}>{_escaped(target)}"


def _escaped(name: str) -> str:
    return name.replace("%", "%25").replace("+", "%2B").replace(">", "%3E")


def _calls(
    tool: Tool,
    providers: Sequence[ProvidesEdge],
    needs: Sequence[str],
    cost: Cost,
    can_give: CanGive,
) -> Iterator[Hyperedge]:
    """The ways to call a tool."""
    required = tool.input_schema.get("required")
    names = required if isinstance(required, list | tuple) else ()  # drafts before 4 have a boolean
    lacking = [name for name in names if isinstance(name, str) and not can_give(tool, name)]
    if not lacking:
        kind = HyperedgeKind.DEPENDENCY if needs else HyperedgeKind.START
        yield _hyperedge(kind, needs or (START,), tool.id, cost.of_call(tool, ()))
        return
    seen: set[tuple[str, ...]] = set()
    for cover in minimal_covers(lacking, [edge for edge in providers if edge.provider != tool.id]):
        sources = tuple(sorted({edge.provider for edge in cover}.union(needs)))
        if sources not in seen:
            seen.add(sources)
            weight = cost.of_call(tool, [_narrowed(edge, lacking) for edge in cover])
            yield _hyperedge(HyperedgeKind.PROVIDES, sources, tool.id, weight)


def _narrowed(edge: ProvidesEdge, lacking: Collection[str]) -> ProvidesEdge:
    """Without the inputs that need not flow: a provider is no dearer for having them too."""
    kept = tuple(mapping for mapping in edge.field_mapping if mapping.to_field in lacking)
    return msgspec.structs.replace(edge, field_mapping=kept)


def _compositions(capabilities: Sequence[NewCapability], cost: Cost) -> Iterator[Hyperedge]:
    names = {each.name: each.id for each in capabilities}
    ids = {each.id for each in capabilities}
    members = {each.id: _members(each, names, ids) for each in capabilities}
    _refuse_cycles(members)
    for each in capabilities:
        sources = members[each.id] or (START,)
        yield _hyperedge(HyperedgeKind.MEMBERS, sources, each.id, cost.of_capability(each))


def _members(capability: NewCapability, names: Mapping[str, str], ids: set[str]) -> tuple[str, ...]:
    """Tools and capabilities that it calls, each once; a call by name is one of that capability."""
    calls = (node for node in capability.structure.nodes if isinstance(node, CapabilityCall))
    called = (
        each.capability_id
        if each.capability_id in ids
        else names.get(each.capability_id, each.capability_id)
        for each in calls
    )
    tools = (tool for tool in capability.structure.tools() if tool != ANY_TOOL)
    return tuple(sorted({*tools, *called}))


def _refuse_cycles(members: Mapping[str, Sequence[str]]) -> None:
    try:
        TopologicalSorter(members).prepare()
    except CycleError as exc:
        cycle = " -> ".join(reversed(exc.args[1]))
        msg = f"a capability contains itself: {cycle}"
        raise ValueError(msg) from exc


def _hyperedge(
    kind: HyperedgeKind, sources: Sequence[str], target: str, weight: float
) -> Hyperedge:
    return Hyperedge(
        id=hyperedge_id(kind, sources, target),
        sources=tuple(sources),
        target=target,
        weight=weight,
        kind=kind,
    )
