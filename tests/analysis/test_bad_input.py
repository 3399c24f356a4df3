"""Bad input is refused with a reason, odd input is analysed; neither takes long (SA-1, SA-11).

Whatever would take more than linear time runs into the timeout of a test here.
"""

# ruff: noqa: E501  # programs and what is said of them, a row each

import pytest

from pml.analysis.analyse import analyse
from pml.domain.structure import Computed, Task
from tests.analysis.invariants import check
from tests.analysis.programs import CATALOG, codes, program

REFUSED = {
    "JSX": ("const x = <div>{y}</div>", "syntax", "JSX is not possible"),
    "JSX without children": ("return <Foo bar={1} />", "syntax", "JSX is not possible"),
    "import": ("import { x } from 'y'", "module-syntax", "a program cannot import: tools are its only way out"),
    "import for its effects": ("import 'y'", "module-syntax", "a program cannot import"),
    "export": ("export default 1", "module-syntax", "a program cannot export: return its result"),
    "dynamic import": ("const x = await import('y')", "dynamic-import", "tools are the only way out"),
    "require": ("const fs = require('fs')", "not-in-sandbox", "modules cannot be loaded; use an MCP tool"),
    "eval": ("eval('mcp.s.a()')", "dynamic-code", "code cannot be made from text"),
    "eval in parentheses": ("(eval)('1')", "dynamic-code", "code cannot be made from text"),
    "new Function": ("new Function('return 1')()", "dynamic-code", "code cannot be made from text"),
    "Function": ("Function('return 1')()", "dynamic-code", "code cannot be made from text"),
    "with": ("with (mcp.s) { a() }", "unsupported", "`with` is not possible"),
    "the shim": ("__pml.decide('d1', 1)", "reserved-name", "'__pml' is PML's own"),
    "the shim declared": ("const __pml = 1", "reserved-name", "use another name"),
    "the shim in a pattern": ("const f = ({ __pml }) => 1", "reserved-name", "use another name"),
    "a site mark in a name": ('mcp.fs["read\u22a5n1"]({})', "unknown-tool", "no name of a tool holds \u22a5"),
    "a promise's method of a server": ("await mcp.fs.then((x) => x)", "unknown-tool", "'then' cannot be called as a tool"),
    "a server as a function": ("await mcp.fs({ path })", "no-tool", "'fs' is a server, no tool: call one of its tools, as in mcp.fs.stat({ ... })"),
    "mcp as a function": ("await mcp('fs')", "no-tool", "mcp is no function"),
    "capabilities as a function": ("await capabilities('x')", "no-tool", "call one by its name"),
    "NUL": ("await mcp.s.a()\0", "syntax", "a NUL character"),
    "binary": ("\x7fELF\x02\x01\x01\0\0\0", "syntax", ""),
    "half of a surrogate pair": ("return '\ud83d'", "not-unicode", "half of a surrogate pair"),
    "open string": ("const x = 'abc\nreturn x", "syntax", "a string ends with its line"),
    "open template": ("const x = `abc\nreturn x", "syntax", "a template is never closed"),
    "open comment": ("return 1 /* abc\n", "syntax", "the comment that begins with /* is never closed"),
    "open regex": ("const x = /abc\nreturn x", "syntax", ""),
    "open bracket": ("f(1, [2, 3", "syntax", ""),
    "bracket that closes nothing": ("const x = 1)\nreturn x", "syntax", ""),
    "for with using": ("for (using x of y) f(x)", "syntax", "`for (using x of y)` is not understood: write `for (const"),
    "HTML comment": ("let i = 1\n--> comment", "syntax", "`-->` cannot begin a line"),
    "object at the start of a statement": ("{ a: 1, b: 2 }", "syntax", "put the object in parentheses"),
    "text key at the start of a statement": ('{ "a": 1 }', "syntax", "put the object in parentheses"),
    "object as the body of an arrow function": ("return () => { a: 1, b: 2 }", "syntax", "put the object in parentheses"),
    "Python's operators": ("if (a and b) { return 1 }", "syntax", "this is Python, and a program is TypeScript: write && for and"),
    "Python's or": ("return x or y", "syntax", "|| for or"),
    "Python's not": ("if not a: return 1", "syntax", "! for not"),
    "Python's condition": ("if x == 1:\n    return 2", "syntax", "write if (...) { ... }"),
    "Python's loop": ("for x in xs: await mcp.s.a()", "syntax", "write for (const x of xs) { ... }"),
    "Python's function": ("def main(): return 1", "syntax", "write async function name(x) { ... }"),
    "Python's text": ("return f'a{b}'", "syntax", "write a template: `... ${x} ...`"),
    "Python's comment": ("# all\nreturn 1", "syntax", "a comment begins with //"),
    "Python's try": ("try:\n    x = 1", "syntax", "write try { ... } catch (error) { ... }"),
    "no TypeScript at all": ("SELECT * FROM tools WHERE 1", "syntax", "unexpected"),
    "Markdown around code": ("```ts\nreturn 1\n```\n", "syntax", "the code stands in a Markdown fence"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_with_a_reason(name: str) -> None:
    """SA-1, SA-7."""
    source, code, said = REFUSED[name]
    check(source)
    first = program(source).errors[0]
    assert first.code == code
    assert said in first.message


JSX = {
    "const x = <div>{y}</div>": (1, 11),
    "const n: Array<string> = [];\nreturn <Foo bar={1} />": (2, 8),
    "return <></>": (1, 8),
}


@pytest.mark.parametrize("source", JSX)
def test_jsx_is_told_where_it_begins(source: str) -> None:
    """SA-7."""
    first = program(source).errors[0]
    assert (first.line, first.column) == JSX[source]


@pytest.mark.parametrize(
    "source",
    [
        "enum E { A } let E = 1",
        "enum E { A } class E {}",
        "const E = 1; enum E { A }",
        "class E {} enum E { A }",
    ],
)
def test_only_enums_are_declared_in_parts(source: str) -> None:
    assert "'E' is declared twice in one scope" in [d.message for d in program(source).errors]


def test_a_member_of_an_enum_in_parts_names_no_tool_for_certain() -> None:
    """SA-5: what another part says may stand for the same name."""
    source = "enum E { A = 'a' } enum E { A = 'b' } return await mcp.s[E.A]({})"
    assert not program(source).structure.complete


ACCEPTED = {
    "nothing": "",
    "blanks": " \t\r\n\u00a0\u3000\ufeff",
    "a comment": "// nothing",
    "a byte order mark": "\ufeffreturn 1",
    "debugger": "debugger; return 1",
    "await everywhere": "await 1; const x = [await 2, `${await 3}`, { a: await 4 }]; if (await 5) for (const y of await x) await y; return await x",
    "a label that looks like an object": "{ a: b } { c } { d: { e: f() } }",
    "carriage returns alone": "const x = 1\rreturn x",
    "all ends of lines": "const x = 1\r\nconst y = '2\u2028'\rreturn `\r\n\r${x}`; // \u2029",
    "an own eval": "const o = { eval: (x) => x }; return o.eval(1)",
    "an argument called mcp": "const f = (mcp, args, capabilities) => mcp + args + capabilities; return f(1, 2, 3)",
    "an enum in parts": "enum E { A = 'a' } enum E { B = 'b' } return E.A + E.B",
    "names that Python means something by": "const not = 1, and = 2, or = 3, def = 4, elif = 5; return not + and + or + def + elif",
    "a regex with everything": "return /[/`'\"({]\\/(?<a>x)/gu.test('`')",
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_odd_input_is_analysed(name: str) -> None:
    assert check(ACCEPTED[name]).errors == ()


@pytest.mark.parametrize("size", [1_000_001, 5_000_000])
def test_a_source_over_the_limit_is_not_even_parsed(size: int) -> None:
    """OP-5."""
    analysed = program("x;" * (size // 2 + 1))
    assert codes(analysed) == ["too-large"]
    assert "move data out of the code into args" in analysed.errors[0].message


NESTED = {
    "brackets": ("[" * 10_000 + "]" * 10_000, "split the expression"),
    "unbalanced brackets": ("(" * 10_000, ""),
    "closing brackets": (")" * 10_000, ""),
    "else if": ("if (a) b; " + "else if (a) b; " * 3_000, "use `switch`"),
    "chained calls": ("x" + ".then(f)" * 3_000, "end the chain of calls"),
    "logical operators": ("a" + " && a" * 3_000, "join a list"),
    "ternaries": ("a ? b : " * 3_000 + "c", ""),
    "arrows": ("x => " * 3_000 + "x", ""),
    "templates": ("`${" * 3_000 + "x" + "}`" * 3_000, ""),
    "patterns": ("const " + "{ a: " * 3_000 + "b" + " }" * 3_000 + " = c", ""),
}


@pytest.mark.parametrize("name", NESTED)
def test_what_is_nested_too_deep_is_refused_with_advice(name: str) -> None:
    source, advice = NESTED[name]
    errors = check(source).errors
    assert errors[0].code in {"too-deep", "syntax"}
    assert advice in errors[0].message


LARGE = {
    "a sum of 10,000 terms": "const x = 1; return x" + " + x" * 10_000,
    "a text in 10,000 parts": "return ''" + " + 'abc\\n'" * 10_000,
    "5,000 elements": f"return [{'1, ' * 5_000}]",
    "5,000 objects": f"await mcp.s.a({{ x: [{'{ a: 1, b: [2] }, ' * 5_000}] }})",
    "100,000 names": "a, " * 99_999 + "a",
    "one long line": "await mcp.s.a({ x: '\u00e9' }); " * 1_000,
    "one long text": f"await mcp.s.a({{ x: '{'x' * 900_000}' }})",
    "1,000 functions": "".join(f"const f{n} = async () => await mcp.s.a();\n" for n in range(1_000)) + "".join(f"await f{n}();\n" for n in range(1_000)),
    "1,000 decisions": "if (args.x) await mcp.s.a();\n" * 1_000,
    "1,000 aliases": "const f0 = mcp.s.a;\n" + "".join(f"const f{n} = f{n - 1};\n" for n in range(1, 100)) + "await f99();\n" * 1_000,
    "a switch of 1,000": "switch (args.x) {" + "".join(f"case {n}: await mcp.s.a(); break;\n" for n in range(1_000)) + "}",
    "1,000 calls of one helper": "const h = async (m) => await m.s.a();\n" + "await h(mcp);\n" * 1_000,
    "1,000 unknown tools": "".join(f"await mcp.s.zz{n}();\n" for n in range(1_000)),
    "1,000 assertions": "x = a && b!.c;\n" * 1_000,
}  # fmt: skip


@pytest.mark.parametrize("name", LARGE)
def test_large_sources_are_analysed_within_the_timeout(name: str) -> None:
    """SA-11: time grows with the size, and no faster."""
    analysed = analyse(LARGE[name], CATALOG)
    assert {d.code for d in analysed.errors} <= {"unknown-tool"}


def test_a_long_sum_keeps_its_inputs() -> None:
    """SA-4: however it is nested."""
    source = "const r = await mcp.s.a(); await mcp.s.b({ x: 1" + " + 2" * 500 + " + r.n + args.y })"
    second = [node for node in program(source).structure.nodes if isinstance(node, Task)][1]
    given = second.arguments["x"]
    assert isinstance(given, Computed)
    assert len(given.inputs) == 2


def test_long_sums_are_told_apart() -> None:
    """SA-8."""
    sums = [
        f"return args.a{f' {sign} args.b' * 100} {last} args.c" for sign in "+-" for last in "+-"
    ]
    assert len({program(source).canonical_hash for source in sums}) == 4


ASSERTED = {
    "await mcp.s.a({ x: a && b! > 1 })": "await mcp.s.a({ x: a && (b > 1) })",
    "if (a && b!.c) await mcp.s.a()": "if (a && (b.c)) await mcp.s.a()",
    "if (a || b!(1)) await mcp.s.a()": "if (a || (b(1))) await mcp.s.a()",
    "await mcp.s.a({ x: -a!.b })": "await mcp.s.a({ x: -(a.b) })",
    "x = a + b! * c!.d!.e; await mcp.s.a({ x })": "x = a + (b * c.d.e); await mcp.s.a({ x })",
    "await mcp.s.a({ x: !a!.b! })": "await mcp.s.a({ x: !(a.b) })",
}


@pytest.mark.parametrize("source", ASSERTED)
def test_an_assertion_binds_to_what_stands_before_it(source: str) -> None:
    """The grammar takes ``a && b!.c`` for ``(a && b)!.c``; the canonical form shows what is read."""
    analysed = check(source)
    assert analysed.canonical_hash == program(ASSERTED[source]).canonical_hash != ""
    assert analysed.instrumented.count("!") == source.count("!")


def test_places_count_characters_and_lines_of_every_kind() -> None:
    """SA-7: Unicode, CRLF and lone carriage returns before the mistake."""
    for before, line, column in (
        ("/* \u00e9\U0001f600 */ ", 1, 10),
        ("\r\n\r\n ", 3, 2),
        ("\r\r", 3, 1),
        ("'\u2028'; ", 1, 6),
        ("/* " + "\u00e9" * 10_000 + " */\n\t", 2, 2),
    ):
        (error,) = program(f"{before}mcp.s.zzz()").errors
        assert (error.line, error.column, error.text) == (line, column, "mcp.s.zzz")
