"""Instrumented code (SA-6; design, section 5, rule 2)."""

# ruff: noqa: E501  # programs and their results, a row each

import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.analysis.syntax import Source
from pml.domain.structure import Decision, Fork, Loop, Task
from pml.runtime.sandbox.module import module_text
from pml.runtime.sandbox.tier import find_deno
from tests.analysis.programs import EPIC_10, ONE_OF_EACH, program

MARK = r"\u22a5"
SPLICED = {
    "member": ("mcp.s.a(x)", rf'mcp.s["a{MARK}n1"](x)'),
    "over lines": ("mcp.s // server\n  .a(x)", f'mcp.s // server\n  ["a{MARK}n1"](x)'),
    "optional member": ("mcp.s?.a(x)", rf'mcp.s?.["a{MARK}n1"](x)'),
    "optional call": ("mcp.s.a?.(x)", rf'mcp.s["a{MARK}n1"]?.(x)'),
    "brackets": ("mcp.s['a'](x)", rf'mcp.s["a{MARK}n1"](x)'),
    "dynamic tool": ("mcp.s[t](x)", rf"mcp.s[`${{t}}{MARK}n1`](x)"),
    "alias of a tool": ("const f = mcp.s.a; f?.(x)", 'const f = mcp.s.a; __pml.at("n1", f)?.(x)'),
    "alias in shorthand": ("const f = mcp.s.a; g({ f })", 'const f = mcp.s.a; g({ f: __pml.at("n1", f) })'),
    "perhaps a server": (
        "let s = y; if (c) s = mcp.s; s.a(x)",
        'let s = y; if (c) s = mcp.s; __pml.atMember("n1", (s), "a")(x)',
    ),
    "handed on": ("xs.map(mcp.s.a)", rf'xs.map(__pml.reach("l1", (mcp.s["a{MARK}n1"])))'),
    "if": ("if (a, b) mcp.s.a()", rf'if (__pml.decide("d1", (a, b))) mcp.s["a{MARK}n1"]()'),
    "ternary": ("x = a ? mcp.s.a() : 0", rf'x = __pml.decide("d1", (a)) ? mcp.s["a{MARK}n1"]() : 0'),
    "nested": (
        "a && b && mcp.s.a() && mcp.s.b()",
        rf'__pml.decide("d2", (__pml.decide("d1", (a && b)) && mcp.s["a{MARK}n1"]())) && mcp.s["b{MARK}n2"]()',
    ),
    "nullish": ("a ?? mcp.s.a()", rf'__pml.present("d1", (a)) ?? mcp.s["a{MARK}n1"]()'),
    "chain": ("a.b?.c(mcp.s.a())", rf'__pml.present("d1", (a.b))?.c(mcp.s["a{MARK}n1"]())'),
    "chained call": (
        "a.b?.(mcp.s.a())",
        rf'__pml.passed("d1", (a[__pml.ask("d1", "b")]?.(...__pml.enter("d1"), mcp.s["a{MARK}n1"]())), "false")',
    ),
    "assignment": ("a ||= mcp.s.a()", rf'__pml.second(__pml.decide("d1", a), a ||= mcp.s["a{MARK}n1"]())'),
    "switch": (
        "switch (a) { case 'x': mcp.s.a() }",
        rf"""switch (__pml.choose("d1", (a))) {{ case 'x': __pml.took("d1", "case:x"); mcp.s["a{MARK}n1"]() ;default: __pml.took("d1", "default");}}""",
    ),
    "try": (
        "try { mcp.s.a() } catch { b }",
        rf'try {{ mcp.s["a{MARK}n1"]() ;__pml.took("d1", "ok");}} catch {{__pml.took("d1", "catch"); b }}',
    ),
    "for of": ("for (const x of y, z) mcp.s.a()", rf'for (const x of __pml.reach("l1", (y, z))) mcp.s["a{MARK}n1"]()'),
    "for in without a blank": (
        "for (const k in{ a: 1 }) mcp.s.a(k)",
        rf'for (const k in __pml.reach("l1", ({{ a: 1 }}))) mcp.s["a{MARK}n1"](k)',
    ),
    "return without a blank": (
        "return[x]?.map(mcp.s.a)",
        rf'return __pml.present("d1", ([x]))?.map(__pml.reach("l1", (mcp.s["a{MARK}n1"])))',
    ),
    "endless for": ("for (;;) mcp.s.a()", rf'for (;__pml.reach("l1", true);) mcp.s["a{MARK}n1"]()'),
    "while": ("while (a // b\n) mcp.s.a()", f'while (__pml.reach("l1"), (a // b\n)) mcp.s["a{MARK}n1"]()'),
    "combinator": ("Promise.all([mcp.s.a()])", rf'Promise.all((__pml.reach("f1"), ([mcp.s["a{MARK}n1"]()])))'),
    "odd name": ('mcp.fs["odd name\u00e9\\""]()', rf'mcp.fs["odd name\u00e9\"{MARK}n1"]()'),
    "what decides nothing about calls": ("if (a) b = 1; mcp.s.a()", rf'if (a) b = 1; mcp.s["a{MARK}n1"]()'),
    "separators in texts": ("f('a\u2028', `b\u2029`, t`c\u2028`, '\\\u2028')", "f('a\\u2028', `b\\u2029`, t`c\u2028`, '\\\u2028')"),
    "do": ("do mcp.s.a(); while (c)", rf'do {{__pml.reach("l1");mcp.s["a{MARK}n1"]();}} while (c)'),
    "for with a condition": ("for (; a, b;) mcp.s.a()", rf'for (; (__pml.reach("l1"), (a, b));) mcp.s["a{MARK}n1"]()'),
    "assignment to a member": (
        "a.b ??= mcp.s.a()",
        rf'__pml.passed("d1", (a[__pml.ask("d1", "b")] ??= (__pml.went("d1", "false"), (mcp.s["a{MARK}n1"]()))), "true")',
    ),
    "an optional call after an optional member": (
        "a?.b?.(mcp.s.a())",
        rf'__pml.passed("d2", (__pml.present("d1", (a))?.[__pml.ask("d2", "b")]?.(...__pml.enter("d2"), mcp.s["a{MARK}n1"]())), "false")',
    ),
    "perhaps a server, if any": (
        "let s = y; if (c) s = mcp.s; s?.a(x)",
        'let s = y; if (c) s = mcp.s; __pml.present("d1", (__pml.owner("n1", (s))))?.a(x)',
    ),
    "no calls at all": ("for (const x of y) if (x) return x ?? 1", "for (const x of y) if (x) return x ?? 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", SPLICED)
def test_what_is_spliced_in(name: str) -> None:
    """SA-6."""
    source, expected = SPLICED[name]
    assert program(source).instrumented == expected.replace(
        "\u00e9", r"\u00e9" if "odd" in name else "\u00e9"
    )


@pytest.mark.parametrize(
    "source",
    [
        "const __pml = 1; mcp.s.a()",
        r"const \u005f_pml = 1; mcp.s.a()",
        "const f = (__pml) => mcp.s.a(); f(1)",
        "const { a: __pml } = {}; mcp.s.a()",
        "class __pml {} mcp.s.a()",
        "try { mcp.s.a() } catch (__pml) {}",
        "__pml.decide('d1', true); mcp.s.a()",
    ],
)
def test_a_name_that_collides_with_the_instrumentation_is_refused(source: str) -> None:
    """SA-6: it would hide the probes, or call them."""
    (error,) = program(source).errors
    assert error.code == "reserved-name"


@pytest.mark.parametrize(
    "source",
    [
        "__pml: for (const x of y) { mcp.s.a(); break __pml; }",
        "const o = { __pml: 1 }; o.__pml; mcp.s.a(args.__pml)",
        "f('__pml.at(', `__pml`, /__pml/); mcp.s.a()",
    ],
)
def test_a_name_that_only_looks_like_the_instrumentation_is_safe(source: str) -> None:
    analysed = program(source)
    assert analysed.errors == ()
    assert not list(Source(analysed.instrumented).problems())


def test_a_switch_clause_without_a_semicolon_is_closed_before_the_default() -> None:
    text = program("switch (a) { case 1: mcp.s.a()\n}").instrumented
    assert not list(Source(text).problems())


REWRITTEN = {"odd name", "separators in texts"}
"""Where characters of the source are written in another way."""
SOURCES = [EPIC_10, ONE_OF_EACH, *(s for name, (s, _) in SPLICED.items() if name not in REWRITTEN)]
pieces = st.lists(st.sampled_from(SOURCES[1:]), min_size=1, max_size=3).map(
    lambda parts: "\n".join(f"{{ {part}\n}}" for part in parts)
)


@given(pieces)
def test_splices_keep_lines_parse_and_name_every_node_once(source: str) -> None:
    """SA-6: every site is in the text once, every probe belongs to a node."""
    analysed = program(source)
    text = analysed.instrumented
    assert analysed.errors == ()
    assert text.count("\n") == source.count("\n")
    assert not list(Source(text).problems())
    sites = re.findall(rf'\{MARK}(n\d+)["`]|__pml\.(?:at|atMember|owner)\("(n\d+)"', text)
    found = sorted(first or second for first, second in sites)
    nodes = analysed.structure.nodes
    assert found == sorted(node.id for node in nodes if isinstance(node, Task))
    probed = set(re.findall(r'__pml\.\w+\("([dfl]\d+)"', text))
    assert probed == {node.id for node in nodes if isinstance(node, Decision | Fork | Loop)}


@given(pieces)
def test_nothing_of_the_source_is_lost_or_moved(source: str) -> None:
    """SA-6: apart from how a member is accessed, splices only insert."""
    access = str.maketrans("", "", ".[]\"'\\")
    text = iter(program(source).instrumented.translate(access))
    assert all(character in text for character in source.translate(access))


def test_deno_parses_instrumented_code(tmp_path: Path) -> None:
    """An outside parser agrees; what the code then does is the oracle's business."""
    for place, source in enumerate(SOURCES):
        analysed = program(source)
        (tmp_path / f"p{place}.ts").write_text(
            module_text(analysed.instrumented, analysed.structure.variables), encoding="utf-8"
        )
    main = tmp_path / "main.ts"
    main.write_text("\n".join(f'import "./p{n}.ts";' for n in range(len(SOURCES))))
    environment = {"NO_COLOR": "1", "DENO_DIR": str(tmp_path / "deno")}
    command = [str(find_deno()), "run", "--no-remote", "--no-config", "--no-prompt", str(main)]
    ran = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")
