"""The canonical hash: equal for the same procedure, different for any other (SA-8)."""

# ruff: noqa: E501  # programs, a row each

import random
from functools import cache

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pml.analysis.analyse import analyse
from pml.domain.program import Program
from pml.domain.structure import EdgeType, StaticStructure, Task
from pml.domain.tools import Catalog, Tool
from tests.analysis.other_program import OTHER
from tests.analysis.programs import EPIC_10, ONE_OF_EACH, control, program
from tests.analysis.rewriting import Dice, Rewrite
from tests.analysis.same_program import SAME
from tests.oracle.compare import CATALOG as ORACLE
from tests.oracle.programs import case


def canonical(source: str) -> str:
    analysed = program(source)
    assert analysed.errors == (), analysed.errors
    assert len(analysed.canonical_hash) == 64
    return analysed.canonical_hash


EQUAL = {
    "names": ("const a = await mcp.s.a(); f(a)", "const b = await mcp.s.a(); f(b)"),
    "layout, comments, types": ("const a=await f();return a", "// x\nconst a: T = await f() /* y */;\n\nreturn a as U;;"),
    "quotes and escapes": ("f('a\\x41\\u{42}')", 'f("aAB")'),
    "pairs of surrogates": ("f('\\ud83d\\ude00')", "f('\U0001f600')"),
    "template without substitution": ("f(`a\\n`)", "f('a\\n')"),
    "numbers": ("f(1e3, 0x10, 1_000.50, 10n)", "f(1000, 16, 1000.5, 0xan)"),
    "members": ("f(r['x'].y?.['z'][0])", "f(r.x['y']?.z['0'])"),
    "keys": ("f({ a: 1, 'b': 2, ['c']: 3 })", "f({ 'a': 1, b: 2, c: 3 })"),
    "keys of patterns": ("const { a, b = 1 } = r()", "const { 'a': x, b: y = 1 } = r()"),
    "shorthand": ("const a = f(); g({ a })", "const b = f(); g({ a: b })"),
    "order of keys that go to a tool": ("mcp.s.a({ a: x, b: 1, c: args.d })", "mcp.s.a({ c: args.d, b: 1, a: x })"),
    "order of keys inside what goes to a tool": ("mcp.s.a({ o: [{ a: x, b: { c: 1, d: y } }], p: f() })", "mcp.s.a({ o: [{ b: { d: y, c: 1 }, a: x }], p: f() })"),
    "order of keys that are numbers": ("mcp.s.a({ b: 1, 2: x, 1: 3 })", "mcp.s.a({ 1: 3, 2: x, b: 1 })"),
    "trailing commas": ("f([1, 2], { a }, b)", "f([1, 2,], { a, }, b,)"),
    "parentheses": ("x = (a) + (b * (c)); (f)((d))", "x = a + b * c; f(d)"),
    "parentheses around what is no chain": ("f((a.b).c)", "f(a.b.c)"),
    "type syntax in a chain": ("f(a?.b!.c)", "f(a?.b.c)"),
    "labels": ("a: for (;;) { for (;;) break a }", "b: for (;;) { for (;;) break b }"),
    "types of classes": (
        "abstract class A<T> extends B<T> implements C { private x!: T; 'go'(a?: T) {} }",
        "class A extends B { x; go(a) {} }",
    ),
    "types that calls are given": (
        "x = await o.f<T>(a) + -g<{ a: 1 }>(b); x = !h<T>(1)<U[]>(a && b<\n/* > */ T>(2))",
        "x = await o.f(a) + -g(b); x = !h(1)(a && b(2))",
    ),
    "a parameter called this": ("function f(this: T, a) { return a }", "function f(a) { return a }"),
    "arrow with one parameter": ("f(x => x)", "f((y) => (y))"),
    "new without arguments": ("new X", "new X()"),
    "one statement in a block": ("if (a) f(); else while (b) g(); for (;;) h()", "if (a) { f() } else { while (b) { g() } } for (;;) {{ h(); }}"),
    "nothing as a body": ("if (a); else f(); while (b) {}", "if (a) {} else { f() } while (b);"),
    "const and let": ("let a = f(), { b = 1 } = a; for (let c of b) g(c)", "const a = f(), { b = 1 } = a; for (const c of b) { g(c) }"),
    "a constant that is a let": ("let p = 'a'; mcp.s.a({ p })", "const p = 'b'; mcp.s.a({ p })"),
    "no arguments": ("await mcp.s.a()", "await mcp.s.a({})"),
    "nothing returned": ("const f = () => { return }; return", "const f = () => { return undefined }; return (undefined);"),
    "a function that only returns": ("f(x => g(x), async () => 1)", "f((x) => { return g(x) }, async () => { return 1; })"),
    "lifted literals": ("mcp.s.a({ x: 1, y: { z: [a, 'q'] } })", "mcp.s.a({ x: ['b'], y: { z: [a, null] } })"),
    "lifted constants": ("const p = 'a'; mcp.s.a({ p }); f(p)", "const q = -1; mcp.s.a({ p: q }); f(q)"),
    "lifted objects": ("const p = { a: 1, b: [2] }; mcp.s.a({ p })", "const q = { b: 3 }; mcp.s.a({ p: q })"),
    "literals for helpers": ("const f = (p) => mcp.s.a({ p }); f('a'); f('b')", "const g = (q) => mcp.s.a({ p: q }); g(1); g([2])"),
    "inputs that are taken apart": ("const { a } = args; f(a)", "const { a: c } = args; f(c)"),
    "a variable instead of args": ("mcp.s.a({ path })", "mcp.s.a({ path: args.path })"),
}  # fmt: skip


@pytest.mark.parametrize("name", EQUAL)
def test_the_same_procedure_written_differently_is_one(name: str) -> None:
    """SA-8."""
    one, other = EQUAL[name]
    assert canonical(one) == canonical(other)


DIFFERENT = {
    "tool": ("mcp.s.a()", "mcp.s.b()"),
    "order of calls": ("await mcp.s.a(); await mcp.s.b()", "await mcp.s.b(); await mcp.s.a()"),
    "await": ("await mcp.s.a()", "mcp.s.a()"),
    "before and after": ("f(x++)", "f(++x)"),
    "operator": ("f(a && b)", "f(a || b)"),
    "sign": ("f(-x)", "f(+x)"),
    "arms": ("if (a) f(); else g(1)", "if (a) g(1); else f()"),
    "end of a chain": ("f((a?.b).c)", "f(a?.b.c)"),
    "end of a chain with a call": ("(a?.b)()", "a?.b()"),
    "optional": ("f(a.b)", "f(a?.b)"),
    "optional call": ("a.b()", "a.b?.()"),
    "literal that is computed with": ("f(1)", "f(2)"),
    "literal in a condition": ("if (x === 'a') mcp.s.a()", "if (x === 'b') mcp.s.a()"),
    "type of a literal": ("f(1)", "f('1')"),
    "halves of surrogate pairs": ("f('\\ud800')", "f('\\ud801')"),
    "spelling that a tag sees": ("f`\\x41`", "f`A`"),
    "regular expression": ("f(/a/g)", "f(/a/i)"),
    "length of an array": ("f([1,,])", "f([1,])"),
    "hole": ("f([, 1])", "f([1])"),
    "key": ("mcp.s.a({ a: 1 })", "mcp.s.a({ b: 1 })"),
    "an input": ("mcp.s.a({ path: args.a })", "mcp.s.a({ path: args.b })"),
    "inputs that change places": ("mcp.s.a({ src: args.a, dst: args.b })", "mcp.s.a({ src: args.b, dst: args.a })"),
    "an input that is a variable": ("mcp.s.a({ x: a }); f(b)", "mcp.s.a({ x: c }); f(b)"),
    "an input that is taken apart": ("const { a } = args; f(a)", "const { b: a } = args; f(a)"),
    "an input instead of a literal": ("mcp.s.a({ path: 'x' })", "mcp.s.a({ path: args.path })"),
    "literals that nobody can replace": ("mcp.s.a({ path: 'x', ...args })", "mcp.s.a({ path: 'y', ...args })"),
    "order of keys that are looked at": ("Object.entries({ stop: 'a', start: 'b' })", "Object.entries({ start: 'b', stop: 'a' })"),
    "order of keys that code may get": ("const s = args.c ? mcp.s : { a: f }; s.a({ x: y, b: 2 })", "const s = args.c ? mcp.s : { a: f }; s.a({ b: 2, x: y })"),
    "whose parameter is which": ("mcp.s.a({ o_p: 'a', o: { p: 'b', q: args.z } })", "mcp.s.a({ o: { p: 'b', q: args.z }, o_p: 'a' })"),
    "order of keys for code": ("const o = { a: 1, b: 2 }; mcp.s.a({ o }); f(o)", "const o = { b: 2, a: 1 }; mcp.s.a({ o }); f(o)"),
    "order of keys inside a computation": ("mcp.s.a({ x: f({ a: y, b: 2 }) })", "mcp.s.a({ x: f({ b: 2, a: y }) })"),
    "order of keys that may throw": ("mcp.s.a({ a: x.y.z, b: y.z })", "mcp.s.a({ b: y.z, a: x.y.z })"),
    "order of keys with templates": ("mcp.s.a({ a: `${x}`, b: `${y}` })", "mcp.s.a({ b: `${y}`, a: `${x}` })"),
    "order of keys with methods": ("mcp.s.a({ toJSON() { return 1 }, b: x })", "mcp.s.a({ b: x, toJSON() { return 1 } })"),
    "order of tools that are handed on": ("mcp.s.a({ a: mcp.s.b, b: 1 })", "mcp.s.a({ b: 1, a: mcp.s.b })"),
    "order of keys with calls": ("f({ a: g(), b: h(1) })", "f({ b: h(1), a: g() })"),
    "the same key twice": ("f({ a: x, a: 1 })", "f({ a: 1, a: x })"),
    "prototype": ("f({ __proto__: {} })", "f({ ['__proto__']: {} })"),
    "spread": ("f(...a)", "f(a)"),
    "variable": ("const a = f(), b = f(); g(a)", "const a = f(), b = f(); g(b)"),
    "shadowed": ("const a = 1; { const a = 2; f(a) }", "const a = 1; { const b = 2; f(a) }"),
    "declaration": ("let a = f()", "var a = f()"),
    "const that is set": ("const a = f(); a = 1", "let a = f(); a = 1"),
    "const that is counted": ("const a = f(); a++", "let a = f(); a++"),
    "a let that is set, as an argument": ("let p = 'a'; if (x) p = 'b'; mcp.s.a({ p })", "const p = 'a'; mcp.s.a({ p })"),
    "declaration in a block": ("if (a) { let b = f(); }", "if (a) f();"),
    "function in a block": ("if (a) { function f() {} }", "if (a) f();"),
    "two statements in a block": ("if (a) { f(); g() }", "if (a) f(); g()"),
    "whose else": ("if (a) { if (b) f() } else g()", "if (a) { if (b) f(); else g() }"),
    "undefined that is a variable": ("const f = (undefined) => { return undefined }", "const f = (undefined) => { return }"),
    "undefined of a generator": ("async function* f() { return undefined }", "async function* f() { return }"),
    "undefined of a generator method": ("const o = { async *f() { return undefined } }", "const o = { async *f() { return } }"),
    "body without a value": ("f(() => { g() })", "f(() => g())"),
    "arguments of a function": ("f()", "f({})"),
    "a parameter that is two": ("mcp.s.a({ x: args.p, y: args.p })", "mcp.s.a({ x: args.p, y: args.q })"),
    "one input, two literals": ("mcp.s.a({ x: args.p, y: args.p })", "mcp.s.a({ x: 1, y: 1 })"),
    "an input that decides": ("mcp.s.a({ p: args.p }); f(args.p)", "mcp.s.a({ p: 1 }); f(args.p)"),
    "an input that is set": ("path = 1; return args.path", "path = 1; return path"),
    "names where args is a whole": ("f(args.a, Object.keys(args))", "f(args.b, Object.keys(args))"),
    "a property of the constructor": ("class A { constructor(private a) {} }", "class A { constructor(a) {} }"),
    "names of properties of the constructor": ("class A { constructor(public a, public b) {} }", "class A { constructor(public b, public a) {} }"),
    "names of an enum": ("enum E { A, B } f(E)", "enum E { A, C } f(E)"),
    "loops": ("for (;;a()) b()", "for (;a();) b()"),
    "for of": ("for (const x of y) f(x)", "for (const x in y) f(x)"),
    "delegation": ("function* g() { yield* a }", "function* g() { yield a }"),
    "async": ("f(async () => 1)", "f(() => 1)"),
    "finally": ("try { a() } catch { b() }", "try { a() } finally { b() }"),
    "method and getter": ("f({ a() { return 1 } })", "f({ get a() { return 1 } })"),
}  # fmt: skip


@pytest.mark.parametrize("name", DIFFERENT)
def test_another_procedure_is_another(name: str) -> None:
    """SA-8."""
    one, other = DIFFERENT[name]
    assert canonical(one) != canonical(other)


def test_a_program_with_an_error_has_no_hash() -> None:
    assert program("await mcp.s.zzz()").canonical_hash == ""
    assert program("const x = ;").canonical_hash == ""


@pytest.mark.parametrize(
    "source",
    [
        "return await capabilities.{}({{ x: 1 }})",
        "const {{ {} }} = capabilities; return await {}()",
        "const {{ ['{}']: f = 1, ...others }} = capabilities; return await f()",
        "const {{ capabilities: {{ {}: f }} }} = mcp; return await f()",
        "return await mcp.capabilities['{}']()",
        "return await Promise.all([1, 2].map(capabilities.{}))",
    ],
)
def test_a_capability_counts_by_its_id_and_not_by_its_name(source: str) -> None:
    """SA-8, ST-8: a name may change; the version that is called may not."""

    def hashed(name: str, capability_id: str) -> str:
        known = Tool(server="capabilities", name=name, annotations={"capabilityId": capability_id})
        written = source.format(*[name] * source.count("{}"))
        return analyse(written, Catalog({"capabilities": [known]})).canonical_hash

    assert hashed("old", "cap_1") == hashed("other", "cap_1") != ""
    assert hashed("old", "cap_1") != hashed("old", "cap_2")


def with_capability(source: str, capability_id: str = "cap_1") -> str:
    known = Tool(server="capabilities", name="x", annotations={"capabilityId": capability_id})
    found = analyse(source, Catalog({"capabilities": [known]})).canonical_hash
    assert found
    return found


@pytest.mark.parametrize(
    "source",
    [
        "const n = 'x'; return await capabilities[n]()",
        "const n = `x`; const f = mcp.capabilities?.[n]; return await f()",
        "const n = 'x'; return await Promise.all([1].map(capabilities[(n as string)!]))",
    ],
)
def test_a_capability_that_a_constant_names_counts_by_its_id_too(source: str) -> None:
    """SA-8."""
    assert with_capability(source, "cap_1") != with_capability(source, "cap_2")


def test_a_capability_may_look_at_the_order_of_its_arguments() -> None:
    one, other = "capabilities.x({ a: y, b: 2 })", "capabilities.x({ b: 2, a: y })"
    assert with_capability(one) != with_capability(other)


@pytest.mark.parametrize(
    "name",
    [
        "mcp.s[`${t}`]",
        "mcp.s['' + t]",
        "mcp.s[args.c ? t : t]",
        "(mcp.s as any)[(t)]",
    ],
)
@pytest.mark.parametrize(
    "before",
    [
        "const t = '{}'; await mcp.s.a({{ x: t }});",
        "const u = '{}'; const t = u; await mcp.s.a({{ x: u }});",
        "const u = '{}'; const [t] = [u]; await mcp.s.a({{ x: u }});",
        "const u = '{}'; const o = {{ k: u }}; const t = o.k; await mcp.s.a({{ x: u }});",
        "const u = '{}'; enum E {{ A = u }} const t = E.A; await mcp.s.a({{ x: u }});",
    ],
)
def test_what_decides_which_tool_is_called_is_part_of_the_procedure(before: str, name: str) -> None:
    """SA-8, SA-9: on whatever way it does."""
    one, other = (f"{before.format(tool)} return await {name}({{}})" for tool in ("b", "c"))
    assert program(one).structure.tools() == ("s:a", "s:b")
    assert canonical(one) != canonical(other)


@cache
def hashed(source: str) -> str:
    """Of a program of the oracle; empty where it has an error."""
    return analyse(source, ORACLE).canonical_hash


seeds = st.integers(0, 2_000)
rewrites = st.lists(st.sampled_from(SAME), min_size=1, max_size=4)


def rewritten(source: str, ways: list[Rewrite], seed: int) -> str:
    dice: Dice = random.Random(seed)
    for way in ways:
        source = way(source, dice)
    return source


@given(seeds, rewrites, seeds)
def test_a_rewritten_program_is_the_same_procedure(
    program_seed: int, ways: list[Rewrite], seed: int
) -> None:
    """A law: renamed, reformatted, keys in another order, other literals."""
    source = case(program_seed).source
    assert hashed(rewritten(source, ways, seed)) == hashed(source) != ""


@given(seeds, rewrites, seeds)
def test_the_same_procedure_has_the_same_structure(
    program_seed: int, ways: list[Rewrite], seed: int
) -> None:
    """A law: a trace of one fits the structure of the other, which is the one that is kept.

    So do flows and parameters: whoever runs what is kept gives it the same arguments.
    """
    source = case(program_seed).source
    again = rewritten(source, ways, seed)
    one, other = analyse(again, ORACLE), analyse(source, ORACLE)
    assert nodes_and_control(one.structure) == nodes_and_control(other.structure)
    assert provided(one.structure) == provided(other.structure)
    assert signature(one) == signature(other)


def nodes_and_control(structure: StaticStructure) -> object:
    nodes = [(type(n), n.id, n.tool if isinstance(n, Task) else "") for n in structure.nodes]
    return nodes, control(structure), structure.layers, structure.complete


def provided(structure: StaticStructure) -> object:
    return [edge for edge in structure.edges if edge.type is EdgeType.PROVIDES]


def signature(analysed: Program) -> object:
    """The parameters but for their defaults, in any order: keys may change places."""
    return sorted((p.name, str(p.schema), p.required, p.lifted) for p in analysed.parameters)


@given(seeds, st.sampled_from(OTHER), rewrites, seeds)
def test_a_changed_program_is_another_procedure(
    program_seed: int, change: Rewrite, ways: list[Rewrite], seed: int
) -> None:
    """A law: other calls, order, awaits, operators, flow; rewriting does not hide it."""
    source = case(program_seed).source
    changed = change(source, random.Random(seed))
    assume(changed != source and hashed(changed))
    assert hashed(rewritten(changed, ways, seed)) != hashed(source)


@pytest.mark.parametrize("change", [*SAME, *OTHER], ids=lambda change: change.__name__)
def test_every_rewrite_and_every_change_does_something(change: Rewrite) -> None:
    """A control of the laws."""
    sources = [case(seed).source for seed in range(40)]
    assert any(change(source, random.Random(1)) != source for source in sources)


def test_different_generated_procedures_have_different_hashes() -> None:
    sources = {case(seed).source for seed in range(150)}
    assert len({hashed(source) for source in sources}) == len(sources)


@pytest.mark.parametrize("source", [EPIC_10, ONE_OF_EACH])
@settings(max_examples=20)
@given(ways=rewrites, seed=seeds)
def test_a_program_of_every_construct_keeps_its_hash(
    source: str, ways: list[Rewrite], seed: int
) -> None:
    again = rewritten(source, [way for way in ways if way.__name__ != "annotate"], seed)
    assume(not program(again).errors)
    assert canonical(again) == canonical(source)
