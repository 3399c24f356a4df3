"""Literals passed to tools are parameters (SA-9, SA-6), typed by the tool's schema."""

# ruff: noqa: E501  # programs and their results, a row each

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from pml.analysis.analyse import analyse
from pml.analysis.parameters import bind_capability, input_schema
from pml.analysis.subschema import subschema
from pml.domain.capability import CapabilityParameter
from pml.domain.tools import Catalog, Tool
from tests.analysis.programs import EPIC_10, program

LIFTED: dict[str, tuple[str, dict[str, Any]]] = {
    "string": ("mcp.s.a({ path: 'x' })", {"path": "x"}),
    "every kind": (
        "mcp.s.a({ a: -1.5, b: true, c: null, d: `t`, e: [1, []], f: { g: {} } })",
        {"a": -1.5, "b": True, "c": None, "d": "t", "e": [1, []], "f": {"g": {}}},
    ),
    "type syntax": ("mcp.s.a({ a: ('x' as string)!, b: <number>1, c: 'y' as const })", {"a": "x", "b": 1, "c": "y"}),
    "leaves of what is no literal as a whole": (
        "mcp.s.a({ o: { p: [1, q, { r: 2 }], s: {} } })",
        {"o_p_0": 1, "o_p_2": {"r": 2}, "o_s": {}},
    ),
    "spread of a literal": ("mcp.s.a({ ...{ a: 1, b: q } })", {"a": 1}),
    "odd keys": ("mcp.s.a({ 'a-b': 1, 2: 3, [q]: 4, ['c']: 5, '': 6 })", {"a_b": 1, "_2": 3, "value": 4, "c": 5, "value_2": 6}),
    "the same key twice": ("mcp.s.a({ a: 1, a: 2 })", {"a": 2}),
    "no prototype": ("mcp.s.a({ __proto__: { a: 1 }, b: 2 })", {"b": 2}),
    "constant": ("const p = 'x'; mcp.s.a({ path: p })", {"path": "x"}),
    "constant in shorthand": ("const path = 'x' as const; mcp.s.a({ path })", {"path": "x"}),
    "constant deep inside": ("const p = 'x'; mcp.s.a({ o: [q, p] })", {"o_1": "x"}),
    "one constant for two tools": ("const p = 'x'; mcp.s.a({ a: p }); mcp.s.b({ b: p })", {"a": "x"}),
    "the same name": ("mcp.s.a({ a: 1 }); mcp.s.a({ a: 2, b: args.a_2 })", {"a": 1, "a_3": 2}),
    "names that the code reads": ("mcp.s.a({ a: args.a }); mcp.s.a({ a: 1 }); f(a_2)", {"a_3": 1}),
    "a tool's name": ("const t = 'a'; mcp.s[t]({ t })", {}),
    "a server's name": ("const s = 's'; mcp[s].a({ s })", {}),
    "assigned": ("let p = 'x'; p = 'y'; mcp.s.a({ p })", {}),
    "a let that keeps its value": ("let p = 'x'; mcp.s.a({ p })", {"p": "x"}),
    "a var": ("var p = 'x'; mcp.s.a({ p })", {}),
    "not constant": ("let p = 1; p++; mcp.s.a({ p })", {}),
    "computed": ("mcp.s.a({ a: 1 + 1, b: q ?? 'x', c: q ? 1 : 2, d: `${q}x`, e: f('x'), g: await 'x', h: !0, i: -0, j: 1n })", {}),
    "conditions": ("if (q === 'x') mcp.s.a(); switch (q) { case 'x': mcp.s.b() }", {}),
    "an object by name": ("const o = { a: 1 }; mcp.s.a(o); const p = [1]; mcp.s.b({ p })", {"a": 1, "p": [1]}),
    "the parts of an object by name": ("const o = { a: 1, b: [q, { c: 2 }] }; mcp.s.a({ o, x: o })", {"o_a": 1, "o_b_1": {"c": 2}}),
    "names of names": ("const a = 'x', b = a; const o = { b }; mcp.s.a(o)", {"b": "x"}),
    "spread of a name": ("const o = { a: 1, b: q, c: 3 }; mcp.s.a({ ...o, c: 2 })", {"a": 1, "c": 2}),
    "a helper's parameter": ("const f = (p) => mcp.s.a({ path: p }); f('x')", {"path": "x"}),
    "a helper that is called twice": ("const f = (p) => mcp.s.a({ p }); f('x'); f(q); f('y')", {"p": "x", "p_2": "y"}),
    "helpers of helpers": ("const f = (p) => mcp.s.a({ p }); const g = (q) => f([q, 1]); g('x')", {"p_1": 1, "p_0": "x"}),
    "an object for a helper": ("const f = (o) => mcp.s.a(o); f({ a: 1, b: q })", {"a": 1}),
    "a helper that others may call": ("const f = (p) => mcp.s.a({ p }); f('x'); xs.map(f)", {}),
    "a helper's parameter that is set": ("const f = (p) => { p = p + 1; return mcp.s.a({ p }) }; f(1)", {}),
    "a helper's parameter with a default": ("const f = (p = 1) => mcp.s.a({ p }); f(2)", {}),
    "a helper's parameter that is taken apart": ("const f = ({ p }) => mcp.s.a({ p }); f({ p: 1 })", {}),
    "a helper's parameter that decides": ("const f = (t) => mcp.s[t]({ t }); f('a')", {}),
    "an object that is changed": ("const o = { a: 1 }; o.a = 2; mcp.s.a(o)", {}),
    "what decides what is read": ("const k = 'x'; mcp.s.a({ k, v: q[k] })", {}),
    "args as a whole": ("const p = 'y'; mcp.s.a({ p, q: 'x', ...args })", {}),
    "args handed on": ("mcp.s.a({ q: 'x' }); Object.entries(args)", {}),
    "args asked what it has": ("mcp.s.a({ q: 'x' }); args.hasOwnProperty('q')", {}),
    "what is not passed": ("const x = 'x'; f(x, { a: 1 }); mcp.s.a('x')", {}),
    "shadowed": ("const p = 'x'; const f = (p) => mcp.s.a({ p }); f(q)", {}),
}  # fmt: skip


@pytest.mark.parametrize("name", LIFTED)
def test_which_literals_are_parameters(name: str) -> None:
    """SA-9."""
    source, expected = LIFTED[name]
    analysed = program(source)
    found = {p.name: p.default for p in analysed.parameters if p.lifted}
    assert found == expected
    assert [type(value) for value in found.values()] == [type(v) for v in expected.values()]
    spliced = re.findall(r'__pml\.arg\("([^"]*)", ', analysed.instrumented)
    assert spliced == list(expected)


def test_a_literal_is_spliced_where_it_stands_and_a_constant_where_it_is_defined() -> None:
    """SA-6: lines stay what they are."""
    source = "const p: 'x' = 'x' as const; // 'x'\nif (p) await mcp.s.a({ p, q: [`a\nb`,\n] })"
    assert program(source).instrumented == (
        "const p: 'x' = __pml.arg(\"p\", 'x' as const); // 'x'\n"
        'if (__pml.decide("d1", (p))) await mcp.s["a\\u22a5n1"]({ p, q: __pml.arg("q", [`a\nb`,\n]) })'
    ).replace("\\u22a5", r"\u22a5")


def test_the_structure_does_not_show_what_is_lifted() -> None:
    analysed = program(EPIC_10)
    assert [p.name for p in analysed.parameters] == ["path", "content"]
    assert "pml" not in repr(analysed.structure)


def test_names_that_the_code_reads_come_first_with_the_type_of_where_they_are_passed() -> None:
    """SA-9."""
    source = """
      const { limit = 5 } = args; const from = args.source;
      await mcp.fs.read({ encoding: "utf-8", path: from });
      await mcp.fs.write({ path: target, content: `${args.text ?? ""}` }); f(limit)
    """
    text = {"type": "string"}
    assert program(source).parameters == (
        CapabilityParameter(name="limit", schema={"default": 5}),
        CapabilityParameter(name="source", schema=text, required=True),
        CapabilityParameter(name="target", schema=text, required=True),
        CapabilityParameter(name="text", schema={"default": ""}),
        CapabilityParameter(name="f", required=True),
        CapabilityParameter(name="encoding", schema=text, default="utf-8", lifted=True),
    )


def test_arguments_that_nobody_knows_are_one_parameter_at_the_end() -> None:
    analysed = program("await mcp.s.a({ ...args, a: 1 }); return args.b")
    assert [p.name for p in analysed.parameters] == ["b", "..."]
    bound = bind_capability(analysed.parameters, {"a": 2, "b": 3, "c": 4})
    assert (bound.arguments, bound.lifted) == ({"a": "2", "b": "3", "c": "4"}, {})
    assert input_schema(analysed.parameters)["additionalProperties"] is True


def test_arguments_of_a_capability_are_lifted_like_a_tools() -> None:
    known = Tool(
        server="capabilities",
        name="sum_up",
        input_schema={"type": "object", "properties": {"path": {"type": "string"}}},
        annotations={"capabilityId": "cap_1"},
    )
    analysed = analyse(
        "return await capabilities.sum_up({ path: 'x' })", Catalog({"capabilities": [known]})
    )
    assert analysed.instrumented == (
        'return await capabilities["sum_up\\u22a5n1"]({ path: __pml.arg("path", \'x\') })'
    ).replace("\\u22a5", r"\u22a5")
    assert analysed.parameters == (
        CapabilityParameter(name="path", schema={"type": "string"}, default="x", lifted=True),
    )  # fmt: skip


SCHEMA = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "definitions": {
        "Path": {"type": "string", "minLength": 1},
        "Tree": {"type": "object", "properties": {"kids": {"items": {"$ref": "#/definitions/Tree"}}}},
        "Loop": {"$ref": "#/definitions/Loop"},
    },
    "properties": {
        "path": {"$ref": "#/definitions/Path", "description": "where"},
        "both": {"$ref": "#/definitions/Path", "maxLength": 5},
        "tree": {"$ref": "#/definitions/Tree"},
        "loop": {"$ref": "#/definitions/Loop"},
        "out": {"$ref": "https://example.org/x"},
        "maybe": {"anyOf": [{"type": "null"}, {"properties": {"x": {"enum": [{"$ref": "y"}]}}}]},
        "pair": {"items": [{"type": "string"}, {"type": "number"}]},
        "list": {"items": {"properties": {"$ref": {"type": "string"}}}},
        "map": {"additionalProperties": {"type": "boolean"}},
        "odd": "no schema",
    },
}  # fmt: skip
DIALECT = {"$schema": SCHEMA["$schema"]}


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        (("path",), {"type": "string", "minLength": 1, "description": "where"}),
        (("both",), {"allOf": [{"type": "string", "minLength": 1}, {"maxLength": 5}]}),
        (("tree",), {"type": "object", "properties": {"kids": {"items": {}}}}),
        (("tree", "kids", 3), {"type": "object", "properties": {"kids": {"items": {}}}}),
        (("maybe", "x"), {"enum": [{"$ref": "y"}]}),
        (("pair", 1), {"type": "number"}),
        (("list", 7), {"properties": {"$ref": {"type": "string"}}}),
        (("map", "any"), {"type": "boolean"}),
        *(((name,), {}) for name in ("loop", "out", "odd", "none")),
        (("path", "x"), {}),
        (("pair", 2), {}),
    ],
)
def test_the_schema_of_a_part_stands_alone(place: tuple[str | int, ...], expected: object) -> None:
    """SA-9: references are replaced; what goes round in a circle is left open."""
    assert subschema(SCHEMA, place) == ({**DIALECT, **expected} if expected else {})  # type: ignore[dict-item]


def test_a_schema_that_grows_without_end_is_cut() -> None:
    wide = {
        f"d{n}": {
            "properties": {"a": {"$ref": f"#/$defs/d{n + 1}"}, "b": {"$ref": f"#/$defs/d{n + 1}"}}
        }
        for n in range(99)
    }
    made = subschema({"$defs": wide, "properties": {"x": {"$ref": "#/$defs/d0"}}}, ("x",))
    assert len(repr(made)) < 50_000


PARAMETERS = (
    CapabilityParameter(name="repo", schema={"type": "string"}, required=True),
    CapabilityParameter(name="note"),
    CapabilityParameter(name="limit", schema={"type": "integer", "maximum": 9}, default=5, lifted=True),
)  # fmt: skip


def test_values_of_a_capability_go_where_their_parameters_are() -> None:
    bound = bind_capability(PARAMETERS, {"limit": 7, "repo": "r", "note": [1]})
    assert (bound.arguments, bound.lifted) == ({"repo": '"r"', "note": "[1]"}, {"limit": "7"})
    assert (bound.missing, bound.problems) == ((), ())


def test_what_cannot_be_bound_is_said_for_each_argument() -> None:
    bound = bind_capability(PARAMETERS, {"limit": 70, "rpeo": "r", "note": float("nan")})
    assert bound.missing == ("repo",)
    assert bound.problems == (
        "argument limit: 70 is greater than the maximum of 9",
        "there is no parameter 'rpeo'; did you mean 'repo'?",
        "'note' is no JSON: Out of range float values are not JSON compliant",
    )
    assert "x" in bind_capability((), {"x": 1}).problems[0]


def test_the_schema_of_a_capability_accepts_what_can_be_bound() -> None:
    schema = input_schema(PARAMETERS)
    assert schema["required"] == ["repo"]
    assert schema["properties"]["limit"] == {"type": "integer", "maximum": 9, "default": 5}
    assert schema["additionalProperties"] is False


values = st.recursive(st.booleans() | st.integers(-99, 99) | st.text("ab'\"\\\n", max_size=4), lambda inner: st.lists(inner, max_size=3))  # fmt: skip


@given(st.lists(values, max_size=6))
def test_every_literal_is_one_parameter_with_its_value(written: list[Any]) -> None:
    """A law: nothing is lost, doubled or changed between the code and its parameters."""
    source = "".join(f"await mcp.s.a({{ x: {_script(value)} }});" for value in written)
    parameters = program(source).parameters
    assert [p.default for p in parameters] == written
    assert len({p.name for p in parameters}) == len(written)
    assert all(p.lifted and not p.required and p.default is not UNSET for p in parameters)


def _script(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_script, value))}]"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
        return f"'{escaped}'"
    return str(value).lower() if isinstance(value, bool) else str(value)
