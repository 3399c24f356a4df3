"""Promises taken for values: what is said, and what is not said of good programs (SA-7)."""

# ruff: noqa: E501  # programs and what is said of them, a row each

import pytest

from tests.analysis.programs import program

SAID = {
    "const t = mcp.s.a(); return t.content": "a promise has no 'content': write (await t).content",
    "return await mcp.s.a().content": "a promise has no 'content': write (await mcp.s.a()).content",
    "const r = Promise.all([mcp.s.a(), mcp.s.b()]); return r.length": "a promise has no 'length': write (await r).length",
    "const h = async () => { return await mcp.s.a() }; return h().x": "a promise has no 'x': write (await h()).x",
    "const h = () => mcp.s.a(); const { x } = h(); return x": "a promise has nothing to take out of it: write await h()",
    "const p = mcp.s.a(); if (p) return 1; return await p": "a promise is always true: write await p",
    "return mcp.s.a() ? 1 : 2": "a promise is always true: write await mcp.s.a()",
    "return !mcp.s.a()": "a promise is always true, and no number: write await mcp.s.a()",
    "return (mcp.s.a()) || 1": "a promise is always true, and never absent: write await mcp.s.a()",
    "return mcp.s.a() === 3": "a promise is not its value: write await mcp.s.a()",
    "return 1 + mcp.s.a()": "a promise is not its value: write await mcp.s.a()",
    "return `${mcp.s.a()}`": "a promise in a text is [object Promise]: write await mcp.s.a()",
    "return { ...mcp.s.a() }": "a promise has no elements and no fields: write ...(await mcp.s.a())",
    "for (const x of mcp.s.a()) console.log(x)": "a promise has no elements: write await mcp.s.a()",
    "return JSON.stringify(mcp.s.a())": "nothing waits for this promise, so its value is not there yet: write await mcp.s.a()",
    "return await mcp.s.a({ v: mcp.s.b() })": "nothing waits for this promise, and it becomes {} as JSON: write await mcp.s.b()",
    "const v = mcp.s.b(); return await mcp.s.a({ v })": "nothing waits for this promise, and it becomes {} as JSON: write await v",
    "return { a: [mcp.s.a()] }": "nothing waits for this promise, and it becomes {} as JSON: write await mcp.s.a()",
    "return args.xs.map(async (x) => mcp.s.a({ x }))": "these are promises, and each becomes {} as JSON: write await Promise.all(args.xs.map(async (x) => mcp.s.a({ x })))",
    "const r = args.xs.map((x) => mcp.s.a({ x })); return { r }": "these are promises, and each becomes {} as JSON: write await Promise.all(r)",
    "return args.xs.filter(async (x) => await mcp.s.a({ x }))": "filter does not wait for an async function: it gives a promise, and a promise is always true: first write const found = await Promise.all(xs.map(f)), then xs.filter((x, i) => found[i])",
    "return args.xs.sort(async (x, y) => await mcp.s.a({ x, y }))": "sort does not wait for an async function, so nothing is sorted: first get what to sort by, with await Promise.all(xs.map(f))",
}


@pytest.mark.parametrize("source", SAID)
def test_a_promise_where_a_value_is_needed_is_told_with_what_to_write(source: str) -> None:
    analysed = program(source)
    assert analysed.errors == ()
    assert [(d.code, d.message) for d in analysed.diagnostics] == [
        ("promise-as-value", SAID[source])
    ]


def test_for_each_is_told_to_wait_for_nothing() -> None:
    """``await`` before it would not help."""
    (said,) = program("args.xs.forEach(async (x) => { await mcp.s.a({ x }) })").diagnostics
    assert said.code == "unawaited-call"
    assert said.message == (
        "forEach waits for nothing: the program goes on, and may end, before these calls do: "
        "write for (const x of xs) { await ... }, or await Promise.all(xs.map(...))"
    )


@pytest.mark.parametrize(
    "source",
    [
        "const p = mcp.s.a(), q = mcp.s.b(); return Promise.all([p, q])",
        "const p = args.c ? mcp.s.a() : null; if (p) await p; return 1",
        "let p = mcp.s.a(); p = await p; return p.length",
        "const f = (xs) => xs.map(async (x) => mcp.s.a({ x })); return await Promise.all(f(args.xs))",
        "const p = mcp.s.a(), o = { p }; return await o.p",
        "const ps = args.xs.map(async (x) => mcp.s.a({ x })); for (const p of ps) await p; return ps.length",
        "return mcp.s.a().then((x) => x.y).catch(() => null)",
        "const p = mcp.s.a(), q = mcp.s.b(); return [p === q, p instanceof Promise, typeof p, await p, await q]",
        "const r = await Promise.all(args.xs.map(async (x) => await mcp.s.a({ x }))); return r.filter((x) => x.ok).sort()",
        "return await mcp.s.a({ xs: await Promise.all(args.xs.map(async (x) => mcp.s.b({ x }))) })",
        "const f = async () => { const g = mcp.s.a(); return { g: await g } }; const { g } = await f(); return g",
        "for await (const x of [mcp.s.a(), mcp.s.b()]) f(x)",
        "async function* g() { yield await mcp.s.a() } const it = g(); return (await it.next()).value",
        "const p = mcp.s.a(); p.label = 'x'; return await p",
        "return args.c && mcp.s.a()",
        "return (await mcp.s.a()).x ?? `${await mcp.s.b()}`",
        "const o = { filter: async (f) => await f() }; return await o.filter(async () => await mcp.s.a())",
        "const h = () => ({ x: 1 }); return h().x",
        "const p = mcp.s.a(); { const p = { x: 1 }; f(p.x) } return p",
        "const f = (p) => p.x; return f(await mcp.s.a())",
        "return n?.l.map(async (x) => mcp.s.a({ x }))",
        "return await mcp.s.a({ find: 1 }), await Promise.all([1].map(async (x) => x))",
    ],
)
def test_a_promise_that_is_used_as_one_is_right(source: str) -> None:
    found = [d for d in program(source).diagnostics if d.code == "promise-as-value"]
    assert found == []
