"""What programs return, throw and call, in real Deno (EX-1, EX-2, EX-8; rules 1 and 2)."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pml.runtime.sandbox.pool import SandboxPool
from pml.runtime.sandbox.protocol import (
    CallIssued,
    DecisionMade,
    SiteReached,
    UnhandledRejection,
)
from tests.runtime.sandbox.driver import ToolFails, echo, run_program

pytestmark = pytest.mark.asyncio(loop_scope="module")

_EXACT = 2**53 - 1  # beyond, JavaScript rounds
_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-_EXACT, _EXACT)
    | st.floats(-1e15, 1e15)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=20,
)


@settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(values=st.lists(_JSON, max_size=30))
async def test_json_goes_in_and_out_of_the_sandbox_unchanged(
    pool: SandboxPool, values: list[Any]
) -> None:
    source = (
        "const back = []; for (const v of values) back.push((await mcp.a.b({v})).v);return back;"
    )
    story = await run_program(pool, source, {"values": values})
    assert story.value == values


@pytest.mark.parametrize(
    ("source", "value", "lossy"),
    [
        ("return undefined;", None, ()),
        ("", None, ()),
        ("return {a: NaN, b: [1, -Infinity], c: undefined};", {"a": None, "b": [1, None]}, 2),
        ("return new Date(0);", "1970-01-01T00:00:00.000Z", ()),
        ('"use strict"; return [typeof this, args.p, p];', ["undefined", 5, 5], ()),
        ("return [typeof Deno, typeof process, typeof Worker];", ["undefined"] * 3, ()),
        ("return (1234567.5).toLocaleString();", "1,234,567.5", ()),
        ("return [await mcp.fs === mcp.fs, mcp.fs === mcp.fs];", [True, True], ()),
        ("return [mcp.fs.read.name, typeof mcp.fs.then];", ["read", "undefined"], ()),
        ("return [await new Blob(['abc']).text()];", ["abc"], ()),
        ("const s: string = 'typed'; enum E { A = 3 } return [s, E.A];", ["typed", 3], ()),
    ],
)
async def test_a_value_returns_as_json(
    pool: SandboxPool, source: str, value: object, lossy: object
) -> None:
    story = await run_program(pool, source, {"p": 5})
    assert story.value == value
    if lossy:
        assert story.end.lossy == ("$.a", "$.b.1")  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("source", "path", "advice"),
    [
        ("return {a: {b: [() => 1]}};", "$.a.b.0 is a function", "leave it out"),
        ("return () => 1;", "$ is a function", "leave it out"),
        ("return [Symbol('x')];", "$.0 is a symbol", "String(...)"),
        ("return {n: {m: 1n}, o: 1};", "$.n.m is a bigint", "String(...)"),
        ("const o: any = {a: {}}; o.a.o = o; return o;", "$.a.o contains itself", "leave"),
        ("return {toJSON() { throw new Error('mine'); }};", "mine", ""),
    ],
)
async def test_a_result_that_is_no_json_says_where_and_what_to_do(
    pool: SandboxPool, source: str, path: str, advice: str
) -> None:
    error = (await run_program(pool, source)).error
    assert error.code == "not_json"
    assert path in error.message
    assert advice in error.message


async def test_a_value_that_appears_twice_is_no_cycle(pool: SandboxPool) -> None:
    source = "const x = {a: 1}; return {one: x, two: [x, x], three: {x}};"
    story = await run_program(pool, source)
    assert story.value == {"one": {"a": 1}, "two": [{"a": 1}] * 2, "three": {"x": {"a": 1}}}


_TYPES = """
interface X {
  a: number;
}
type Pair<A,
  B> = { a: A; b: B };
enum E { A,
  B }
"""


@pytest.mark.parametrize(
    ("source", "name", "message", "line"),
    [
        ("throw new Error('first');", "Error", "first", 1),
        (_TYPES + "throw new TypeError('x' + E.B);", "TypeError", "x1", 9),
        ("function f<T\n extends object>(\n x: T): T {\n  throw new RangeError('r');\n}\nf({});",
         "RangeError", "r", 4),
        ("const f = async () => {\n  await null;\n  null!.x;\n};\nawait f();",
         "TypeError", "Cannot read properties of null (reading 'x')", 3),
        ("\n\nawait mcp.fs.bad({});", "ToolError", "it failed", 3),
        ("let a = 1;\nlet b = ;\n", "SyntaxError", "Expression expected", 2),
        (_TYPES + "let a = 1;\nlet a = 2;", "SyntaxError",
         "Identifier 'a' has already been declared", 10),
        (_TYPES + "\nbreak;", "SyntaxError", "Illegal break statement", 10),
        ("throw 'text';", "Error", "text", None),
        ("throw {code: 5};", "Error", '{"code":5}', None),
        ("throw null;", "Error", "null", None),
        ("throw new Proxy({}, {get() { throw 1; }});", "Error", "an error without a message", None),
    ],
)  # fmt: skip
async def test_an_error_says_where_it_stands_in_the_source(
    pool: SandboxPool, source: str, name: str, message: str, line: int | None
) -> None:
    error = (await run_program(pool, source, answer=_bad_fails)).error
    assert (error.name, error.message, error.line) == (name, message, line)


def _bad_fails(call: CallIssued) -> object:
    if call.tool == "bad":
        raise ToolFails(code="tool_error", message="it failed", data={"x": 1})
    return echo(call)


async def test_a_failed_call_can_be_caught_and_read(pool: SandboxPool) -> None:
    """EX-1: a tool error is thrown as `ToolError` (tool, code, message, data)."""
    source = (
        "try { await mcp.fs.bad(); } catch (e) {"
        " return [e instanceof ToolError, e instanceof Error, String(e), e.tool, e.code, e.data]; }"
    )
    story = await run_program(pool, source, answer=_bad_fails)
    assert story.value == [True, True, "ToolError: it failed", "fs:bad", "tool_error", {"x": 1}]


async def test_an_uncaught_tool_error_names_tool_and_code(pool: SandboxPool) -> None:
    error = (await run_program(pool, "await mcp.fs.bad();", answer=_bad_fails)).error
    assert (error.tool, error.code) == ("fs:bad", "tool_error")


async def test_arguments_that_are_no_json_throw_at_the_call_and_issue_nothing(
    pool: SandboxPool,
) -> None:
    source = (
        "const seen = []; const o: any = {}; o.o = o;"
        "for (const bad of [1n, o, () => 1, Symbol()]) {"
        " try { mcp.a.b(bad); } catch (e) { seen.push(e.name); } }"
        "await mcp.a.b(); return seen;"
    )
    story = await run_program(pool, source)
    assert story.value == ["TypeError"] * 4
    assert [(call.call, call.arguments) for call in story.calls] == [(0, "{}")]


async def test_sites_travel_in_property_keys_and_through_probes(pool: SandboxPool) -> None:
    """Rule 2: property keys, `at`, `atMember`; what is no tool stays what it is."""
    source = """
const { fs } = mcp; const read = mcp.fs.read; const holder = { read, plain(x) { return [this === holder, x]; } };
await fs["read\u22a5n1"]({}); await mcp.fs?.["a\u22a5b\u22a5n2"]({}); await fs.write({});
await __pml.at("n3", read)({}); await __pml.atMember("n4", holder, "read")({});
await Promise.all([1, 2].map(__pml.at("n5", read)));
return [__pml.at("n6", Math.max)(1, 2), __pml.atMember("n7", holder, "plain")(3),
  __pml.atMember("n8", [3, 1], "sort")(), __pml.atMember("n9", {}, "none") === undefined];
"""  # noqa: E501
    story = await run_program(pool, source)
    assert story.value == [2, [True, 3], [1, 3], True]
    assert [(call.site, call.tool) for call in story.calls] == [
        ("n1", "read"), ("n2", "a\u22a5b"), ("?", "write"), ("n3", "read"), ("n4", "read"),
        ("n5", "read"), ("n5", "read"),
    ]  # fmt: skip


async def test_a_lifted_literal_is_what_the_run_says_and_not_what_args_say(
    pool: SandboxPool,
) -> None:
    """SA-9: each evaluation of an array or object makes a new one, as a literal does."""
    source = """
const made = [];
for (const n of [1, 2]) { const list: any = __pml.arg("list", ["code"]); list.push(n); made.push(list); }
return [__pml.arg("path", "code"), __pml.arg("other", "code"), __pml.arg("gone", 1),
  __pml.arg("toString", 2), made, args.path];
"""  # noqa: E501
    lifted = {"path": "run", "list": ["run"], "gone": None}
    story = await run_program(pool, source, {"path": "args", "other": "args"}, lifted=lifted)
    assert story.value == ["run", "code", None, 2, [["run", 1], ["run", 2]], "args"]
    plain = await run_program(pool, source, {"path": "args"})
    assert plain.value == ["code", "code", 1, 2, [["code", 1], ["code", 2]], "args"]


async def test_a_capability_is_called_like_a_tool_of_its_own_server(pool: SandboxPool) -> None:
    """EX-10: with its site, as a value, behind a name, and by no other way around."""
    source = """
const { sum } = capabilities; const name = "dynamic";
await capabilities["sum⊥n1"]({ a: 1 }); await __pml.at("n2", sum)({}); await mcp.capabilities.sum({});
await Promise.all([1, 2].map(__pml.at("n3", capabilities.sum))); await capabilities[name]?.({});
return [typeof capabilities.then, capabilities.sum.name, mcp.capabilities === capabilities];
"""  # noqa: E501
    story = await run_program(pool, source)
    assert story.value == ["undefined", "sum", True]
    assert {call.server for call in story.calls} == {"capabilities"}
    assert [(call.site, call.tool) for call in story.calls] == [
        ("n1", "sum"), ("n2", "sum"), ("?", "sum"), ("n3", "sum"), ("n3", "sum"), ("?", "dynamic"),
    ]  # fmt: skip


async def test_probes_return_their_value_and_record_the_branch(pool: SandboxPool) -> None:
    source = """
const seen = [__pml.decide("d1", 0), __pml.decide("d1", "x"), __pml.present("d2", 0),
  __pml.present("d2", null), __pml.reach("f1", 7)];
switch (__pml.choose("d3", 1)) {
  case 1: __pml.took("d3", "case:1"); case 2: __pml.took("d3", "case:2"); }
__pml.took("d4", "ok"); __pml.took("d4", "catch");
return seen;
"""
    story = await run_program(pool, source)
    assert story.value == [0, "x", 0, None, 7]
    decisions = [(i.site, i.outcome) for i in story.items if isinstance(i, DecisionMade)]
    assert decisions == [
        ("d1", "false"), ("d1", "true"), ("d2", "true"), ("d2", "false"), ("d3", "case:1"),
        ("d4", "ok"), ("d4", "catch"),
    ]  # fmt: skip
    assert [i.site for i in story.items if isinstance(i, SiteReached)] == ["f1"]


async def test_unhandled_rejections_are_warnings_and_the_program_goes_on(
    pool: SandboxPool,
) -> None:
    """Rule 1."""
    source = (
        "mcp.fs.bad(); Promise.reject(new TypeError('nobody')); queueMicrotask(() => { throw 5; });"
        "setTimeout(() => { throw new Error('late'); }, 1);"
        "await new Promise((r) => setTimeout(r, 5)); await mcp.fs.ok(); return 'went on';"
    )
    story = await run_program(pool, source, answer=_bad_fails)
    assert story.value == "went on"
    messages = {i.message for i in story.items if isinstance(i, UnhandledRejection)}
    assert messages == {"TypeError: nobody", "Error: 5", "ToolError: it failed", "Error: late"}


async def test_a_rejection_that_is_handled_in_its_turn_is_no_warning(pool: SandboxPool) -> None:
    source = (
        "const p = Promise.reject(new Error('x')); await null; await null; p.catch(() => 0);"
        "await mcp.a.b(); return 1;"
    )
    story = await run_program(pool, source)
    assert not [i for i in story.items if isinstance(i, UnhandledRejection)]


async def test_polluted_prototypes_change_nothing_of_the_protocol(pool: SandboxPool) -> None:
    source = """
const evil = () => { throw new Error("evil"); };
for (const [o, ks] of [[Array.prototype, ["push", "shift", "slice", "join"]],
  [String.prototype, ["slice", "indexOf", "lastIndexOf", "padStart"]], [Map.prototype, ["get", "set"]],
  [WeakMap.prototype, ["get", "set"]], [RegExp.prototype, ["exec", "test"]],
  [Promise.prototype, ["then", "catch", "finally"]], [Function.prototype, ["apply", "bind"]],
  [JSON, ["parse", "stringify"]], [Object, ["freeze", "keys"]], [Reflect, ["apply", "construct"]]])
  for (const k of ks) (o as any)[k] = evil;
Object.defineProperty(Object.prototype, "code", { get: () => "forged" });
Object.defineProperty(Object.prototype, "data", { set() { evil(); } });
let caught; try { await mcp.fs.bad({}); } catch (e) { caught = e.code; }
return { a: (await mcp.fs["read\u22a5n1"]({ x: 1 })).x, caught };
"""  # noqa: E501
    story = await run_program(pool, source, answer=_bad_fails)
    assert story.value == {"a": 1, "caught": "tool_error"}
    assert [(call.site, call.arguments) for call in story.calls] == [("?", "{}"), ("n1", '{"x":1}')]


async def test_too_many_calls_and_too_much_text_are_errors_of_the_code(pool: SandboxPool) -> None:
    """OP-5: each limit answers with an error that names it."""
    source = (
        "const seen = [];"
        "try { mcp.a.b('x'.repeat(1_000_001)); } catch (e) { seen.push(e.message); }"
        "try { for (;;) mcp.a.b(); } catch (e) { seen.push(e.message); }"
        "try { for (;;) setTimeout(() => 0, 1); } catch (e) { seen.push(e.message); } return seen;"
    )
    less = " (arguments_bytes): pass less, or in several calls"
    story = await run_program(pool, source)
    assert story.value == [
        "the arguments of a.b are 1000003 characters, more than 1000000" + less,
        "more than 10000 calls in one run (calls_per_run): split the work",
        "more than 10000 timers in one run (timers_per_run): split the work",
    ]
    error = (await run_program(pool, "return 'x'.repeat(20_000_000);")).error
    assert error.code == "too_large"


async def test_fetch_says_what_to_do_instead(pool: SandboxPool) -> None:
    error = (await run_program(pool, "await fetch('http://127.0.0.1/');")).error
    assert error.message == "fetch is not available in the sandbox: call a tool instead"


async def test_what_is_printed_is_kept_apart_from_the_protocol(pool: SandboxPool) -> None:
    source = "console.log('hello', {a: 1}); console.error('oops'); await mcp.a.b(); return 1;"
    story = await run_program(pool, source)
    assert story.output == "hello { a: 1 }\noops\n"
