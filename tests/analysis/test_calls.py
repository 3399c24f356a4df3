"""Calls are found however the code gets hold of a tool, or the structure says that it is not whole.

SA-5, SA-11.  The law: whatever a program does, each call that the sandbox sees comes from a site
whose node has that tool, or ``*``, or ``complete`` is false.  It is held against runs of a table of
tricky programs and of generated ones, which natively do the same.
"""

# ruff: noqa: E501  # programs and their results, a row each

import random
import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st

from pml.analysis.analyse import analyse
from pml.analysis.parameters import bind
from pml.domain.structure import Task
from pml.runtime.sandbox.module import module_text
from tests.oracle.compare import CATALOG, unlike
from tests.oracle.laws import mislabelled
from tests.oracle.native import Native, native_runner
from tests.oracle.programs import ARGS
from tests.oracle.sandboxed import Reusing, reusing_sandboxes, sandboxed
from tests.oracle.scenario import Case, play

METHODS = (
    *(
        "go",
        "mk()",
        "C.set",
        "args.none ? () => 1 : go",
        "go2",
        "(0, go)",
        "go.bind(null) && go",
        "[go][0]",
    ),
    *("function () { go.call(this) }", "args.none ?? go", "(() => go)()"),
)
"""Functions that change or use the object whose method they are."""
CALLS_OF_METHODS = ("o.f()", "o.f?.()", "o.f`x`", "o['f']()", "(o.f)()", "o!.f()", "(o as any).f()")
CHANGING = (
    "function go() { this.r = 'stat'; return 1 } const go2 = function () { return go.call(this) }; "
    "const mk = () => go, C = { set: go }; "
)
USING = (
    "function go() { return this.s.read({ a: 1 }) } const go2 = function () { return go.call(this) }; "
    "const mk = () => go, C = { set: go }; "
)
BY_METHODS = {
    **{f"names changed by {m}": (f"{CHANGING} const o = {{ r: 'read', f: {m} }}; o.f(); await mcp.fs[o.r]({{}})", "*") for m in METHODS},
    **{f"names changed by {c}": (f"{CHANGING} const o = {{ r: 'read', f: go }}; {c}; await mcp.fs[o.r]({{}})", "*") for c in CALLS_OF_METHODS},
    **{f"a server used by {m}": (f"{USING} const o = {{ s: mcp.fs, f: {m} }}; await o.f()", "") for m in METHODS},
    **{f"a server used by {c}": (f"{USING} const o = {{ s: mcp.fs, f: go }}; await {c}", "") for c in CALLS_OF_METHODS},
    "a server of an array": (f"{USING} await [mcp.fs, function () {{ return this[0].read({{}}) }}][1]()", ""),
    "names given to valueOf": ("const o = { r: 'read', f: Object.prototype.valueOf }; const q = o.f(); q.r = 'stat'; await mcp.fs[o.r]({})", "*"),
    "names with a prototype": ("const o = { __proto__: { get f() { this.r = 'stat'; return 1 } }, r: 'read' }; o.f; await mcp.fs[o.r]({})", "*"),
    "names with a getter": ("const o = { get f() { this.r = 'stat'; return 1 }, r: 'read' }; const { f } = o; await mcp.fs[o.r]({})", "*"),
    "names with a shorthand method": ("function set() { this.r = 'stat' } const o = { r: 'read', set }; o.set(); await mcp.fs[o.r]({})", "*"),
    "a server with a getter": ("const o = { s: mcp.fs, get p() { return this.s.read({}) } }; const { p } = o; await p", ""),
    "an instance": ("class C { static [Symbol.hasInstance](v) { C.p = v.read({ a: 1 }); return true } static p } mcp.fs instanceof C; await C.p", ""),
    "an instance of names": ("class C { static [Symbol.hasInstance](v) { v.r = 'stat'; return true } } const o = { r: 'read' }; o instanceof C; await mcp.fs[o.r]({})", "*"),
    "a key that all objects have": ("Object.defineProperty(Object.prototype, 'zz', { get() { return this.s }, configurable: true }); const o = { s: mcp.fs, t: 1 }; await o.zz.read({}); delete Object.prototype.zz", ""),
    "a key that all objects have, in a pattern": ("Object.defineProperty(Object.prototype, 'zz', { get() { return this.s }, configurable: true }); const o = { s: mcp.fs, t: 1 }; const { zz } = o; delete Object.prototype.zz; await zz.read({})", ""),
    "a method of all arrays": ("const { map } = Array.prototype; Array.prototype.map = function () { return this[0].read({ a: 1 }) }; const p = [mcp.fs].map(() => 1); Array.prototype.map = map; await p", ""),
    "a method of all arrays, in escapes": ("const p = [].constr\\u0075ctor.protot\\u0079pe, { map } = p; p.map = function () { return this[0].read({ a: 1 }) }; const q = [mcp.fs].map(() => 1); p.map = map; await q", ""),
    "an iterator of all arrays": ("const old = Array.prototype[Symbol.iterator], all = []; Array.prototype[Symbol.iterator] = function () { all.push(this); return old.call(this) }; for (const s of [mcp.fs]) s; Array.prototype[Symbol.iterator] = old; await all.find((one) => typeof one[0] === 'object')[0].read({})", ""),
    "an array among the rest of a callback's parameters": ("const t = ['read']; t.forEach((e, ...r) => { r[1][0] = 'stat' }); await mcp.fs[t[0]]({})", "*"),
    "names that freeze replaces": ("const { freeze } = Object; Object.freeze = () => ({ A: 'stat' }); const T = Object.freeze({ A: 'read' }); Object.freeze = freeze; await mcp.fs[T.A]({})", "*"),
    "an enum with a method of all objects": ("Object.prototype.zz = function () { this.A = 'stat' }; enum E { A = 'read' } E.zz(); delete Object.prototype.zz; await mcp.fs[E.A]({})", "*"),
}  # fmt: skip
"""Incomplete, all of them."""
FOUND = {
    **BY_METHODS,
    "arrow functions beside names": ("const go = (x) => x, o = { r: 'read', f: go, g: () => 'a' }; o.f(1); o.g(); await mcp.fs[o.r]({})", "fs:read"),
    "a tool beside a server": ("const o = { s: mcp.fs, r: mcp.fs.read, n: 3 }; await o.r({}); await o.s.stat({ n: o.n })", "fs:read fs:stat"),
    "defaults beside a server": ("const f = async ({ s, n = 3 }) => await s.read({ n }); await f({ s: mcp.fs })", "fs:read"),
    "frozen names": ("const T = Object.freeze({ A: 'read', n: Object.freeze(['stat']) }); await mcp.fs[T.A]({}); await mcp.fs[T.n[0]]({})", "fs:read fs:stat"),
    "names that a method of ours freezes": ("const Object = { freeze: () => ({ A: 'stat' }) }; const T = Object.freeze({ A: 'read' }); await mcp.fs[T.A]({})", "*"),
    # aliases
    "server and tool": ("const { fs } = mcp, read = fs.read; await read({}); await fs.stat({})", "fs:read fs:stat"),
    "alias of mcp": ("const m = mcp, n = m; await n.db.count({})", "db:count"),
    "destructured with a new name and a default": ("const { fs: { read: r = null } = {}, ...rest } = mcp; await r({})", "fs:read"),
    "destructured in a parameter": ("const f = async ({ fs: { read } }, x) => await read({ x }); await f(mcp, 1)", "fs:read"),
    "destructured by assignment": ("let a, b; ({ fs: a, db: b } = mcp); await a.read({}); await b.count({})", "fs:read db:count"),
    "array pattern": ("const [m, , { read }] = [mcp, 1, mcp.fs]; await read({}); await m.db.count({})", "fs:read db:count"),
    "mcp handed to a helper": ('async function f(mcp, p) { return mcp.fs.read({ p }) } await f(mcp, "x")', "fs:read"),
    "mcp shadowed": ("const f = async (mcp) => await mcp.fs.read({}); await f({ fs: { read: (x) => x } }); await mcp.db.count()", "db:count"),
    "default parameter": ("const f = async (m = mcp) => await m.fs.read({}); await f(); await f(mcp)", "fs:read"),
    "assigned if missing": ("let m; m ??= mcp.fs; await m.read({})", "fs:read"),
    "absent at first": ("let m = null; if (args.flag) m = mcp.fs; await m?.read({})", "fs:read"),
    "await of a tool and a server": ("const f = await (await mcp.fs).read; await f({})", "fs:read"),
    "comma, parentheses, assertion": ("await (0, ((mcp as any)!).fs.read)({})", "fs:read"),
    # names
    "bracket access": ("await mcp['fs'][`read`]({})", "fs:read"),
    "odd names": ('await mcp["my server"]["x.y"]({}); await mcp.fs["read-file"]({})', "my server:x.y fs:read-file"),
    "escaped names": (r'await mcp.f\u0073["re\x61d"]({})', "fs:read"),
    "a sum": ('await mcp["f" + "s"]["re" + `ad`]({})', "fs:read"),
    "a constant": ("const k = 'fs', t = 'read'; await mcp[k][t]({})", "fs:read"),
    "a template": ("const t = 'ea'; await mcp.fs[`r${t}d`]({})", "fs:read"),
    "an enum": ("enum T { Read = 'read', Stat = `stat` } await mcp.fs[T.Read]({}); await mcp.fs[T['Stat']]({})", "fs:read fs:stat"),
    "an object of names": ("const T = { read: 'read', n: { s: 'stat' } }; await mcp.fs[T.read]({}); await mcp.fs[T.n.s]({})", "fs:read fs:stat"),
    "an array of names": ("const T = ['read', 'stat']; await mcp.fs[T[1]]({})", "fs:stat"),
    "names that may change": ("const T = { read: 'read' }; T.read = 'stat'; await mcp.fs[T.read]({})", "*"),
    "names that escape": ("const T = { read: 'read' }; Object.assign(T, { read: 'stat' }); await mcp.fs[T.read]({})", "*"),
    "a variable that changes": ("let t = 'read'; if (args.flag) t = 'stat'; await mcp.fs[t]({})", "*"),
    "a variable that is not set yet": ("try { await mcp.fs[t]({}) } catch {} var t = 'read'", "*"),
    "a choice of names": ("await mcp.fs[args.flag ? 'read' : 'stat']({})", "*"),
    "a number that is added": ("const n = 1; await mcp.fs['read' + n]({}).catch(() => 0)", "*"),
    "a loop over names": ("for (const t of ['read', 'stat']) await mcp.fs[t]({})", "*"),
    "a loop over servers": ("for (const s of [mcp.fs, mcp.db]) await s.read({}).catch(() => 0)", "*"),
    "a callback over servers": ("await Promise.all([mcp.fs, mcp.db].map((s) => s.read({}).catch(() => 0)))", "*"),
    "a destructured name": ("const { [args.flag ? 'read' : 'stat']: f } = mcp.fs; await f({})", "*"),
    # one of several
    "one of two tools": ("await (args.flag ? mcp.fs.read : mcp.fs.stat)({})", "fs:read fs:stat"),
    "assigned twice": ("let f = mcp.fs.read; if (args.flag) f = mcp.fs.stat; await f({})", "fs:read fs:stat"),
    "a loop over tools": ("for (const f of [mcp.fs.read, mcp.fs.stat]) await f({})", "fs:read fs:stat"),
    "a helper for two tools": ("const h = async (f, x) => await f({ x }); await h(mcp.fs.read, 1); await h(mcp.fs.stat, 2)", "fs:read fs:stat"),
    "one of two servers": ("await (args.flag ? mcp.fs : mcp.db).read({}).catch(() => 0)", "*"),
    "replaced by something else": ("let m = mcp.fs; m &&= { read: async () => 1 }; await m.read({})", "*"),
    "the first that is there": ("const f = ((args.flag && !args.flag) && mcp.fs.read) || mcp.fs.stat; await f({})", "fs:read fs:stat"),
    "a default for what may be missing": ("const [f = mcp.fs.read] = [args.none ? mcp.fs.stat : undefined]; await f({})", "fs:read fs:stat"),
    # values that hold tools
    "an object of tools": ("const t = { read: mcp.fs.read, n: { s: mcp.fs.stat } }; await t.read({}); await t.n.s({})", "fs:read fs:stat"),
    "an object of tools that escapes": ("const t = { read: mcp.fs.read }; const g = Object.values(t)[0]; await g({}); await t.read({})", "fs:read"),
    "an object of tools that changes": ("const t = { read: mcp.fs.read }; t.read = mcp.fs.stat; await t.read({})", "fs:read fs:stat"),
    "a method beside the tool": ("const t = { read: mcp.fs.read, async go() { this.read = mcp.fs.stat } }; await t.go(); await t.read({})", "fs:read fs:stat"),
    "a method of the array itself": ("await [mcp.fs, 1].reverse()[1].read({}); await [mcp.db, 1].find(() => true).count({})", ""),
    "a method that reads this": ("await ({ p: mcp.fs, go() { return this.p } }).go().read({})", ""),
    "a getter that reads this": ("await ({ p: mcp.fs, get q() { return this.p } }).q.read({}); const o = { p: mcp.db, get q() { return this.p } }; await o.q.count({})", ""),
    "a method behind a choice": ("await (args.flag ? { p: mcp.fs, go() { return this.p } } : null).go().read({})", ""),
    "a prototype": ("const o = { __proto__: mcp.fs }; await o.read({})", ""),
    "a class field": ("class A { fs = mcp.fs; read = mcp.fs.read } const a = new A(); await a.read({}); await a.fs.stat({})", "fs:read"),
    "a getter": ("const o = { get fs() { return mcp.fs } }; await o.fs.read({})", ""),
    "a generator": ("function* g() { yield mcp.fs.read; yield mcp.fs.stat } for (const f of g()) await f({})", "fs:read fs:stat"),
    "returned by a helper": ("const fs = () => mcp.fs; await fs().read({})", "fs:read"),
    "returned by an async helper": ("const fs = async () => mcp.fs; await (await fs()).read({})", "fs:read"),
    "a promise of a server": ("const fs = async () => mcp.fs; await fs().then((s) => s.read({}))", ""),
    "thrown": ("try { throw mcp.fs } catch (e) { await e.read({}) }", ""),
    "rest parameters": ("const f = async (...m) => await m[0].fs.read({}); await f(mcp)", ""),
    "arguments": ("async function f(m) { return await arguments[0].fs.read({}) } await f(mcp)", ""),
    "spread arguments": ("const f = async (a, m) => await m.fs.read({}); await f(...[1, mcp])", ""),
    "a default that is used": ("const { a: { f } = { f: mcp.fs.read } } = { a: args.flag ? { f: mcp.fs.stat } : undefined }; await f({})", "fs:read fs:stat"),
    "thrown tool in place of another": ("let e; try { throw mcp.fs.stat } catch (x) { e = x } const f = args.none ? mcp.fs.read : e; await f({})", "fs:stat fs:read"),
    # functions that call tools
    "bind, call, apply": ("await mcp.fs.read.bind(null, {})(); await mcp.fs.stat.call(null, {}); await mcp.fs.list.apply(null, [{}])", "fs:read fs:stat fs:list"),
    "Reflect": ("await Reflect.apply(mcp.fs.read, null, [{}]); await Reflect.get(mcp.fs, 'stat')({})", "fs:read"),
    "a callback": ("await Promise.all(args.items.map(mcp.fs.read))", "fs:read"),
    "optional calls": ("await mcp?.fs?.read?.({})", "fs:read"),
    "a tag": ("await mcp.fs.read`x`", "fs:read"),
    "conversion": ("try { `${mcp.fs}` } catch {}", ""),
    "comparison": ("try { -mcp.fs } catch {} return mcp.fs === mcp.fs && !mcp.db", ""),
    "a proxy": ("const p = new Proxy({}, { get: (_t, k) => mcp.fs[k] }); await p.read({})", "*"),
    "a proxy of a server": ("const p = new Proxy(mcp.fs, {}); await p.read({}).catch(() => 0)", ""),
    "values of mcp": ("return [Object.values(mcp).length, JSON.stringify({ ...mcp }), 'fs' in mcp]", ""),
    "names of mcp": ("const out = []; for (const k in mcp) out.push(await mcp[k].read({})); return out", "*"),
    "globalThis has no mcp": ("return typeof globalThis.mcp + typeof self['mcp']", ""),
    "this has no mcp": ("return typeof this + (function () { return typeof this })()", ""),
}  # fmt: skip
"""Programs, and the tools of their nodes in order of their places."""
INCOMPLETE = frozenset(
    {
        *(name for name, (_source, tools) in BY_METHODS.items() if not tools),
        "a method of the array itself", "a method that reads this", "a getter that reads this", "a method behind a choice", "a prototype", "a class field", "a getter", "a promise of a server",
        "thrown", "rest parameters", "arguments", "spread arguments", "Reflect", "conversion", "comparison",
        "a proxy of a server", "values of mcp",
    }
)  # fmt: skip
"""Of those without ``*``: there a server goes where it cannot be followed."""


@pytest.mark.parametrize("name", FOUND)
def test_calls_are_found_and_the_structure_says_where_they_are_not(name: str) -> None:
    """SA-5."""
    source, tools = FOUND[name]
    structure = analyse(source, CATALOG).structure
    found = [
        (structure.locations[n.id].start, n.tool) for n in structure.nodes if isinstance(n, Task)
    ]
    assert [tool for _, tool in sorted(found)] == re.findall(r"[^:\s](?:\S| (?=server))*", tools)
    assert structure.complete is ("*" not in tools and name not in INCOMPLETE)


class Runs:
    """Runs programs natively and in a sandbox."""

    def __init__(self, native: Native, sandboxes: Reusing) -> None:
        self._native = native
        self._sandboxes = sandboxes

    async def faults(self, source: str) -> list[str]:
        """Where a run contradicts the structure, or the native run."""
        program = analyse(source, CATALOG)
        if program.errors:
            return [f"refused: {d.message}" for d in program.errors]
        case = Case(source=source, args=ARGS)
        arguments, _ = bind(program, dict(ARGS))
        text = module_text(program.instrumented, program.structure.variables)
        async with self._native.one_at_a_time:
            wanted = await play(case, self._native)
        async with sandboxed(self._sandboxes, text, arguments) as runner:
            got = await play(case, runner)
        return [*unlike(wanted, got), *mislabelled(program.structure, got)]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def runs() -> AsyncIterator[Runs]:
    async with native_runner() as native, reusing_sandboxes() as sandboxes:
        yield Runs(native, sandboxes)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", FOUND)
async def test_a_call_comes_from_a_site_of_its_tool(name: str, runs: Runs) -> None:
    """SA-5, SA-11."""
    assert await runs.faults(FOUND[name][0]) == []


WAYS = (
    *("({X})", "(0, {X})", "({X} as any)!", "[{X}][0]", "({{ p: {X} }}).p", "({X} ?? 1)", "(args.flag && {X})"),
    *("(args.flag ? {X} : {X})", "(args.flag ? {X} : null)", "id({X})", "(x => x)({X})", "(() => {X})()"),
    *("[{X}].map((y) => y)[0]", "[{X}].find(() => true)", "Object.values({{ p: {X} }})[0]", "[...[{X}]][0]"),
    *("Reflect.get({{ p: {X} }}, 'p')", "new Map([[1, {X}]]).get(1)", "new (class {{ p = {X} }})().p"),
    *("((...z) => z[0])({X})", "(function () {{ return arguments[0] }})({X})", "((z = {X}) => z)()"),
    *("(({{ p }}) => p)({{ p: {X} }})", "(([p]) => p)([{X}])", "[...(function* () {{ yield {X} }})()][0]"),
    *("({{ get p() {{ return {X} }} }}).p", "(() => {{ try {{ throw {X} }} catch (e) {{ return e }} }})()"),
    *("((a, b = a) => b)({X})", "({{ ...{{ p: {X} }} }}).p", "(() => {{ let q; q ??= {X}; return q }})()"),
    *("(() => {{ const o = {{ p: 1 }}; o.p = {X}; return o.p }})()", "((f) => f())(() => {X})"),
    *("((o) => {{ o.p = {X}; return o }})({{}}).p", "(() => {{ for (const v of [{X}]) return v }})()"),
    *("(() => {{ const {{ p: {{ q }} }} = {{ p: {{ q: {X} }} }}; return q }})()", "[{X}, {X}].reverse()[1]"),
    *("(() => {{ let q = 1; {{ const q = {X}; return q }} }})()", "(() => {{ var q = {X}; return q }})()"),
)  # fmt: skip
"""Expressions of the same value as ``X``."""
STATEMENTS = (
    *("const {v} = {X};", "let {v}; {v} = {X};", "var {v} = {X};", "let {v} = null; if (args.flag) {v} = {X};"),
    *("const [{v}] = [{X}];", "const {{ p: {v} = 1 }} = {{ p: {X} }};", "function g_{v}() {{ return {X} }} const {v} = g_{v}();"),
    *("const {v} = await (async () => {X})();", "let {v} = {X}; if (args.none) {v} = null;", "const o_{v} = {{ p: {X} }}, {v} = o_{v}.p;"),
    *("const o_{v} = {{ p: {X} }}; id(o_{v}); const {v} = o_{v}.p;", "let {v}; [{v}] = [{X}];", "let {v}; for ({v} of [{X}]);"),
)  # fmt: skip
"""Ways to give a value a name."""
STEPS = {
    "server": ("{X}.fs", "{X}['fs']", "{X}[`f${{'s'}}`]", "(({{ fs }}) => fs)({X})", "{X}[K.fs]"),
    "tool": ("{X}.read", "{X}['st' + 'at']", "{X}[T]", "(({{ read: r }}) => r)({X})", "{X}[args.t]", "{X}.read.bind(null)"),
}  # fmt: skip


def generated(seed: int) -> str:
    """A program that gets hold of tools in ways of its own and calls them."""
    dice = random.Random(seed)
    lines = ["const id = (x) => x, K = { fs: 'fs' }, T = 'list', out = [];"]
    known = {"root": ["mcp"], "server": ["mcp.fs"], "tool": ["mcp.fs.read"]}
    for number in range(dice.randint(2, 6)):
        kind = dice.choice(["root", "server", "server", "tool", "tool", "tool"])
        name = f"v{number}"
        value = _value(dice, known, kind)
        lines.append(dice.choice(STATEMENTS).format(v=name, X=value))
        known[kind].append(name)
    lines += [f"out.push(await {_value(dice, known, 'tool')}({{ n: {n} }}));" for n in range(3)]
    return "\n".join([*lines, "return out;"])


def _value(dice: random.Random, known: dict[str, list[str]], kind: str) -> str:
    value = dice.choice(known[kind][-3:])
    if kind != "root" and dice.random() < 0.5:
        before = {"server": "root", "tool": "server"}[kind]
        value = dice.choice(STEPS[kind]).format(X=_value(dice, known, before))
    for _ in range(dice.choice([0, 0, 1, 1, 2])):
        value = dice.choice(WAYS).format(X=value)
    return value


@pytest.mark.timeout(300)
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("block", range(4))
async def test_no_generated_program_calls_a_tool_unseen(block: int, runs: Runs) -> None:
    """SA-5, SA-11: a law."""
    for seed in range(block * 25, block * 25 + 25):
        source = generated(seed)
        assert await runs.faults(source) == [], f"seed {seed}\n{source}"


@given(st.integers(0, 10**9))
def test_finding_calls_ends_and_repeats_itself(seed: int) -> None:
    source = generated(seed)
    first, again = analyse(source, CATALOG), analyse(source, CATALOG)
    assert first == again
    assert first.errors == ()
