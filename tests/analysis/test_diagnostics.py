"""What is said before anything runs (SA-1, SA-7)."""

# ruff: noqa: E501  # programs and their results, a row each

import pytest

from pml.analysis.analyse import References, analyse, read
from pml.domain.limits import Limits
from pml.domain.program import Severity
from pml.domain.structure import CapabilityCall, Parameter
from pml.domain.tools import Catalog, Tool
from tests.analysis.programs import CATALOG, EPIC_10, codes, program, schema

ERRORS = {
    "syntax": ("const x = ;", "syntax", "=", 9),
    "unclosed": ("await mcp.s.a(", "syntax", "await mcp.s.a(", 1),
    "closes the function around it": ("} evil(); {", "syntax", "} evil(); {", 1),
    "jsx": ("return <div>{x}</div>", "syntax", None, None),
    "declared twice": ("let a; let a", "syntax", "a", 12),
    "constant without value": ("const x", "syntax", "x", 7),
    "pattern without value": ("let { x }", "syntax", "{ x }", 5),
    "await in a plain function": ("f(() => { await g() })", "syntax", "await g()", 11),
    "break nowhere": ("if (x) break", "syntax", "break", 8),
    "continue in a switch": ("switch (x) { default: continue }", "syntax", "continue", 23),
    "unknown label": ("for (;;) { break out }", "syntax", "break out", 12),
    "label of no loop": ("l: { continue l }", "syntax", "continue l", 6),
    "import": ("import fs from 'fs'", "module-syntax", "import fs from 'fs'", 1),
    "export": ("export const x = 1", "module-syntax", "export const x = 1", 1),
    "import.meta": ("return import.meta.url", "module-syntax", "import.meta", 8),
    "dynamic import": ("await import('fs')", "dynamic-import", "import('fs')", 7),
    "eval": ("eval('1')", "dynamic-code", "eval('1')", 1),
    "new Function": ("new Function('x')", "dynamic-code", "new Function('x')", 1),
    "with": ("with (x) {}", "unsupported", "with (x) {}", 1),
    "hash bang": ("#!/bin/sh", "unsupported", "#!/bin/sh", 1),
    "namespace": ("namespace N {}", "unsupported", "namespace N {}", 1),
    "reserved name": ("const mcp = 1", "reserved-name", "mcp", 7),
    "reserved name hoisted": (
        "if (x) { var capabilities = 1 }",
        "reserved-name",
        "capabilities",
        14,
    ),
    "reserved function": ("function args() {}", "reserved-name", "args", 10),
    "assigned reserved name": ("args = 1", "reserved-name", "args", 1),
    "reserved name taken apart": ("[mcp] = [1]", "reserved-name", "mcp", 2),
    "reserved name as shorthand": ("({ mcp } = x)", "reserved-name", "mcp", 4),
    "reserved name in a loop": ("for (mcp of x) ;", "reserved-name", "mcp", 6),
    "reserved name counted": ("mcp++", "reserved-name", "mcp", 1),
    "the shim as a parameter": ("f((__pml) => 1)", "reserved-name", "__pml", 4),
    "the shim": ("__pml.at('n1', x)", "reserved-name", "__pml", 1),
    "process": ("process.exit()", "not-in-sandbox", "process", 1),
    "unknown server": ("await mcp.sf.read()", "unknown-server", "mcp.sf.read", 7),
    "unknown tool": ("await mcp.fs.raed()", "unknown-tool", "mcp.fs.raed", 7),
    "unknown capability": ("await capabilities.x()", "unknown-capability", "capabilities.x", 7),
    "missing argument": ("await mcp.fs.read({})", "missing-argument", "mcp.fs.read({})", 7),
    "no argument": ("await mcp.fs.read()", "missing-argument", "mcp.fs.read()", 7),
    "wrong type": ("await mcp.fs.read({ path: 1 })", "bad-argument", "path: 1", 21),
    "unknown argument": (
        "await mcp.fs.read({ path, encode: 'x' })",
        "bad-argument",
        "encode: 'x'",
        27,
    ),
    "no object": ("await mcp.fs.read('x')", "bad-argument", "mcp.fs.read('x')", 7),
}


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_names_its_place_and_stops_the_program(name: str) -> None:
    """SA-1, SA-7."""
    source, code, text, column = ERRORS[name]
    analysed = program(f"\n{source}")
    first = analysed.errors[0]
    assert first.code == code
    assert text is None or (first.text, first.line, first.column) == (text, 2, column)
    assert analysed.instrumented == ""


SAID = {
    "await mcp.sf.read()": "no server 'sf'; did you mean mcp.fs.read?",
    "await mcp.fs.raed()": "server 'fs' has no tool 'raed'; did you mean 'read' or 'write' or 'create'?",
    "await mcp.fs.read({ path: 1 })": "argument path of fs:read is 1, a number: it must be a string",
    "await mcp.fs.read({ path, encode: 'x' })": "fs:read has no argument 'encode'; did you mean 'encoding'?",
    "await mcp.fs.read({})": "fs:read needs the argument 'path' (a string)",
}


@pytest.mark.parametrize("source", SAID)
def test_a_message_says_what_was_expected(source: str) -> None:
    """SA-7: nearest names, the schema's expectation."""
    assert [d.message for d in program(source).errors] == [SAID[source]]


@pytest.mark.parametrize(
    "source",
    [
        "",
        "  // nothing\n",
        "return 1",
        "await 1; for await (const x of []) ;",
        "await mcp.fs.read({ path, ...options })",
        "await mcp.fs.read({ ...options })",
        "await mcp.fs.read(options)",
        "await mcp.fs.read(...[{ path: 'a' }])",
        "await mcp.fs.read(...args.all)",
        "await mcp.fs.read({ path: x ? 1 : 2 })",
        "await mcp.fs.read({ path, [key]: 1 })",
        "if (typeof process === 'undefined') return",
        "const x = { eval: 1, import: 2 }; return x.eval + x.import",
        "const process = 1; return process",
        "[].map((args) => args); { const mcp = 1; [].at(mcp) } (function capabilities() {})()",
        "for (const x of []) ; for (const x in {}) ; for (let i, j = 0; j; ) break",
        "a: b: for (;;) { switch (x) { case 1: break; case 2: continue a } break b }",
        "debugger; label: { break label }",
        "function f(a: number): number; function f(a: any) { return a } return f(1)",
    ],
)
def test_nothing_is_said_of_what_is_right_or_cannot_be_judged(source: str) -> None:
    assert program(source).diagnostics == ()


POSITIONAL = {
    "await mcp.fs.write('a.txt', 'hello')": "fs:write takes one object with its arguments, not a string: write ({ path: ..., content: ... })",
    "await mcp.fs.write(`${args.x}`, args.y)": "fs:write takes one object with its arguments, not a string: write ({ path: ..., content: ... })",
    "await mcp.fs.read(args.x, 'utf8')": "fs:read takes one object, and no other argument is sent: write ({ path: ..., encoding: ... })",
    "await mcp.fs.read(() => 1)": "fs:read takes one object with its arguments, not a function: write ({ path: ... })",
    "await mcp.fs.read({ path: 'a' }, 1)": "fs:read takes one object, and no other argument is sent: write ({ path: ..., encoding: ... })",
    "await mcp.s.a([1])": "s:a takes one object with its arguments, not an array: write ({ name: value })",
}


@pytest.mark.parametrize("source", POSITIONAL)
def test_arguments_by_position_are_told_by_which_names_they_go(source: str) -> None:
    """SA-7: an error where the first is certainly no object."""
    (said,) = program(source).diagnostics
    assert said.message == POSITIONAL[source]
    assert (said.severity is Severity.ERROR) == (", not " in said.message)


LOG = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "max_count": {"type": "integer"}},
    "required": ["path"],
}
OPEN = Catalog(
    {
        "git": [
            Tool(server="git", name="log", input_schema=LOG),
            Tool(server="git", name="any", input_schema={**LOG, "additionalProperties": True}),
            Tool(server="git", name="old"),
        ]
    }
)
UNLISTED = {
    "await mcp.git.log({ repo: 'a' })": [
        "git:log needs the argument 'path' (a string), and knows no 'repo'",
        "git:log lists no argument 'repo'; it has path, max_count",
    ],
    "await mcp.git.log({ path: 'a', maxCount: 3 })": [
        "git:log lists no argument 'maxCount'; did you mean 'max_count'?"
    ],
    "await mcp.git.log({ path: 'a', ...args.more })": [],
    "await mcp.git.log({ path: 'a', maxCount: undefined })": [],
    "await mcp.git.any({ path: 'a', maxCount: 3 })": [],
    "await mcp.git.old({ path: 'a', maxCount: 3 })": [],
}


@pytest.mark.parametrize("source", UNLISTED)
def test_an_argument_that_a_schema_does_not_list_is_told_and_sent(source: str) -> None:
    """SA-7: a warning, for the schema does not refuse it."""
    analysed = analyse(source, OPEN)
    assert [d.message for d in analysed.diagnostics] == UNLISTED[source]
    assert all(d.code == "missing-argument" for d in analysed.errors)


WARNINGS = {
    "await mcp.s.a(); mcp.s.b()": "unawaited-call",
    "const p = mcp.s.a(); return 1": "unawaited-call",
    "xs.map((x) => mcp.s.a({ x })); return 1": "unawaited-call",
    "mcp.s.a().then((x) => String(x))": "unawaited-call",
    "const h = async () => { await mcp.s.a() }; h(); return 1": "unawaited-call",
    "return 1; await mcp.s.a()": "unreachable-code",
    "while (true) { await mcp.s.a() } String()": "unreachable-code",
    "await mcp.s[x]()": "dynamic-tool",
}


@pytest.mark.parametrize("source", WARNINGS)
def test_a_warning_comes_with_code_that_runs(source: str) -> None:
    """SA-7."""
    analysed = program(source)
    assert codes(analysed) == [WARNINGS[source]]
    assert analysed.diagnostics[0].severity is Severity.WARNING
    assert analysed.instrumented


@pytest.mark.parametrize(
    "source",
    [
        "return mcp.s.a()",
        "const p = mcp.s.a(); await p",
        "const ps = []; for (const x of xs) ps.push(mcp.s.a({ x })); await Promise.all(ps)",
        "const h = () => mcp.s.a(); await h()",
        "const [a, b] = [mcp.s.a(), mcp.s.b()]; return [await a, await b]",
        "await Promise.all(xs.map((x) => mcp.s.a({ x })))",
        "const o = {}; o.p = mcp.s.a(); await o.p",
        "for (const p of [mcp.s.a(), mcp.s.b()]) await p",
        "void mcp.s.a()",
        "await mcp.s.a().then((x) => mcp.s.b({ x })).finally(() => 1)",
        "const p = mcp.s.a(); return { p: await Promise.any([p]) }",
    ],
)
def test_awaited_calls_are_not_warned_about(source: str) -> None:
    assert codes(program(source)) == []


def test_a_source_over_the_limit_is_refused_with_the_limit() -> None:
    """OP-5."""
    analysed = analyse("x".ljust(101), CATALOG, limits=Limits(source_bytes=100))
    assert codes(analysed) == ["too-large"]
    assert "the limit is 100 (source_bytes)" in analysed.errors[0].message


@pytest.mark.parametrize(
    "source",
    [
        "(" * 10_000 + "1" + ")" * 10_000,
        "[" * 10_000 + "]" * 10_000,
        "{" * 5_000 + "}" * 5_000,
        "x" + ".y()" * 5_000,
        "a" + " && a" * 5_000,
        "c ? a : " * 5_000 + "a",
        "if (a) b; else " * 3_000 + "c",
        "!" * 10_000 + "a",
    ],
)
def test_nesting_that_is_too_deep_is_an_error(source: str) -> None:
    analysed = program(f"await mcp.s.a();\n{source}")
    assert codes(analysed) == ["too-deep"]
    assert analysed.errors[0].line == 2


def test_helpers_that_call_helpers_too_deep_are_an_error() -> None:
    chain = [f"const h{n} = async () => await h{n + 1}();" for n in range(1_000)]
    source = "\n".join([*chain, "const h1000 = async () => await mcp.s.a();", "await h0()"])
    assert codes(program(source)) == ["too-deep"]


def test_errors_come_before_warnings_and_each_in_source_order() -> None:
    source = "mcp.s.a();\nawait mcp.s.zzz();\nmcp.s.b();\nawait mcp.zzz.a()"
    found = [(d.code, d.line) for d in program(source).diagnostics]
    assert found == [
        ("unknown-tool", 2),
        ("unknown-server", 4),
        ("unawaited-call", 1),
        ("unawaited-call", 3),
    ]


def test_the_servers_that_a_source_names() -> None:
    assert read(EPIC_10).references.servers == ("fs",)
    assert read("const { b } = mcp; await mcp.a.x(); await b.y()").references.servers == ("a", "b")
    assert read("await mcp.a.x(); await mcp[s].y()").references.servers == ("a", "*")
    assert read("f(mcp)").references.servers == ("*",)
    assert read("const x = ;").references.servers == ()
    assert read("return 1").references.servers == ()


def test_the_capabilities_that_a_source_names() -> None:
    """EX-10: however it gets hold of them; ``mcp.capabilities`` is no server."""
    found = read("const { a } = capabilities; await a(); await mcp.capabilities.b()").references
    assert found == References(servers=(), capabilities=("a", "b"))
    assert read(
        "const c = mcp['capabilities']; await c.x(); await mcp.s.a()"
    ).references == References(servers=("s",), capabilities=("x",))
    assert read("await capabilities[x](); f(capabilities)").references == References(servers=("*",))


KNOWN = Catalog(
    {
        "capabilities": [
            Tool(
                server="capabilities",
                name="read_notes",
                input_schema=schema("path", "head", head="integer"),
                annotations={"capabilityId": "cap_1"},
            )
        ]
    }
)


@pytest.mark.parametrize(
    "callee",
    ["capabilities.read_notes", "mcp.capabilities.read_notes", "mcp['capabilities']?.read_notes"],
)
def test_a_known_capability_is_a_node_with_its_id(callee: str) -> None:
    """SA-2, EX-10."""
    analysed = analyse(f"return await {callee}({{ path: args.p }})", KNOWN)
    (node,) = analysed.structure.nodes
    assert isinstance(node, CapabilityCall)
    assert (node.capability_id, node.name) == ("cap_1", "read_notes")
    assert node.arguments == {"path": Parameter(parameter_name="p")}
    assert analysed.structure.complete
    assert r"read_notes\u22a5n1" in analysed.instrumented
    assert analysed.parameters[0].schema == {"type": "string"}


NOT_SO = {
    "capabilities.raed_notes({})": "no capability 'raed_notes' is known; did you mean 'read_notes'?",
    "mcp.capabilities.zz()": "no capability 'zz' is known",
    "capabilities[x]()": "which capability this calls cannot be known before it runs: write its name",
    "capabilities.read_notes({})": ("capabilities:read_notes needs the argument 'path' (a string)"),
    "capabilities.read_notes({ path: 1 })": (
        "argument path of capabilities:read_notes is 1, a number: it must be a string"
    ),
    "mcp.capabilitie.x()": "no server 'capabilitie': no server is configured; name them in mcp.json",
}


@pytest.mark.parametrize("source", NOT_SO)
def test_a_call_of_a_capability_is_checked_like_a_tools(source: str) -> None:
    """SA-7, EX-10."""
    assert [d.message for d in analyse(f"await {source}", KNOWN).errors] == [NOT_SO[source]]


def test_text_that_is_no_unicode_is_refused() -> None:
    analysed = program("return '\ud800'")
    assert codes(analysed) == ["not-unicode"]
    assert analysed.source_hash()
