"""Arguments by kind (SA-4), and calls found behind names (SA-5)."""

from typing import Any

import pytest

from pml.domain.record import to_builtins
from pml.domain.structure import Task
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
    "template without substitution": ("{ x: `a` }", {"x": literal("a")}),
    "types are ignored": ("{ x: ('a' as string)! satisfies string }", {"x": literal("a")}),
    "constant by name": ("{ k }", {"k": literal("kept", "k")}),
    "quoted and computed keys": (
        "{ 'a b': 1, ['c']: 2, [z]: 3 }",
        {"a b": literal(1, "a_b"), "c": literal(2, "c"), "...": literal(3, "value")},
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
