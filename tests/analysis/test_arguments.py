"""Arguments by kind (SA-4), and calls found behind names (SA-5)."""

from typing import Any

import pytest

from pml.domain.record import to_builtins
from pml.domain.structure import Computed, Task
from tests.analysis.programs import codes, program


def literal(value: object, name: str | None = "x") -> dict[str, Any]:
    found = {"type": "literal", "value": value}
    return found if name is None else {**found, "parameterName": name}


def reference(expression: str, node: str = "n1") -> dict[str, Any]:
    return {"type": "reference", "expression": expression, "node": node}


def parameter(name: str) -> dict[str, Any]:
    return {"type": "parameter", "parameterName": name}


def computed(expression: str, *inputs: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "computed", "expression": expression}
    return {**found, "inputs": inputs} if inputs else found


BEFORE = "const r = await mcp.s.a(); const { text, rows: [row] } = r; const k = 'kept'; "
ARGUMENTS = {
    "string": ("{ x: 'a\\n\\u{e9}' }", {"x": literal("a\n\u00e9")}),
    "numbers": ("{ x: [1, -2.5, 0x10, 1_000] }", {"x": literal([1, -2.5, 16, 1000])}),
    "constants": ("{ x: { a: true, b: null } }", {"x": literal({"a": True, "b": None})}),
    "array with a hole": ("{ x: [,] }", {"x": computed("[,]")}),
    "array with holes at the end": ("{ x: [1,,] }", {"x": computed("[1,,]", parameter("x_0"))}),
    "array with a comma at the end": ("{ x: [1,] }", {"x": literal([1])}),
    "template without substitution": ("{ x: `a` }", {"x": literal("a")}),
    "types are ignored": ("{ x: ('a' as string)! satisfies string }", {"x": literal("a")}),
    "constant by name": ("{ k }", {"k": literal("kept", "k")}),
    "quoted and computed keys": (
        "{ [z]: 3, 'a b': 1, ['c']: 2 }",
        {
            "...": computed("[z]: 3", parameter("z"), parameter("value")),
            "a b": literal(1, "a_b"),
            "c": literal(2, "c"),
        },
    ),
    "result": ("{ x: r.a[0]['b'] }", {"x": reference("r.a[0]['b']")}),
    "destructured": ("{ text, y: row.id }", {"text": reference("text"), "y": reference("row.id")}),
    "awaited in place": (
        "{ x: (await mcp.s.c()).y }",
        {"x": reference("(await mcp.s.c()).y", "n3")},
    ),
    "identifier that nothing declares": ("{ path }", {"path": parameter("path")}),
    "member of args": ("{ x: args.y }", {"x": parameter("y")}),
    "member of a parameter": ("{ x: path.y }", {"x": computed("path.y", parameter("path"))}),
    "pure code": (
        "{ x: `${r.a}-${path}` }",
        {"x": computed("`${r.a}-${path}`", reference("r.a"), parameter("path"))},
    ),
    "mixed object": (
        "{ x: { a: 1, b: [text] } }",
        {"x": computed("{ a: 1, b: [text] }", reference("text"), parameter("x_a"))},
    ),
    "pure code of nothing": ("{ x: Math.PI }", {"x": computed("Math.PI")}),
    "spread": ("{ ...r, y: 1 }", {"...": reference("r"), "y": literal(1, "y")}),
    "no object literal": ("r.options", {"...": reference("r.options")}),
    "the whole of args": ("args", {"...": computed("args")}),
    "callback": (
        "{ x: r.rows.filter((q) => q.id > path) }",
        {
            "x": computed(
                "r.rows.filter((q) => q.id > path)",
                reference("r.rows"),
                reference("q.id"),
                parameter("path"),
            )
        },
    ),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments_of_a_call(name: str) -> None:
    """SA-4."""
    written, expected = ARGUMENTS[name]
    nodes = program(f"{BEFORE} await mcp.s.b({written});").structure.nodes
    (call,) = (n for n in nodes if isinstance(n, Task) and n.tool == "s:b")
    assert to_builtins(call.arguments) == expected


FOUND = {
    "alias of a server": ("const { fs } = mcp; fs.read({ path })", ["fs:read"]),
    "alias of a tool": ("const read = mcp.fs.read; read({ path })", ["fs:read"]),
    "destructured tool": ("const { fs: { read: get } } = mcp; get({ path })", ["fs:read"]),
    "assigned later": ("let get; get = mcp.fs.read; get({ path })", ["fs:read"]),
    "brackets": ('mcp["my-server"]["read-file"]({})', ["my-server:read-file"]),
    "constant key": ("const t = 'read'; mcp.fs[t]({ path })", ["fs:read"]),
    "type syntax": ("(mcp.fs.read as any)!<string>({ path })", ["fs:read"]),
    "optional": ("mcp?.fs?.read?.({ path })", ["fs:read"]),
    "escaped name": ("mcp.fs.re\\u0061d({ path })", ["fs:read"]),
    "handed on": ("paths.map(mcp.fs.read)", ["fs:read"]),
    "bound": ("const f = mcp.fs.read.bind(null, { path })", ["fs:read"]),
    "server to a helper": ("const f = (s) => s.read({ path }); f(mcp.fs)", ["fs:read"]),
    "either of two": ("const f = c ? mcp.s.a : mcp.s.b; f()", ["s:a", "s:b"]),
    "in a function that nobody calls": ("const f = () => mcp.s.a()", ["s:a"]),
    "shadowed mcp is no mcp": ("const f = (mcp) => mcp.s.a(); f(x)", []),
    "in types, strings and comments": ("let x: typeof mcp.s.a; 'mcp.s.a()' /* mcp.s.a() */", []),
    "unknown tool": ("mcp.s[t]()", ["*"]),
    "unknown server": ("const s = mcp[x]; s.read()", ["*"]),
    "name with two meanings": ("let f = mcp.s.a; if (c) f = mcp.s.b; f()", ["s:a", "s:b"]),
}


@pytest.mark.parametrize("name", FOUND)
def test_calls_are_found_behind_names(name: str) -> None:
    """SA-5."""
    source, tools = FOUND[name]
    structure = program(source).structure
    assert [node.tool for node in structure.nodes if isinstance(node, Task)] == tools
    assert structure.complete is ("*" not in tools)


@pytest.mark.parametrize(
    "source", ["f(mcp)", "return Object.keys(mcp)", "const o = { s: mcp.s }; g(o)", "g([mcp.s])"]
)
def test_a_server_that_escapes_makes_the_structure_incomplete(source: str) -> None:
    """SA-5: such code needs approval."""
    analysed = program(source)
    assert not analysed.structure.complete
    assert "dynamic-tool" in codes(analysed)


MAY_BE_OTHERS = [
    # set only sometimes, or not yet
    "let x; if (args.c) x = args.a; await mcp.s.b({ x });",
    "let x; try { await mcp.s.a(); x = args.a } catch {} await mcp.s.b({ x });",
    "let x; [1].forEach(() => { x = args.a }); await mcp.s.b({ x });",
    "const f = async (x) => mcp.s.b({ x }); await f(args.x); await f();",
    "await f(); var x = 'a'; async function f() { await mcp.s.b({ x }) }",
    "await f(); var x = args.a; async function f() { await mcp.s.b({ x }) }",
    # counted or deleted
    "for (;;) { await mcp.s.b({ x: args.x }); args.x++ }",
    "for (;;) { await mcp.s.b({ x }); --x }",
    "let { x } = args; x++; await mcp.s.b({ x });",
    "args.o.b++; await mcp.s.b({ x: args.o });",
    "args['o'][0].b++; await mcp.s.b({ x: args.o });",
    "const [o] = args.items; o.n++; await mcp.s.b({ x: args.items });",
    "delete args.x; await mcp.s.b({ x: args.x });",
    "const o = { x: args.a }; delete o.x; await mcp.s.b({ x: o.x });",
    "args.items.map(o => { delete o.y; return 1 }); await mcp.s.b({ x: args.items });",
    # changed behind another name
    "const f = (o) => { arguments[0].y = 1 }; f(args.o); await mcp.s.b({ x: args.o });",
    "function f(s, o) { o.y = 1 } f`${args.o}`; await mcp.s.b({ x: args.o });",
    "function f(o = args.o) { o.y = 1 } f(); await mcp.s.b({ x: args.o });",
    "Reflect.set(args.o, 'y', 1); await mcp.s.b({ x: args.o });",
    "JSON.stringify(args.o, (k, v) => { v.y = 1 }); await mcp.s.b({ x: args.o });",
    "class A { o = args.o; go() { this.o.y = 1 } } new A().go(); await mcp.s.b({ x: args.o });",
    # something else in its place
    "await mcp.s.b({ x: 'a', ...args.more });",
    "await mcp.s.b({ x: 'a', ['' + 'x']: 'b' });",
    "await mcp.s.b({ x: 'a', [args.k]: 'b' });",
    "Object.prototype.toJSON = () => 1; await mcp.s.b({ x: 'a' });",
    "await mcp.s.b({ x: 'a', __proto__: { toJSON() { return 1 } } });",
]


@pytest.mark.parametrize("source", MAY_BE_OTHERS)
def test_what_may_be_another_value_when_it_is_sent_is_computed(source: str) -> None:
    """SA-4, HIL-2: a plan that says ``x = "a"`` is true."""
    nodes = program(source).structure.nodes
    (call,) = (n for n in nodes if isinstance(n, Task) and n.tool == "s:b")
    assert isinstance(call.arguments["x"], Computed)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("{ x: 'a', ...{ x: 'b' } }", literal("b", "x_2")),
        ("{ ...args.more, x: 'a' }", literal("a")),
        ("{ x: 'a', __proto__: { x: 'b', y: 1 } }", literal("a")),
        ("{ x: args.a, x: args.b }", parameter("b")),
    ],
)
def test_the_last_of_several_values_is_sent(written: str, expected: object) -> None:
    """SA-4."""
    (call,) = program(f"await mcp.s.b({written});").structure.nodes
    assert isinstance(call, Task)
    found = to_builtins(call.arguments)
    assert (found["x"], "__proto__" in found) == (expected, False)
