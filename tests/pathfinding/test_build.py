"""How tools and capabilities become a hypergraph (LE-6)."""

from collections.abc import Sequence
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pml.domain.capability import NewCapability
from pml.domain.provides import FieldMapping, ProvidesEdge
from pml.domain.structure import ANY_TOOL, CapabilityCall, Coverage, StaticStructure, Task
from pml.domain.tools import Tool
from pml.domain.trace import DependencyType, ToolDependency
from pml.pathfinding.costs import LogCost, nats
from pml.pathfinding.covers import COVERS, minimal_covers
from pml.pathfinding.drdsp import DRDSP
from pml.pathfinding.records import START, HyperedgeKind


def tool(name: str, *required: str) -> Tool:
    schema = {"type": "object", "required": list(required)}
    return Tool(server="s", name=name, input_schema=schema)


def flow(provider: str, consumer: str, **fields: float) -> ProvidesEdge:
    mappings = tuple(
        FieldMapping(from_field=name, to_field=name, type_compatible=True, score=score)
        for name, score in fields.items()
    )
    return ProvidesEdge(
        provider=f"s:{provider}",
        consumer=f"s:{consumer}",
        coverage=Coverage.PARTIAL,
        field_mapping=mappings,
    )


def needs(consumer: str, provider: str) -> ToolDependency:
    return ToolDependency(
        source=f"s:{provider}",
        target=f"s:{consumer}",
        type=DependencyType.DEPENDENCY,
        edge_source="template",
        weight=1.0,
    )


def capability(name: str, tools: Sequence[str] = (), nested: Sequence[str] = ()) -> NewCapability:
    calls = [*(Task(id=f"n{i + 1}", tool=t) for i, t in enumerate(tools))]
    inner = [
        CapabilityCall(id=f"n{len(tools) + i + 1}", capability_id=c, name=c)
        for i, c in enumerate(nested)
    ]
    structure = StaticStructure(nodes=(*calls, *inner), edges=(), complete=True)
    return NewCapability(
        canonical_hash=name * 20,
        name=name,
        intent=name,
        code="",
        instrumented="",
        structure=structure,
    )


def ways(graph: DRDSP) -> set[tuple[HyperedgeKind, tuple[str, ...], str]]:
    return {(edge.kind, edge.sources, edge.target) for edge in graph.hyperedges()}


def test_what_needs_no_other_tool_comes_from_the_start() -> None:
    graph = DRDSP.build_from_capabilities([], [tool("clock"), tool("read", "path")])
    assert ways(graph) == {
        (HyperedgeKind.START, (START,), "s:clock"),
        (HyperedgeKind.START, (START,), "s:read"),
    }


def test_providers_that_cover_the_inputs_together_are_one_hyperedge() -> None:
    tools = [tool("user"), tool("city"), tool("both"), tool("send", "user_id", "city", "text")]
    flows = [
        flow("user", "send", user_id=0.9),
        flow("city", "send", city=0.9),
        flow("both", "send", user_id=0.8, city=0.8),
    ]
    graph = DRDSP.build_from_capabilities([], tools, provides=flows)
    assert {way for way in ways(graph) if way[2] == "s:send"} == {
        (HyperedgeKind.PROVIDES, ("s:city", "s:user"), "s:send"),
        (HyperedgeKind.PROVIDES, ("s:both",), "s:send"),
    }


def test_what_the_caller_can_give_needs_no_provider() -> None:
    tools, flows = [tool("user"), tool("send", "user_id")], [flow("user", "send", user_id=0.9)]
    graph = DRDSP.build_from_capabilities([], tools, provides=flows, can_give=lambda *_: True)
    assert (HyperedgeKind.START, (START,), "s:send") in ways(graph)


def test_an_input_that_nobody_gives_leaves_the_tool_out_of_reach() -> None:
    tools = [tool("send", "user_id")]
    graph = DRDSP.build_from_capabilities([], tools, can_give=lambda *_: False)
    assert graph.find_shortest_hyperpath([START], "s:send") is None


def test_a_tool_does_not_provide_for_itself() -> None:
    tools, flows = [tool("next", "page")], [flow("next", "next", page=1.0)]
    assert not ways(DRDSP.build_from_capabilities([], tools, provides=flows))


def test_all_declared_dependencies_are_needed_beside_any_providers() -> None:
    tools = [tool("login"), tool("connect"), tool("user"), tool("send", "user_id"), tool("list")]
    graph = DRDSP.build_from_capabilities(
        [],
        tools,
        provides=[flow("user", "send", user_id=0.9)],
        dependencies=[needs("send", "login"), needs("list", "login"), needs("list", "connect")],
    )
    assert {way for way in ways(graph) if way[0] is not HyperedgeKind.START} == {
        (HyperedgeKind.PROVIDES, ("s:login", "s:user"), "s:send"),
        (HyperedgeKind.DEPENDENCY, ("s:connect", "s:login"), "s:list"),
    }


def test_other_edges_between_tools_are_no_dependencies() -> None:
    seen = ToolDependency(
        source="s:a", target="s:b", type=DependencyType.SEQUENCE, edge_source="observed", weight=0.5
    )
    graph = DRDSP.build_from_capabilities([], [tool("a"), tool("b")], dependencies=[seen])
    assert all(sources == (START,) for _, sources, _ in ways(graph))


def test_a_dependency_that_nobody_knows_leaves_the_tool_out_of_reach() -> None:
    graph = DRDSP.build_from_capabilities([], [tool("a")], dependencies=[needs("a", "gone")])
    assert graph.cost("s:a") is None
    assert graph.find_shortest_hyperpath([START, "s:gone"], "s:a") is not None


def test_all_members_lead_to_their_capability_nested_ones_too() -> None:
    inner, outer = (
        capability("inner", ["s:a", ANY_TOOL, "s:a"]),
        capability("outer", ["s:b"], ["inner"]),
    )
    graph = DRDSP.build_from_capabilities([outer, inner], [tool("a"), tool("b")])
    assert {way for way in ways(graph) if way[0] is HyperedgeKind.MEMBERS} == {
        (HyperedgeKind.MEMBERS, ("s:a",), inner.id),
        (HyperedgeKind.MEMBERS, (inner.id, "s:b"), outer.id),
    }
    path = graph.find_shortest_hyperpath([START], outer.id)
    assert path is not None
    assert set(path.nodes) == {START, "s:a", "s:b", inner.id, outer.id}


def test_a_capability_that_calls_nothing_comes_from_the_start() -> None:
    alone = capability("alone")
    graph = DRDSP.build_from_capabilities([alone], [])
    assert ways(graph) == {(HyperedgeKind.MEMBERS, (START,), alone.id)}


@pytest.mark.parametrize(
    "capabilities",
    [
        [capability("me", nested=["me"])],
        [capability("me", nested=["you"]), capability("you", ["s:a"], nested=["me"])],
    ],
)
def test_a_capability_that_contains_itself_is_refused(capabilities: list[NewCapability]) -> None:
    with pytest.raises(ValueError, match=r"contains itself: cap_.* -> cap_"):
        DRDSP.build_from_capabilities(capabilities, [tool("a")])


@pytest.mark.parametrize(
    ("capabilities", "tools"),
    [([], [tool("a"), tool("a")]), ([capability("c"), capability("c")], [])],
)
def test_an_id_that_comes_twice_is_refused(
    capabilities: list[NewCapability], tools: list[Tool]
) -> None:
    with pytest.raises(ValueError, match="is the id of 2 tools and capabilities"):
        DRDSP.build_from_capabilities(capabilities, tools)


def test_a_cost_that_gives_no_weight_is_refused() -> None:
    class Broken(LogCost):
        def of_call(self, tool: Tool, flows: Sequence[ProvidesEdge]) -> float:
            return float("nan")

    with pytest.raises(ValueError, match=r"'start:start>s:a'.*weight"):
        DRDSP.build_from_capabilities([], [tool("a")], cost=Broken())


def test_the_default_cost_is_in_nats() -> None:
    cost = LogCost(reliability={"s:a": 0.5}, duration_ms={"s:a": 2000}, nats_per_s=0.25)
    flows = [flow("p", "a", x=0.8), flow("q", "a", x=0.4, y=1.0)]
    assert cost.of_call(tool("a"), flows) == pytest.approx(nats(0.5) + nats(0.8) + 0.5)
    assert cost.of_capability(capability("c")) == 0
    assert nats(1.0) == 0
    assert nats(0.0) == pytest.approx(13.8, abs=0.1)
    with pytest.raises(ValueError, match="from 0 to 1"):
        nats(1.5)


def test_the_same_tools_in_another_order_make_the_same_graph() -> None:
    tools = [tool("user"), tool("city"), tool("send", "user_id", "city")]
    flows = [flow("user", "send", user_id=0.9), flow("city", "send", city=0.9)]
    first = DRDSP.build_from_capabilities([], tools, provides=flows)
    second = DRDSP.build_from_capabilities([], tools[::-1], provides=flows[::-1])
    assert set(first.hyperedges()) == set(second.hyperedges())


fields = st.sampled_from("uvw")
scores = st.sampled_from([0.25, 0.5, 1.0])


@given(st.dictionaries(st.sampled_from("pqrs"), st.dictionaries(fields, scores, min_size=1)))
def test_covers_are_all_minimal_ones_and_the_surest_comes_first(
    offered: dict[str, dict[str, float]],
) -> None:
    providers = [flow(name, "c", **given) for name, given in offered.items()]
    needed = set("uvw")
    covers = [
        frozenset(some)
        for size in range(1, len(offered) + 1)
        for some in combinations(sorted(offered), size)
        if needed <= {field for name in some for field in offered[name]}
    ]
    minimal = {cover for cover in covers if not any(other < cover for other in covers)}
    found = minimal_covers(needed, providers)
    names = [frozenset(edge.provider[2:] for edge in cover) for cover in found]
    assert len(minimal) <= COVERS
    assert set(names) == minimal
    assert len(names) == len(minimal)
    if minimal:
        surest = {f: max(g.get(f, 0) for g in offered.values()) for f in needed}
        best = sum(map(nats, surest.values()))
        sums = [
            sum(nats(max(offered[n].get(f, 0) for n in cover)) for f in needed) for cover in names
        ]
        assert sums[0] >= best - 1e-9
        assert sums == sorted(sums)


def test_many_providers_are_not_all_combined() -> None:
    providers = [flow(f"p{n}", "c", **{f"f{n % 6}": 0.9}) for n in range(120)]
    assert len(minimal_covers({f"f{n}" for n in range(6)}, providers)) == COVERS


@given(
    st.integers(3, 20),
    st.lists(st.lists(st.floats(0.2, 1), min_size=20, max_size=20), min_size=2, max_size=30),
)
@settings(max_examples=25)
def test_what_one_provider_gives_alone_is_covered_however_many_others_do(
    inputs: int, offered: list[list[float]]
) -> None:
    """Nearly all assignments mix providers: the search ends before one comes that does not."""
    providers = [
        flow(f"p{n}", "c", **{f"f{i}": score for i, score in enumerate(given[:inputs])})
        for n, given in enumerate(offered)
    ]
    found = minimal_covers([f"f{i}" for i in range(inputs)], providers)
    assert found
    assert all(len(cover) == 1 for cover in found)


def test_an_input_that_need_not_flow_makes_a_provider_no_dearer() -> None:
    flows = [flow("a", "c", x=0.9), flow("b", "c", x=0.9, optional=0.4)]
    tools = [tool("a"), tool("b"), tool("c", "x")]
    graph = DRDSP.build_from_capabilities([], tools, provides=flows)
    first, second = (e.weight for e in graph.hyperedges() if e.kind is HyperedgeKind.PROVIDES)
    assert first == second


def test_names_with_the_signs_of_hyperedge_ids_stay_apart() -> None:
    tools = [
        tool("a+s:b"),
        tool("a"),
        tool("b"),
        tool("c", "x", "y"),
        tool("b>s:c"),
        tool("a%2Bs:b"),
    ]
    flows = [flow("a+s:b", "c", x=0.9, y=0.9), flow("a", "c", x=0.9), flow("b", "c", y=0.9)]
    flows.append(flow("a%2Bs:b", "c", x=0.9, y=0.9))
    graph = DRDSP.build_from_capabilities([], tools, provides=flows)
    into = {edge.sources for edge in graph.hyperedges() if edge.target == "s:c"}
    assert into == {("s:a+s:b",), ("s:a", "s:b"), ("s:a%2Bs:b",)}


@pytest.mark.parametrize("required", [None, True, "path", {"a": 1}, [1, None]])
def test_a_schema_whose_required_is_no_list_of_names_requires_nothing(required: object) -> None:
    odd = Tool(server="s", name="odd", input_schema={"type": "object", "required": required})
    assert DRDSP.build_from_capabilities([], [odd]).cost("s:odd") is not None
