"""Parameters: found in the code, bound before anything runs (SA-4)."""

# ruff: noqa: E501  # programs, a row each

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.analysis.parameters import bind, bind_capability, input_schema
from pml.analysis.schemas import faults
from pml.analysis.signature import capability_signature
from pml.domain.program import Severity
from tests.analysis.programs import program


def test_parameters_are_in_order_of_first_use() -> None:
    source = "const { b, ...rest } = args2; f(args.z, path, args['a']); const { q: r } = args; path"
    assert program(source).structure.parameters == ("args2", "f", "z", "path", "a", "q")
    assert program(source).structure.variables == ("args2", "f", "path")


def test_declared_names_and_standard_names_are_no_parameters() -> None:
    source = """
      const a = 1, [b, { c: d }] = [2, {}]; let e; var g; class K {} enum E { X, Y = X }
      function f(h, { i }, ...j) { return h + i + j } try { f() } catch (k) { k }
      for (const l of []) l; for (let m = 0; m < 1; m++) m; label: for (const n in {}) n;
      (async (o = 1, p = o) => p)(); type T = U; interface V {} let w: X; x: { break x }
      JSON; Promise; undefined; NaN; globalThis; URL; structuredClone; setTimeout; console;
      crypto; ToolError; Symbol; Intl; Infinity; fetch; arguments; TextEncoder; queueMicrotask
      return { a, b, d, e, g, K, E, q: 1, r() { return 2 } }.s
    """
    assert program(source).structure.parameters == ()


def test_defaults_of_parameters_do_not_see_what_the_body_declares() -> None:
    """And a `var` of the body may be a parameter again; a static block is a body too."""
    source = """
      function f(x = a) { var a = 3; return x + a }
      const g = ({ y = b, [c]: z }, w = () => d) => { for (var b of w) { var c = b, d; } function w() {} };
      function h(x) { for (var x of x) { var x = x } return x }
      class K { static { var e = 1 } m() { return e } }
      (function v() { var v = 1; return v })
    """
    analysed = program(source)
    assert analysed.structure.parameters == ("a", "b", "c", "d", "e")
    assert analysed.errors == ()


def test_the_name_of_a_class_expression_is_its_own() -> None:
    analysed = program(
        "const a = 1; const f = class a { m() { return a } }; class b {} g(b, class b {})"
    )
    assert (analysed.errors, analysed.structure.parameters) == ((), ("g",))


def test_a_name_that_is_also_declared_is_a_parameter_only_through_args() -> None:
    structure = program("const path = args.path; return path").structure
    assert (structure.parameters, structure.variables) == (("path",), ())


def test_every_parameter_gets_its_value_as_json() -> None:
    bound, said = bind(
        program("f(path, args.n)"), {"path": "\u00e9", "n": [1, {"a": None}], "f": 1}
    )
    assert {name: json.loads(text) for name, text in bound.items()} == {
        "f": 1,
        "path": "\u00e9",
        "n": [1, {"a": None}],
    }
    assert said == ()


def test_a_parameter_without_a_value_names_the_nearest() -> None:
    _bound, said = bind(program("const path = 1;\nreturn pth + filname"), {"filename": "x"})
    assert [(d.severity, d.code, d.line, d.column) for d in said] == [
        (Severity.ERROR, "missing-parameter", 2, 8),
        (Severity.ERROR, "missing-parameter", 2, 14),
        (Severity.WARNING, "unknown-parameter", 1, 1),
    ]
    assert "did you mean 'path'?" in said[0].message
    assert "did you mean 'filename'?" in said[1].message
    assert "did you mean 'filname'?" in said[2].message


def test_what_the_code_copes_without_may_be_missing() -> None:
    source = """
      const { a = 1, b } = args; const c = args.c;
      if (b) f(b); return [args.d ?? 2, args.e?.x, c || 3, !args.g, args.h === undefined, i ?? 1]
    """
    bound, said = bind(program(source), {"f": 0})
    assert (bound, said) == ({"f": "0"}, ())


def test_arguments_that_the_code_does_not_name_are_kept_only_for_args_as_a_whole() -> None:
    assert bind(program("return Object.keys(args)"), {"x": 1}) == ({"x": "1"}, ())
    bound, said = bind(program("return args.y"), {"x": 1, "y": 2})
    assert bound == {"y": "2"}
    assert [(d.severity, d.code, d.text) for d in said] == [
        (Severity.WARNING, "unknown-parameter", "x")
    ]


@pytest.mark.parametrize(
    "use", ["args.hasOwnProperty('x')", "args?.['toString']?.()", "(args.valueOf!)().x"]
)
def test_what_every_object_has_is_no_argument(use: str) -> None:
    analysed = program(f"return {use}")
    assert analysed.structure.parameters == ()
    assert bind(analysed, {"x": 1}) == ({"x": "1"}, ())
    assert program("return args.valueOf + args.x()").structure.parameters == ("valueOf", "x")


def test_a_value_that_is_no_json_is_an_error() -> None:
    _bound, said = bind(program("return x"), {"x": float("nan")})
    assert [(d.severity, d.code) for d in said] == [(Severity.ERROR, "bad-parameter")]


@pytest.mark.parametrize(
    ("source", "schema"),
    [
        ("f(args.x ?? 'UTC')", {"default": "UTC"}),
        ("f(args.x || 5, args.x || 5)", {"default": 5}),
        ("const { x = true } = args; f(x)", {"default": True}),
        ("const { x: y = [] } = args; f(y)", {"default": []}),
        ("const y = args.x; f(y ?? { a: 1 })", {"default": {"a": 1}}),
        ("f(args.x ?? 1, args.x ?? 2)", {}),
        ("f(args.x ?? 1, args.x ?? true)", {}),
        ("f(args.x ?? null, 1 ?? args.x)", {}),
        ("f(args.x ?? q)", {}),
        ("await mcp.fs.read({ path: args.x ?? 'a' })", {"type": "string", "default": "a"}),
    ],
)
def test_what_the_code_takes_instead_is_the_default_of_a_parameter(
    source: str, schema: object
) -> None:
    """SA-9."""
    (found,) = (p for p in program(source).parameters if p.name == "x")
    assert (found.schema, found.required) == (schema, False)


names = st.sampled_from(["alpha", "beta", "gamma", "delta"])


@given(st.lists(names), st.dictionaries(names, st.integers()))
def test_every_parameter_is_bound_or_missing(used: list[str], args: dict[str, int]) -> None:
    """A law: nothing is lost between the code and its arguments."""
    bound, said = bind(
        program(";".join(f"print(args.{name})" for name in used)), {**args, "print": 0}
    )
    missing = {d.text for d in said if d.code == "missing-parameter"}
    unused = {d.text for d in said if d.code == "unknown-parameter"}
    assert set(bound) - {"print"} == set(used) & set(args)
    assert missing == set(used) - set(args)
    assert unused - {"print"} == set(args) - set(used)


def test_to_a_program_with_errors_nothing_is_bound() -> None:
    """SA-7: its source may be of any size, and is not read again."""
    assert bind(program("const x = ; args.y"), {"z": 1}) == ({}, ())


@pytest.mark.parametrize("value", [1, "b", [True], None])
def test_a_default_is_no_contract(value: object) -> None:
    """SA-9: it hints at a type, and JavaScript may cope with others."""
    parameters = program("return args.x ?? 'a'").parameters
    assert bind_capability(parameters, {"x": value}).problems == ()
    assert faults(input_schema(parameters), {"x": value}) == []
    assert "x?: string" in capability_signature("c", parameters)


@pytest.mark.parametrize(
    ("value", "fits"), [("a", True), (None, True), (1, False), ([None], False)]
)
def test_null_may_stand_for_what_the_code_copes_without(value: object, *, fits: bool) -> None:
    """SA-9: what the tool's schema says holds for all else."""
    parameters = program("await mcp.fs.read({ path: args.x ?? 'a' })").parameters
    assert (bind_capability(parameters, {"x": value}).problems == ()) is fits
    assert (faults(input_schema(parameters), {"x": value}) == []) is fits


def test_null_does_not_stand_for_what_the_code_needs() -> None:
    parameters = program("await mcp.fs.read({ path: args.x })").parameters
    assert bind_capability(parameters, {"x": None}).problems
