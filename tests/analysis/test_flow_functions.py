"""Control flow into functions, however a call gets to them (SA-2, SA-3)."""

# ruff: noqa: E501  # programs and their edges, a row each

import pytest

from tests.analysis.programs import control, program

A, B, C, D = (f"await mcp.s.{name}()" for name in "abcd")
H = f"const h = async () => {{ {A} }};"

REACHED = {
    "catch that breaks": (f"for (const x of xs) {{ try {{ {A} }} catch {{ break }} {B} }} {C}", "l1=n1 n1>d1 d1-ok>n2 l1>n3"),
    "method of an object": (f"const o = {{ async run() {{ if (c) {A} }} }}; {B}; await o.run(); {C}", "n2>d1 d1-true>n1 d1-false>n3 n1>n3"),
    "getter": (f"const o = {{ get x() {{ return mcp.s.a() }} }}; {B}; await o.x; {C}", "n2>n1 n1>n3"),
    "field and constructor": (f"class K {{ p = mcp.s.a(); constructor() {{ mcp.s.b() }} }} {C}; const k = new K(); {D}", "n3>n1 n3>n2 n3>n4"),
    "base before fields before constructor": (
        f"class P {{ constructor() {{ if (c) mcp.s.a() }} }} class K extends P {{ f = d && mcp.s.b() }} new K(); {C}",
        "d1-true>n1 d1-false>d2 d1-true>d2 d2-true>n2 d2-false>n3 d2-true>n3",
    ),
    "static parts": (f"class K {{ static x = {A}; static {{ mcp.s.b() }} static async m() {{ {C} }} }} await K.m(); {D}", "n1>n2 n1>n3 n3>n4"),
    "generator": (f"async function* g() {{ {A}; yield 1; {B} }} {C}; for await (const x of g()) {{ {D} }}", "l1=n1 n1>n2 n3>l1 n1>n4"),
    "generator that delegates": (f"async function* i() {{ {A}; yield 1 }} async function* g() {{ yield* i(); {B} }} for await (const x of g()) {C}; {D}", "l1=n1 n1>n2 n1>n3 l1>n4"),
    "generator that is asked": (f"async function* g() {{ {A}; yield 1 }} const it = g(); {B}; await it.next(); {C}", "n2>n1 n1>n3"),
    "handed to a helper": (f"const run = async (f) => f(); {B}; await run(async () => {{ {A} }}); {C}", "n1>n2 n2>n3"),
    "handed to two calls of a helper": (f"const run = async (f) => {{ await f() }}; await run(async () => {{ {A} }}); await run(async () => {{ {B} }}); {C}", "n1>n3 n2>n3"),
    "handed to unknown code": (f"{A}; foo(async () => {{ if (c) {B} }}); {C}", "n1>d1 d1-true>n2 n1>n3"),
    "timer": (f"{A}; setTimeout(async () => {{ {B} }}, 5); {C}", "n1>n2 n1>n3"),
    "table": (f"const t = {{ x: async () => {{ {A} }}, y: async () => {{ {B} }} }}; {C}; await t[k](); {D}", "n3>n1 n3>n2 n1>n4 n2>n4"),
    "returned function": (f"const make = () => async () => {{ {A} }}; const f = make(); {B}; await f(); {C}", "n2>n1 n1>n3"),
    "returned by what was returned": (f"const make = () => () => async () => {{ {A} }}; {B}; await make()()(); {C}", "n2>n1 n1>n3"),
    "never called": (f"{A}; const h = async () => {{ if (c) {B} }}; {C}; return h", "n1>d1 d1-true>n2 n1>n3"),
    "tag": (f"const tag = async (s, x) => {{ {A} }}; await tag`x${{ {B} }}`; {C}", "n2>n1 n1>n3"),
    "executor": (f"{A}; await new Promise((res) => {{ mcp.s.b().then(res) }}); {C}", "n1>n2 n2>n3"),
    "default value": (f"{A}; const {{ a = {B} }} = o; {C}", "n1>n2 n2>n3"),
    "throwing helper": (f"const fail = () => {{ throw 1 }}; try {{ c ? fail() : {A} }} catch {{ {B} }}", "d1-false>n1 d1-true>d2 n1>d2 d2-catch>n2"),
    "mutual recursion": (
        f"const e = async (n) => {{ {A}; if (n) await o(n - 1) }}; const o = async (n) => {{ {B}; if (n) await e(n - 1) }}; await e(3); {C}",
        "n1>d1 d1-true>n2 n2>d2 d1-false>n3 d2-false>n3 d2-true>n3",
    ),
    "later, where it may be first": (f"{H} if (c) await h(); {B}; await h(); {C}", "d1-false>n1 d1-true>n1 n1>n2 d1-false>n2 n2>n3"),
    "later, where it is not": (f"{H} await h(); if (c) {B}; await h(); {C}", "n1>d1 d1-true>n2 d1-false>n3 n2>n3"),
    "again, where it was not the first time": (f"{H} if (c) {{ await h(); {B} }} await h(); {C}", "d1-false>n1 d1-true>n1 n1>n2 n1>n3 n2>n3"),
    "again, where something else comes first": (
        f"{H} if (a) await h(); else {{ try {{ x() }} catch {{ await none?.go?.({B}) ?? {C} }} }} await h(); const o = {{ async go() {{ {D} }} }}; await o.go()",
        "d1-true>n1 d2-ok>n1 d4-false>n1 d5-false>n1 n2>n1 d1-false>d2 d2-catch>d4 d4-true>d5 d5-true>n2 d4-false>d3 d5-false>d3 n4>d3 d3-false>n3 n1>n4 d2-ok>n4 d4-false>n4 d5-false>n4 n2>n4",
    ),
    "called first where control never comes": (f"{H} if (a) {{ return; await h() }} if (c) await h(); {B}", "d2-true>n1 d1-false>d2 n1>n2 d2-false>n2"),
    "called only where control never comes": (f"const g = async () => {{ {A} }}; {H.replace('.a', '.b')} {C}; return; await h(); async function k() {{ return; await g() }}", ""),
    "again in a function that another arm calls": (
        f"{H} const g = async () => {{ if (c) await h(); {B} }}; if (a) {{ await h(); await g() }} else {{ await g() }}",
        "d2-false>n1 d2-true>n1 n1>d1 d2-false>d1 d1-false>n2 d1-true>n2",
    ),
    "in a default value": (f"{H} const f = async (x = h()) => await x; await f(); {B}; const g = async () => {{ if (c) await h() }}; await g()", "n1>n2 n2>d1"),
    "in a default value, and later": (f"{H} const f = async (x = h()) => 1; f(); {B}; const g = async () => {{ if (c) await h() }}; await g()", "n2>d1"),
    "after an arm that returns": (f"{H} if (c) {{ await h(); return }} await h(); {B}", "d1-false>n1 d1-true>n1 n1>n2"),
    "in the other order": (f"{H} const g = async () => {{ {B} }}; if (c) {{ await h(); await g() }} else {{ await g(); await h() }} {C}", "d1-false>n1 d1-true>n1 n1>n2 d1-false>n2 n2>n3"),
    "in a catch and after it": (f"{H} try {{ {B} }} catch {{ await h() }} await h(); {C}", "d1-catch>n1 d1-ok>n1 n2>d1 n1>n3"),
    "exception out of a loop": (f"try {{ for (const x of xs) {A} }} catch {{ {B} }} {C}", "l1=n1 l1>d1 d1-catch>n2 d1-ok>n3 n2>n3"),
    "iterator by its name": (f"{H} class K {{ async *[Symbol.asyncIterator]() {{ await h(); yield 1 }} }} {B}; for await (const x of new K()) {{ {C} }} await h(); {D}", "l1=n1 n2>l1 n1>n3 n1>n4"),
    "iterator that is spread": (f"class K {{ *[Symbol.iterator]() {{ yield mcp.s.a() }} }} {B}; await Promise.all([...new K()]); {C}", "n2>n1 n1>n3"),
    "iterator that an array is not": (f"class K {{ async *[Symbol.asyncIterator]() {{ {A}; yield 1 }} }} for await (const x of [1]) {{ {B} }} for await (const x of y(K)) {{ {C} }}", "l2=n1 l1=n2 l1>l2 n1>n3"),
    "many handed to calls of a helper": ("const run = async (f) => { await f() };" + "await run(async () => { await mcp.s.a() });" * 60 + C, " ".join(f"n{n}>n61" for n in range(1, 61))),
}  # fmt: skip


@pytest.mark.parametrize("name", REACHED)
def test_a_function_runs_where_it_is_called(name: str) -> None:
    """SA-3: edges into a function and out of it, its branches nodes, its sites once."""
    source, edges = REACHED[name]
    assert control(program(source).structure) == edges


@pytest.mark.parametrize("name", REACHED)
def test_every_branch_of_a_function_has_a_probe(name: str) -> None:
    """SA-6: what is a decision of the structure is told by the code that runs."""
    analysed = program(REACHED[name][0])
    decided = [node.id for node in analysed.structure.nodes if node.id.startswith("d")]
    assert all(f'"{decision}"' in analysed.instrumented for decision in decided)
