"""Results that flow into arguments, whatever way they take (SA-3, SA-4)."""

# ruff: noqa: E501  # programs, a row each

import pytest

from pml.analysis.plan import planned_program
from pml.domain.plan import PlannedProgram, UnknownKind
from pml.domain.structure import Evidence, StaticStructure
from tests.analysis.programs import program

R = "const r = await mcp.s.a();"
FLOWS = {
    "default": (f"{R} const {{ x = r }} = args; await mcp.s.b({{ x }})", "1-2"),
    "default of a nested pattern": ("const { a: { b: v } = { b: await mcp.s.a() }, c: w = v } = {}; await mcp.s.b({ w })", "1-2"),
    "default of a nested pattern that is set again": ("let { a: { b: v } = { b: await mcp.s.a() } } = {}; await mcp.s.b({ v }); v = 1; await mcp.s.c({ v })", "1-2"),
    "default of a pattern that is a parameter": ("const f = ({ v } = { v: 1 }) => mcp.s.b({ v }); const r = await mcp.s.a(); const g = ({ v } = { v: r }) => mcp.s.c({ v }); await f(); await g()", "2-3"),
    "default of an assigned pattern": (f"{R} let v; ({{ a: [v] = [r] }} = args); await mcp.s.b({{ v }})", "1-2"),
    "property that a default sets": (f"{R} const o = {{}}; ({{ a: [o.v] = [r] }} = args); await mcp.s.b({{ o }})", "1-2"),
    "rest of a list": (f"{R} const [, ...x] = r; await mcp.s.b({{ x }})", "1-2"),
    "key of a property that is set": (f"{R} const o = {{}}; o[r.name] = 1; for (const k in o) await mcp.s.b({{ k }})", "1-2"),
    "key of a property of a property": (f"{R} const o = {{ p: {{}} }}; o.p[r].q = 1; await mcp.s.b({{ o }})", "1-2"),
    "key of a property of this": (f"{R} class K {{ m = {{}}; put() {{ this.m[r] = 1 }} get() {{ return Object.keys(this.m) }} }} const k = new K(); k.put(); await mcp.s.b({{ x: k.get() }})", "1-2"),
    "Reflect.set": (f"{R} const o = {{}}; Reflect.set(o, 'a', r); await mcp.s.b({{ x: o.a }})", "1-2"),
    "spread in a list": (f"{R} await mcp.s.b({{ x: [1, ...r.list] }})", "1-2"),
    "property": (f"{R} const o = {{}}; o.p = r; await mcp.s.b({{ o }})", "1-2"),
    "property of a property": (f"{R} const o = {{ p: {{}} }}; o.p.q = r; await mcp.s.b(o)", "1-2"),
    "element": (f"{R} const l = []; l[0] = r; await mcp.s.b({{ l }})", "1-2"),
    "computed key": (f"{R} await mcp.s.b({{ [r.name]: 1 }})", "1-2"),
    "key of an object": (f"{R} const o = {{ [r.name]: 1 }}; await mcp.s.b(o)", "1-2"),
    "push through another name": (f"{R} const o = {{ l: [] }}; const l = o.l; l.push(r); await mcp.s.b(o)", "1-2"),
    "push into what is inside": (f"{R} const o = {{ l: [] }}; o.l.push(r); await mcp.s.b({{ x: o }})", "1-2"),
    "unshift": (f"{R} const l = []; l.unshift(r); await mcp.s.b({{ l }})", "1-2"),
    "splice": (f"{R} const l = []; l.splice(0, 0, r); await mcp.s.b({{ l }})", "1-2"),
    "assign": (f"{R} const o = {{}}; Object.assign(o, {{ r }}); await mcp.s.b(o)", "1-2"),
    "assign to what is inside": (f"{R} const o = {{ i: {{}} }}; Object.assign(o.i, r); await mcp.s.b(o)", "1-2"),
    "entries": (f"{R} const o = Object.fromEntries([['x', r]]); await mcp.s.b(o)", "1-2"),
    "map": (f"{R} const m = new Map(); m.set('k', r); await mcp.s.b({{ x: m.get('k') }})", "1-2"),
    "set": (f"{R} const s = new Set(); s.add(r); await mcp.s.b({{ x: [...s] }})", "1-2"),
    "class": (f"{R} class K {{ constructor(v) {{ this.v = v }} go() {{ return mcp.s.b({{ x: this.v }}) }} }} await new K(r).go()", "1-2"),
    "field": (f"{R} class K {{ v = r }} const k = new K(); await mcp.s.b({{ x: k.v }})", "1-2"),
    "private field": ("class K { #v; async load() { this.#v = await mcp.s.a() } send() { return mcp.s.b({ x: this.#v }) } } const k = new K(); await k.load(); await k.send()", "1-2"),
    "static": (f"{R} class K {{ static v = 0 }} K.v = r; await mcp.s.b({{ x: K.v }})", "1-2"),
    "inherited": (f"{R} class A {{ set(v) {{ this.v = v }} }} class B extends A {{ get() {{ return this.v }} }} const b = new B(); b.set(r); await mcp.s.b({{ x: b.get() }})", "1-2"),
    "getter": (f"{R} const o = {{ get x() {{ return r }} }}; await mcp.s.b({{ x: o.x }})", "1-2"),
    "setter": (f"{R} const o = {{ set x(v) {{ this.y = v }} }}; o.x = r; await mcp.s.b({{ x: o.y }})", "1-2"),
    "method": (f"{R} const o = {{ v: 0, put(v) {{ this.v = v }} }}; o.put(r); await mcp.s.b({{ x: o.v }})", "1-2"),
    "generator": (f"{R} function* g() {{ yield r }} for (const x of g()) await mcp.s.b({{ x }})", "1-2"),
    "sent to a generator": (f"{R} function* g() {{ const x = yield 1; yield x }} const i = g(); i.next(); const y = i.next(r).value; await mcp.s.b({{ y }})", "1-2"),
    "delegation": (f"{R} function* f() {{ yield r }} function* g() {{ yield* f() }} await mcp.s.b({{ x: [...g()] }})", "1-2"),
    "closure that sets": (f"{R} let x; const put = (v) => {{ x = v }}; put(r); await mcp.s.b({{ x }})", "1-2"),
    "closure that reads": (f"{R} const get = () => r.x; await mcp.s.b({{ x: get() }})", "1-2"),
    "function in an object": (f"{R} const o = {{ get: () => r }}; await mcp.s.b({{ x: o.get() }})", "1-2"),
    "function in a list": (f"{R} const fs = [() => r]; for (const f of fs) await mcp.s.b({{ x: f() }})", "1-2"),
    "argument of a function in an object": (f"{R} let x; const o = {{ put: (v) => {{ x = v }} }}; o.put(r); await mcp.s.b({{ x }})", "1-2"),
    "parameter that is changed": (f"{R} const add = (l, v) => {{ l.push(v) }}; const l = []; add(l, r); await mcp.s.b({{ l }})", "1-2"),
    "given back": (f"{R} const id = (v) => v; await mcp.s.b({{ x: id(r) }})", "1-2"),
    "rest parameter": (f"{R} const f = (...l) => mcp.s.b({{ l }}); await f(1, r)", "1-2"),
    "spread arguments": (f"{R} const f = (a, b) => mcp.s.b({{ b }}); await f(...[1, r])", "1-2"),
    "arguments": (f"{R} function f() {{ return mcp.s.b({{ x: arguments[0] }}) }} await f(r)", "1-2"),
    "callback's third": (f"{R} await Promise.all(r.map((_x, _i, all) => mcp.s.b({{ all }})))", "1-2"),
    "key of a map": (f"{R} const m = new Map([[r.id, 1]]); m.forEach((_v, k) => {{ void mcp.s.b({{ k }}) }})", "1-2"),
    "accumulator": (f"{R} const all = r.reduce((l, x) => {{ l.push(x); return l }}, []); await mcp.s.b({{ all }})", "1-2"),
    "accumulator in a callback": (f"{R} await r.reduce(async (p, x) => mcp.s.b({{ y: await p }}), Promise.resolve(r))", "1-2 2-2"),
    "error": ("try { await mcp.s.a() } catch (e) { await mcp.s.b({ x: e.message }) }", "1-2"),
    "error of a helper": ("const f = async () => { await mcp.s.a() }; try { await f() } catch (e) { await mcp.s.b({ x: String(e) }) }", "1-2"),
    "error of a promise of before": ("const p = mcp.s.a(); try { await p } catch ({ message }) { await mcp.s.b({ message }) }", "1-2"),
    "thrown": (f"{R} try {{ throw new Error(r.x) }} catch (e) {{ await mcp.s.b({{ x: e.message }}) }}", "1-2"),
    "thrown in a helper": (f"{R} const f = () => {{ throw r }}; try {{ f() }} catch (e) {{ await mcp.s.b({{ e }}) }}", "1-2"),
    "rejected": ("await mcp.s.a().catch((e) => mcp.s.b({ x: e.message }))", "1-2"),
    "rejected, to the second of two": ("await mcp.s.a().then(() => 1, (e) => mcp.s.b({ x: e.message }))", "1-2"),
    "reason": ("const [s] = await Promise.allSettled([mcp.s.a()]); await mcp.s.b({ x: s.reason })", "1-2"),
    "error that is kept": ("let last; try { await mcp.s.a() } catch (e) { last = e } await mcp.s.b({ x: `${last}` })", "1-2"),
    "promise that is resolved": (f"{R} const p = new Promise((done) => {{ done(r) }}); await mcp.s.b({{ x: await p }})", "1-2"),
    "promise that is resolved elsewhere": (f"{R} let go; const p = new Promise((done) => {{ go = done }}); go(r); await mcp.s.b({{ x: await p }})", "1-2"),
    "resolvers": (f"{R} const {{ promise, resolve }} = Promise.withResolvers(); resolve(r); await mcp.s.b({{ x: await promise }})", "1-2"),
    "timer": (f"{R} let x; await new Promise((done) => setTimeout((v) => {{ x = v; done() }}, 1, r)); await mcp.s.b({{ x }})", "1-2"),
    "around a loop": ("let x = 0; for (const i of args.l) { await mcp.s.b({ x }); x = await mcp.s.a({ i }) }", "2-1"),
    "swapped around a loop": ("let x = 0, y = 0; while (args.n) { await mcp.s.b({ y }); y = x; x = await mcp.s.a() }", "2-1"),
    "into itself": ("let page; do { page = await mcp.s.a({ after: page?.next }) } while (page.next)", "1-1"),
    "broken out": ("let x = 0; for (;;) { x = await mcp.s.a(); if (x.ok) break; x = await mcp.s.b() } await mcp.s.c({ x })", "1-3"),
    "loop variable of before": (f"{R} let x; for (x of r) {{ if (x.ok) break }} await mcp.s.b({{ x }})", "1-2"),
    "loop that may not run": (f"{R} let x = r; for (x of args.l) {{}} await mcp.s.b({{ x }})", "1-2"),
    "tagged": (f"{R} const tag = (_s, ...v) => v; await mcp.s.b({{ x: tag`${{r}}` }})", "1-2"),
    "replaced": (f"{R} await mcp.s.b({{ x: args.t.replace('x', () => r.t) }})", "1-2"),
    "comma": (f"{R} await mcp.s.b({{ x: (1, r) }})", "1-2"),
    "assigned on the way": ("let x; const y = (x = await mcp.s.a()); await mcp.s.b({ x })", "1-2"),
    "set where absent": (f"{R} let x; x ??= r; await mcp.s.b({{ x }})", "1-2"),
    "bound": (f"{R} const f = mcp.s.b.bind(null, {{ r }}); await f()", "1-2"),
    "called with": (f"{R} await mcp.s.b.call(null, {{ r }})", "1-2"),
    "handed on": (f"{R} await Promise.all(r.map(mcp.s.b))", "1-2"),
    "handed on in parentheses": (f"{R} const l = await Promise.all([1].map((mcp.s.b as any))); await mcp.s.c({{ l }})", "2-3"),
    "input that is changed": (f"{R} args.list.push(r); await mcp.s.b({{ x: args.list }})", "1-2"),
    "variable of outside": (f"{R} kept = r; await mcp.s.b({{ x: kept }})", "1-2"),
    "global": (f"{R} globalThis.kept = r; await mcp.s.b({{ x: globalThis.kept }})", "1-2"),
    "element that is changed": (f"{R} const l = [{{}}]; for (const o of l) o.r = r; await mcp.s.b({{ l }})", "1-2"),
    "found and changed": (f"{R} const l = [{{}}]; const o = l.find((e) => !e.x); o.r = r; await mcp.s.b({{ l }})", "1-2"),
    "called by name": (f"{R} const o = {{ f: (v) => mcp.s.b({{ v }}) }}; await o[args.f](r)", "1-2"),
    "borrowed method": (f"{R} const l = []; Array.prototype.push.call(l, r); await mcp.s.b({{ l }})", "1-2"),
    "method of its own that has a standard name": (f"{R} let x; const o = {{ map(v) {{ x = v }} }}; o.map(r); await mcp.s.b({{ x }})", "1-2"),
    "recursion": ("const f = async (n, x) => n ? f(n - 1, await mcp.s.a({ x })) : x; await mcp.s.b({ x: await f(2, 0) })", "1-1 1-2"),
    "either of two functions": (f"{R} const f = args.c ? (v) => v : (v) => [v]; await mcp.s.b({{ x: f(r) }})", "1-2"),
    "two runs of a function at once": ("let x; const f = async () => { x = 1; await mcp.s.b({ x }); x = await mcp.s.a() }; await Promise.all([f(), f()])", "2-1"),
    "class that is a value": (f"{R} const K = class {{ v = r }}; await mcp.s.b({{ x: new K().v }})", "1-2"),
}  # fmt: skip
NONE = {
    "overwritten": "let x = await mcp.s.a(); x = 1; await mcp.s.b({ x })",
    "overwritten on both ways": "let x = await mcp.s.a(); x = args.c ? 1 : 2; await mcp.s.b({ x })",
    "shadowed": f"{R} {{ const r = 1; await mcp.s.b({{ r }}) }}",
    "another property": f"{R} const o = {{ r, x: 1 }}; await mcp.s.b({{ x: o.x }})",
    "another element": f"{R} const [, x] = [r, 1]; await mcp.s.b({{ x }})",
    "later": "const l = []; await mcp.s.b({ l }); l.push(await mcp.s.a())",
    "put elsewhere": f"{R} const l = [], m = []; l.push(r); await mcp.s.b({{ m }})",
    "put in what it is put in": f"{R} const o = {{ a: 1 }}; const l = []; l.push(o, r); await mcp.s.b({{ x: o.a }})",
    "another element of a list that was waited for": "const [x, y] = await Promise.all([mcp.s.a(), 1]); const f = (v) => v; const t = [y].map(f); await mcp.s.b({ t })",
    "index": f"{R} await Promise.all(r.map((_, i) => mcp.s.b({{ i }})))",
    "other class": f"{R} class K {{ v = r }} class L {{ v = 1 }} const l = new L(); await mcp.s.b({{ x: 1 }})",
}  # fmt: skip


def flows(source: str) -> set[str]:
    analysed = program(source)
    assert analysed.errors == (), analysed.errors
    assert analysed.structure.complete
    return {
        f"{e.source[1:]}-{e.target[1:]}"
        for e in analysed.structure.edges
        if e.evidence is Evidence.DATAFLOW
    }


@pytest.mark.parametrize("name", FLOWS)
def test_no_way_of_a_result_into_an_argument_is_lost(name: str) -> None:
    """SA-3: what cannot be followed counts as flowing."""
    source, expected = FLOWS[name]
    assert set(expected.split()) <= flows(source)


@pytest.mark.parametrize("name", NONE)
def test_what_does_not_flow_is_no_edge(name: str) -> None:
    """SA-3."""
    assert flows(NONE[name]) == set()


def collecting(calls: int) -> str:
    one = "l.push(await mcp.s.a({ l }));\n"
    return f"const l = [];\n{one * calls}"


def test_of_more_flows_than_are_listed_the_structure_says_that_they_are_not_all() -> None:
    """SA-3, SA-4: which calls there are is known all the same."""
    few, many = program(collecting(20)).structure, program(collecting(120)).structure
    assert (few.flows_complete, few.complete) == (True, True)
    assert (many.flows_complete, many.complete) == (False, True)
    assert UnknownKind.FLOW in [u.kind for u in planned(many).unknown]
    assert UnknownKind.FLOW not in [u.kind for u in planned(few).unknown]


def planned(structure: StaticStructure) -> PlannedProgram:
    return planned_program(structure, source_hash="0" * 64, given={})
