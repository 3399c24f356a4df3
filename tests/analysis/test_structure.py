"""Nodes, control edges and layers by rule (SA-2, SA-3); epic 10 exactly."""

# ruff: noqa: E501  # programs and their results, a row each

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.domain.record import to_builtins
from pml.domain.structure import Decision, EdgeType, Fork, Join, Loop, Task
from tests.analysis.programs import EPIC_10, ONE_OF_EACH, control, program, provides


def test_the_example_of_epic_10_comes_out_as_drawn() -> None:
    """SA-3, stories 10.1 to 10.3."""
    structure = to_builtins(program(EPIC_10).structure)
    nodes = [{k: v for k, v in node.items() if k != "arguments"} for node in structure["nodes"]]
    assert nodes == [
        {"type": "task", "id": "n1", "tool": "fs:stat"},
        {"type": "decision", "id": "d1", "condition": "file.exists"},
        {"type": "task", "id": "n2", "tool": "fs:read"},
        {"type": "task", "id": "n3", "tool": "fs:create"},
        {"type": "task", "id": "n4", "tool": "fs:write"},
    ]
    assert list(structure["edges"]) == [
        {"from": "n1", "to": "d1", "type": "sequence"},
        {"from": "d1", "to": "n2", "type": "conditional", "outcome": "true"},
        {"from": "d1", "to": "n3", "type": "conditional", "outcome": "false"},
        {"from": "n3", "to": "n4", "type": "sequence"},
        {
            "from": "n1",
            "to": "n2",
            "type": "provides",
            "coverage": "optional",
            "evidence": "schema",
        },
    ]
    assert program(EPIC_10).structure.layers == (("n1",), ("n2", "n3"), ("n4",))
    assert program(EPIC_10).structure.parameters == ("path",)


A, B, C, D = (f"await mcp.s.{name}()" for name in "abcd")

CONTROL = {
    "straight line": (f"{A}; {B}; {C}", "n1>n2 n2>n3"),
    "if without else": (f"if (c) {A}; {B}", "d1-true>n1 d1-false>n2 n1>n2"),
    "if with else": (f"if (c) {A}; else {B}; {C}", "d1-true>n1 d1-false>n2 n1>n3 n2>n3"),
    "else if": (
        f"if (c) {A}; else if (d) {B}; else {C}",
        "d1-true>n1 d1-false>d2 d2-true>n2 d2-false>n3",
    ),
    "call in a condition": (f"if ({A}) {B}", "n1>d1 d1-true>n2"),
    "early return": (f"if (c) return 1; {A}", "d1-false>n1"),
    "early throw": (f"if (c) throw 1; {A}; {B}", "d1-false>n1 n1>n2"),
    "both arms leave": (f"if (c) {{ {A}; return }} else {{ {B}; return }}", "d1-true>n1 d1-false>n2"),
    "pure if": (f"{A}; if (c) x = 1; else y = 2; {B}", "n1>n2"),
    "pure if at the end": (f"{A}; if (c) return 1; return 2", ""),
    "ternary": (f"const x = c ? {A} : {B}; {C}", "d1-true>n1 d1-false>n2 n1>n3 n2>n3"),
    "and": (f"c && {A}; {B}", "d1-true>n1 d1-false>n2 n1>n2"),
    "or": (f"c || {A}; {B}", "d1-false>n1 d1-true>n2 n1>n2"),
    "nullish": (f"const x = c ?? {A}; {B}", "d1-false>n1 d1-true>n2 n1>n2"),
    "chained and": (f"c && {A} && {B}", "d1-true>n1 d1-false>d2 n1>d2 d2-true>n2"),
    "optional chain": (f"o?.f({A}); {B}", "d1-true>n1 d1-false>n2 n1>n2"),
    "optional chain on a server guards nothing": ("await mcp?.s?.a?.()", ""),
    "logical assignment": (f"x ||= {A}; {B}", "d1-false>n1 d1-true>n2 n1>n2"),
    "switch": (
        f"switch (x) {{ case 'p': {A}; break; case 2: {B}; break; default: {C} }} {D}",
        "d1-case:p>n1 d1-case:2>n2 d1-default>n3 n1>n4 n2>n4 n3>n4",
    ),
    "calls in the tests of a switch": (
        f"switch (x) {{ case {A}: {B}; break; case {C}: {D} }}",
        "n1>d1 n3>d1 d1-case:<1>>n2 n1>n3 d1-case:<2>>n4",
    ),
    "a helper in the test of a switch and in an arm": (
        f"const h = async () => {{ {A} }}; switch (x) {{ case await h(): {B}; break; default: await h() }}",
        "n1>d1 d1-case:<1>>n2",
    ),
    "fall through": (
        f"switch (x) {{ case 'p': {A}; case 'q': {B} }} {C}",
        "d1-case:p>n1 d1-case:q>n2 n1>n2 d1-default>n3 n2>n3",
    ),
    "try": (
        f"try {{ {A}; {B} }} catch (e) {{ {C} }} {D}",
        "n1>n2 n2>d1 d1-catch>n3 d1-ok>n4 n3>n4",
    ),
    "try that returns": (f"try {{ return {A} }} catch {{ {B} }} {C}", "n1>d1 d1-catch>n2 n2>n3"),
    "helper that returns out of a try": (
        f"const f = async () => {{ try {{ return {A} }} catch {{ return null }} }}; await f(); {B}",
        "n1>d1 n1>n2 d1-catch>n2",
    ),
    "helper that does something in its catch": (
        f"const f = async () => {{ try {{ return {A} }} catch {{ {B} }} }}; await f(); {C}",
        "n1>d1 d1-catch>n2 n1>n3 n2>n3",
    ),
    "return out of a try before what is finally": (
        f"try {{ if (c) return {A} }} catch {{ }} finally {{ {B} }}",
        "d1-true>n1 d1-false>d2 n1>d2 n1>n2 d2-catch>n2 d2-ok>n2",
    ),
    "break through a finally": (
        f"o: {{ try {{ if (c) break o; {A} }} finally {{ {B} }} {C} }} {D}",
        "d1-false>n1 d1-true>n2 n1>n2 n2>n3 n2>n4 n3>n4",
    ),
    "branch of a fork that returns out of a try": (
        "const f = async () => { try { return await mcp.s.a() } catch { return 0 } }; await Promise.all(xs.map((x) => f(x)));",
        "f1>n1 n1>d1 n1>j1 d1-catch>j1",
    ),
    "callback by its name": (
        "const f = async (x) => { await mcp.s.a() }; await Promise.all([1, 2].map(f));",
        "f1>n1 n1>j1",
    ),
    "callback by its name, per element": (
        f"const f = async (x) => {{ {A} }}; [1, 2].forEach(f); {B}",
        "l1=n1 l1>n2",
    ),
    "functions out of an array": (
        "const a = async () => mcp.s.a(); const b = async () => mcp.s.b(); const steps = [a, b]; for (const s of steps) await s();",
        "l1=n1 l1=n2",
    ),
    "a function out of a collection, called in a branch too": (
        f"const f = async () => {{ {A} }}; if (c) await f(); const m = new Map([['k', f]]); await m.get(k)();",
        "d1-false>n1 d1-true>n1",
    ),
    "a callback out of an array": (
        f"const f = async () => {{ {A} }}; if (c) await f(); await [f].reduce((p, g) => p.then(g), q);",
        "d1-false>n1 d1-true>n1 n1>l1 d1-false>l1",
    ),
    "what has been waited for is before what is decided after it": (
        f"const p = mcp.s.a(); await p; if (c) return; await p; {B}",
        "n1>d1 d1-false>n2",
    ),
    "finally": (f"try {{ {A} }} finally {{ {B} }} {C}", "n1>n2 n2>n3"),
    "throw to catch": (
        f"try {{ if (c) throw 1; {A} }} catch {{ {B} }}",
        "d1-false>n1 d1-true>d2 n1>d2 d2-catch>n2",
    ),
    "for of": (f"for (const x of {A}) {{ {B}; {C} }} {D}", "n1>l1 l1=n2 n2>n3 l1>n4"),
    "for": (f"for (let i = 0; i < 3; i++) {A}; {B}", "l1=n1 l1>n2"),
    "while": (f"while ({A}) {{ {B} }} {C}", "l1=n1 n1>n2 l1>n3"),
    "do while": (f"do {{ {A} }} while ({B}); {C}", "l1=n1 n1>n2 l1>n3"),
    "continue": (
        f"for (const x of xs) {{ if (x) continue; {A} }} {B}",
        "l1=d1 d1-false>n1 l1>n2",
    ),
    "break": (f"while (true) {{ {A}; if (c) break; {B} }} {C}", "l1=n1 n1>d1 d1-false>n2 l1>n3"),
    "labelled break": (
        f"o: for (const x of xs) {{ for (const y of x) {{ if (y) break o; {A} }} {B} }} {C}",
        "l1=l2 l2=d1 d1-false>n1 l2>n2 l1>n3",
    ),
    "pure loop": (f"for (const x of xs) y += x; {A}", ""),
    "pure loop that may return": (f"for (const x of xs) if (x) return; {A}", "l1=d1 l1>n1"),
    "promise all": (
        f"await Promise.all([mcp.s.a(), mcp.s.b()]); {C}",
        "f1>n1 f1>n2 n1>j1 n2>j1 j1>n3",
    ),
    "branch in promise all": (
        f"await Promise.all([c ? mcp.s.a() : 0, mcp.s.b()]); {C}",
        "f1>d1 d1-true>n1 f1>n2 d1-false>j1 n1>j1 n2>j1 j1>n3",
    ),
    "map under promise all": (
        f"await Promise.all(xs.map(async (x) => {{ {A}; {B} }})); {C}",
        "f1>n1 n1>n2 n2>j1 j1>n3",
    ),
    "race of started calls": (
        f"const p = mcp.s.a(), q = mcp.s.b(); await Promise.race([p, q]); {C}",
        "n1>n3 n2>n3",
    ),
    "started, awaited later": (f"const p = mcp.s.a(); {B}; await p; {C}", "n1>n3 n2>n3"),
    "for each": (f"xs.forEach((x) => {{ mcp.s.a(x) }}); {B}", "l1=n1 l1>n2"),
    "reduce": (f"await xs.reduce(async (p, x) => {{ await p; {A} }}, 0); {B}", "l1=n1 l1>n2"),
    "then": (f"await mcp.s.a().then((x) => mcp.s.b()).catch(() => mcp.s.c()); {D}", "n1>n2 n2>n3 n3>n4"),
    "called on the spot": (f"{A}; await (async () => {{ {B} }})(); {C}", "n1>n2 n2>n3"),
    "helper called once": (f"const h = async () => {A}; {B}; await h(); {C}", "n2>n1 n1>n3"),
    "helper called twice": (f"async function h() {{ {A} }} await h(); {B}; await h(); {C}", "n1>n2 n2>n3"),
    "helper in both arms": (
        f"const h = async () => {A}; if (c) await h(); else await h(); {B}",
        "d1-false>n1 d1-true>n1 n1>n2",
    ),
    "helper in a branch and after it": (
        f"const h = async () => {A}; if (c) await h(); await h(); {B}",
        "d1-false>n1 d1-true>n1 n1>n2",
    ),
    "recursion": (f"async function h(n) {{ if (n) await h(n - 1); {A} }} await h(2)", "d1-false>n1 d1-true>n1"),
    "method": (f"class K {{ async go() {{ {A} }} }} await new K().go(); {B}", "n1>n2"),
    "unreachable": (f"return 1; {A}", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", CONTROL)
def test_control_edges_of_a_construct(name: str) -> None:
    """SA-2, SA-3."""
    source, edges = CONTROL[name]
    assert control(program(source).structure) == edges


def test_ids_count_per_kind_in_source_order() -> None:
    """SA-2."""
    nodes = program(ONE_OF_EACH).structure.nodes
    for kind, letter in ((Task, "n"), (Decision, "d"), (Fork, "f"), (Join, "j"), (Loop, "l")):
        ids = {node.id for node in nodes if isinstance(node, kind)}
        assert ids == {f"{letter}{n}" for n in range(1, len(ids) + 1)}
    structure = program(ONE_OF_EACH).structure
    starts = [structure.locations[f"n{n}"].start for n in range(1, 20)]
    assert starts == sorted(starts)


def test_a_call_inside_the_arguments_of_another_runs_first() -> None:
    structure = program("return await mcp.s.a({ x: await mcp.s.b() })").structure
    assert [node.id for node in structure.nodes] == ["n2", "n1"]
    assert control(structure) == "n2>n1"


def test_layers_are_the_depth_in_the_flow() -> None:
    structure = program(
        f"const p = mcp.s.a(); {B}; for (const x of xs) {C}; await p; {D}"
    ).structure
    assert structure.layers == (("n1", "n2"), ("n3",), ("n4",))


def test_locations_name_the_place_in_the_source() -> None:
    location = program(EPIC_10).structure.locations["n3"]
    assert (location.line, location.column) == (6, 9)
    assert EPIC_10.encode()[location.start : location.end] == b"mcp.fs.create({ path })"


PROVIDES = {
    "direct": ("await mcp.s.a({ x: await mcp.s.b() })", {("n2", "n1")}),
    "variable": ("const x = await mcp.s.a(); await mcp.s.b({ y: x.z[0] })", {("n1", "n2")}),
    "destructuring": (
        "const { a: { b: [c] }, ...d } = await mcp.s.a(); await mcp.s.b({ c, d })",
        {("n1", "n2")},
    ),
    "template and pure code": (
        "const x = await mcp.s.a(); const y = x.trim().split(','); await mcp.s.b({ q: `-${y[0]}` })",
        {("n1", "n2")},
    ),
    "spread": ("const x = await mcp.s.a(); await mcp.s.b({ ...x })", {("n1", "n2")}),
    "promise all": (
        "const [x, y] = await Promise.all([mcp.s.a(), mcp.s.b()]); await mcp.s.c({ y })",
        {("n2", "n3")},
    ),
    "map": (
        "const xs = await Promise.all(ids.map((id) => mcp.s.a({ id }))); await mcp.s.b({ xs })",
        {("n1", "n2")},
    ),
    "helper": (
        "const h = async (x) => (await mcp.s.a({ x })).y; const r = await h(1); await mcp.s.b({ r })",
        {("n1", "n2")},
    ),
    "reassigned": (
        "let r = await mcp.s.a(); r = await mcp.s.b(); await mcp.s.c({ r })",
        {("n2", "n3")},
    ),
    "one of two": (
        "let r = await mcp.s.a(); if (c) r = await mcp.s.b(); await mcp.s.c({ r })",
        {("n1", "n3"), ("n2", "n3")},
    ),
    "collected": (
        "const out = []; for (const x of xs) out.push(await mcp.s.a(x)); await mcp.s.b({ out })",
        {("n1", "n2")},
    ),
    "then": ("await mcp.s.a().then((x) => mcp.s.b({ x }))", {("n1", "n2")}),
    "loop variable": ("for (const f of await mcp.s.a()) await mcp.s.b({ f })", {("n1", "n2")}),
    "nothing flows": ("await mcp.s.a(); await mcp.s.b({ x: 1 })", set()),
}  # fmt: skip


@pytest.mark.parametrize("name", PROVIDES)
def test_a_result_that_flows_into_an_argument_is_an_edge(name: str) -> None:
    """SA-3: ``provides`` with evidence ``dataflow``."""
    source, edges = PROVIDES[name]
    found = provides(program(source).structure)
    assert {(u, v) for u, v, evidence, _coverage in found if evidence == "dataflow"} == edges


def test_no_schema_edge_stands_beside_a_dataflow_edge() -> None:
    source = "const s = await mcp.fs.stat({ path }); await mcp.fs.read({ path: s.encoding })"
    assert provides(program(source).structure) == {("n1", "n2", "dataflow", "strict")}


def test_schema_edges_need_a_path_from_provider_to_consumer() -> None:
    both = "if (c) await mcp.fs.stat({ path }); else await mcp.fs.read({ path })"
    assert provides(program(both).structure) == set()


@given(st.lists(st.sampled_from(list(CONTROL)), min_size=1, max_size=5))
def test_edges_join_nodes_and_happens_before_has_no_cycle(names: list[str]) -> None:
    """SA-3: whatever constructs follow one another."""
    source = "\n".join(f"await (async () => {{ {CONTROL[name][0]} }})();" for name in names)
    structure = program(source).structure
    place = {node.id: index for index, node in enumerate(structure.nodes)}
    after: dict[str, set[str]] = {name: set() for name in place}
    for edge in structure.edges:
        assert {edge.source, edge.target} <= set(place)
        if edge.type is not EdgeType.PROVIDES:
            after[edge.source].add(edge.target)
    open_nodes = set(place)
    while leaves := {name for name in open_nodes if not after[name] & open_nodes}:
        open_nodes -= leaves
    assert not open_nodes
    layered = [name for layer in structure.layers for name in layer]
    assert sorted(layered) == sorted(n.id for n in structure.nodes if n.id.startswith("n"))
