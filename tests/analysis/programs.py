"""What the tests of analysis share: a catalog, and structures as short text."""

# ruff: noqa: E501  # programs and their results, a row each

from typing import Any

from pml.analysis.analyse import analyse
from pml.domain.program import Program
from pml.domain.structure import EdgeType, StaticStructure
from pml.domain.tools import Catalog, Tool


def schema(required: str = "", optional: str = "", **types: str) -> dict[str, Any]:
    """An object schema; fields are strings where ``types`` says nothing else."""
    needed = required.split()
    return {
        "type": "object",
        "properties": {
            name: {"type": types.get(name, "string")} for name in [*needed, *optional.split()]
        },
        "required": needed,
        "additionalProperties": False,
    }


FS = (
    Tool(
        server="fs",
        name="stat",
        input_schema=schema("path"),
        output_schema=schema("exists encoding", exists="boolean"),
    ),
    Tool(server="fs", name="read", input_schema=schema("path", "encoding")),
    Tool(server="fs", name="create", input_schema=schema("path")),
    Tool(server="fs", name="write", input_schema=schema("path content")),
    Tool(server="fs", name='odd name\u00e9"', input_schema=schema()),
)
CATALOG = Catalog(
    {
        "fs": FS,
        "s": [Tool(server="s", name=name) for name in "abcdefgh"],
        "my-server": [Tool(server="my-server", name="read-file")],
    }
)

EPIC_10 = """\
const file = await mcp.fs.stat({ path });
if (file.exists) {
  const content = await mcp.fs.read({ path });
  return content;
} else {
  await mcp.fs.create({ path });
  await mcp.fs.write({ path, content: "" });
}
"""

ONE_OF_EACH = """\
/* mcp.fs.read({ path }) */ const re = /mcp\\.fs\\.read\\(/u, text = `mcp.fs.read(${'x'})`;\r
const { s } = mcp; const a = s.a, h = async (x: { mcp: number }) => await mcp.s.h({ x });
enum Colour { Red = 1, Blue = Red + 1 }
interface Shape { mcp: typeof mcp.fs }
type T<U> = { [k in keyof U]: typeof mcp };
function id<X>(x: X): X { return x }
let n = 0, list: Array<string> = ["\u00e9\U0001f600"];
if (await mcp.fs
  .stat({ path }) /* comment */ // another
) await mcp.s["b"]!({ n: n! as number }); else if (n satisfies number) { await a() }
const r = (n > 1) ? await (mcp.s.c as any)<string>({ list }) : await mcp?.s?.d?.({ re });
n || await h(1); text && (await h(2)); r ?? await mcp.s.e(); r?.f(await mcp.s.f());
n ||= await mcp.s.g(); n &&= await mcp.s.h(); n ??= await mcp.s.a();
switch (n) { case 1: await mcp.s.a(); case 2: { await mcp.s.b(); break } case Colour.Red: case n: }
switch (text) { default: await mcp.s.c(); break; case "x": await mcp.s.d() }
outer: for (const x of list) { for (let i = 0; i < 2; i++) { await mcp.s.a({ i }); continue outer } }
for (;;) { if (await mcp.s.b()) break; n++ }
for (const k in { a: 1, b: 2 }) await mcp.s.c({ k })
while (n-- > 0 && await mcp.s.d()) { await mcp.s.e() }
do { await mcp.s.f() } while (n-- > 0)
for await (const x of [mcp.s.a(), mcp.s.b()]) { await mcp["my-server"]["read-file"]({ x }) }
try { await mcp.s.a() } catch (e: unknown) { await mcp.s.b({ e: String(e) }) } finally { n = 0 }
try { if (n) throw new Error("x") } catch { await mcp.s.c() }
const [p, q] = await Promise.all([mcp.s.a(), ...list.map(async (x) => mcp.s.b({ x }))])
const settled = await Promise.allSettled(list.map((x) => mcp.s.c({ x }))), first = await Promise.race([h(1), h(2)]);
list.forEach((x) => { void mcp.s.d({ x }) }); await Promise.all(list.map(a));
const total = await list.reduce(async (sum, x) => (await sum) + (await mcp.s.e({ x })), Promise.resolve(0));
await mcp.s.f().then((x) => mcp.s.g({ x })).catch(() => mcp.s.h());
await (async () => { await mcp.s.a() })();
class K { #v = 1; static { n = 1 } async go() { return await mcp.s.b({ v: this.#v }) } }
const k = new K(), o = { a, run() { return mcp.s.c() } }; await k.go(); await o.run();
const tagged = id`x${n}`, tool = "d", t = await mcp.s[tool]({ ...{ n }, [text]: 1, a: { b: [p, q] } });
return { t, total, settled, first, tagged };
"""
"""Every construct once; runs through analysis without an error."""


def program(source: str) -> Program:
    """Analyse against `CATALOG`."""
    return analyse(source, CATALOG)


def control(structure: StaticStructure) -> str:
    """Control edges in order: ``n1>n2`` in sequence, ``d1-true>n2``, ``l1=n3`` contains."""
    return " ".join(
        f"{e.source}={e.target}"
        if e.type is EdgeType.CONTAINS
        else f"{e.source}{'-' + e.outcome if e.outcome else ''}>{e.target}"
        for e in structure.edges
        if e.type is not EdgeType.PROVIDES
    )


def provides(structure: StaticStructure) -> set[tuple[str, str, str, str | None]]:
    """Source, target, evidence and coverage of the ``provides`` edges."""
    return {
        (e.source, e.target, str(e.evidence), e.coverage and str(e.coverage))
        for e in structure.edges
        if e.type is EdgeType.PROVIDES
    }


def codes(analysed: Program) -> list[str]:
    """The codes of the diagnostics in order."""
    return [diagnostic.code for diagnostic in analysed.diagnostics]
