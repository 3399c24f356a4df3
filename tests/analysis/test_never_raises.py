"""Whatever the source: analysis answers, and what it answers is consistent (SA-11)."""

# ruff: noqa: E501  # programs, a row each

import gc
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pml.analysis.kept import new_capability
from pml.analysis.syntax import Syntax
from tests.analysis.invariants import check
from tests.analysis.programs import EPIC_10, ONE_OF_EACH, program

WORDS = r"""
    => ?. ?? ... ${ && || ??= // /* */ <!-- await async yield return throw
    if else for while do switch case default: try catch finally break continue
    function class const let var new typeof in of enum namespace import export
    mcp mcp.s.a() capabilities.x() args args.y __pml x 1n 0x .5 /re/u `t`
"""
SNIPPETS: tuple[str, ...] = (
    *"(){}[]<>;,.:?!=+-*/&|^%~@#\\`'\"\n\0\ufeff\u2028\u00e9",
    *re.split(r"\s+", WORDS),
)


def mutated(seed: int) -> str:
    """`ONE_OF_EACH` with pieces cut, doubled, moved and replaced."""
    dice = random.Random(seed)
    text = ONE_OF_EACH if dice.random() < 0.5 else EPIC_10
    for _ in range(dice.randint(1, 6)):
        start = dice.randrange(len(text) + 1)
        end = min(len(text), start + dice.choice([0, 1, 3, 20, 200]))
        piece = dice.choice(["", dice.choice(SNIPPETS), text[start:end] * 2, text[end : end + 40]])
        text = text[:start] + piece + text[end:]
    return text


@given(st.text())
@example("\0")
@example("\ufeffreturn 1")
@example("\r\r\n\u2028await mcp.s.a()")
def test_random_text_never_raises(source: str) -> None:
    check(source)


@given(st.lists(st.sampled_from(SNIPPETS), max_size=30).map(" ".join))
def test_random_words_never_raise(source: str) -> None:
    check(source)


@pytest.mark.parametrize("block", range(5))
def test_mutated_programs_never_raise(block: int) -> None:
    for seed in range(block * 60, block * 60 + 60):
        check(mutated(seed))


@pytest.mark.parametrize("first", [1_000_000, 1_002_000])
def test_of_thousands_of_mutated_sources_none_crashes_or_hangs_it(first: int) -> None:
    """The fuzzer's: generated programs, snippets and epics, with lines and names exchanged."""
    fuzzer = Path(__file__).parents[2] / "experiments" / "fuzz_analysis.py"
    command: list[str] = [sys.executable, str(fuzzer), "--sources", "2000", "--seed", str(first)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4_000:] + done.stderr[-1_000:]


@pytest.mark.parametrize(
    "deep",
    [
        "(" * 90 + "x" + ")" * 90,
        "[" * 90 + "x" + "]" * 90,
        "{ a: " * 90 + "x" + " }" * 90,
        "x" + ".y(1)" * 90,
        "x" + "?.['y']" * 180,
        "1 + " * 180 + "x",
        "`${" * 90 + "x" + "}`" * 90,
        "!" * 180 + "x",
        "(() => " * 80 + "x" + ")" * 80,
        "f(" * 90 + "x" + ")" * 90,
    ],
)
def test_what_is_nested_as_deep_as_allowed_is_analysed_to_the_end(deep: str) -> None:
    """The canonical form, too, recurses with the tree."""
    analysed = program(f"await mcp.s.a({{ v: 1, w: {deep} }})")
    assert analysed.errors == ()
    assert not isinstance(new_capability(analysed, intent="x"), str)


def test_functions_that_are_named_by_one_another_are_followed_once() -> None:
    """Each is named by all, so that there are more ways between them than could be gone."""
    row = "class A { m = A.k; k = A.m; static m = A.k.m; static k = A.m.k }"
    table = "\n".join(f"{{ {row}; await A.m(mcp.s.a) }}" for n in range(30))
    assert len(check(table).structure.nodes) == 30


def test_a_program_of_two_thousand_lines_is_analysed_whole() -> None:
    """Within the timeout of a test, which a pairwise comparison would pass."""
    lines = "\n".join(
        f"const v{n} = await mcp.s.a({{ x: {n}, y: v{n - 1} }});" for n in range(1, 2_000)
    )
    analysed = program(f"const v0 = 1;\n{lines}")
    assert analysed.errors == ()
    assert len(analysed.parameters) == 2_000
    assert [p.name for p in analysed.parameters][-1] == "x_1999"


DOUBLING = {
    "results": ("const f0 = (x) => mcp.s.a({ x });", "const f{} = (x) => [f{}(x), f{}(x)];", "await f24('q')"),
    "values": ("const f0 = (x) => x + 1;", "const f{} = (x) => f{}(x) + f{}(x);", "await mcp.s.a({ x: f24(args.y) })"),
    "what is passed": ("const f0 = (x) => mcp.s.a({ x });", "const f{} = (x) => {{ f{}(x); f{}(x) }};", "const k = 'q'; f24(k)"),
    "names": ("const f0 = 'a';", "const f{} = f{} + f{};", "await mcp.s[f24]()"),
}  # fmt: skip


@pytest.mark.parametrize("name", DOUBLING)
def test_what_doubles_again_and_again_is_looked_at_once(name: str) -> None:
    """SA-11: no time that doubles with every line; this would take hours."""
    first, each, last = DOUBLING[name]
    lines = [first, *(each.format(n, n - 1, n - 1) for n in range(1, 60))]
    analysed = program("\n".join([*lines, last.replace("24", "59")]))
    assert analysed.structure.nodes


def _web(keys: str) -> str:
    """Members of two objects that are defined by one another."""
    turns = [(keys[n % len(keys)], keys[(n * 7 + 3) % len(keys)]) for n in range(60)]
    lines = [f"o.{a} = o.{b} ?? p.{a}; p.{b} = args.c ? o.{a} : p.{b};" for a, b in turns]
    return "const o = {}, p = {};\n" + "\n".join(lines) + "\nawait o.m(mcp.fs.read); await p.k(1);"


DOUBLING_NAMES = {
    "sums": ("const a0 = 'xx';", "const a{n} = a{m} + a{m};", "await mcp.fs[a60]({{}})"),
    "templates": ("const a0 = 'xx';", "const a{n} = `${{a{m}}}${{a{m}}}`;", "await mcp.fs[a60]({{}})"),
    "tables": ("const a0 = {{ x: 'xx' }};", "const a{n} = {{ x: a{m}.x + a{m}.x }};", "await mcp.fs[a60.x]({{}})"),
    "choices": ("const a0 = mcp.fs;", "const a{n} = args.c ? a{m} : a{m};", "await a60.read({{}})"),
    "helpers of servers": ("const a0 = (x) => x;", "const a{n} = (x) => args.c ? a{m}(x) : a{m}(x);", "await a60(mcp.fs).read({{}})"),
    "helpers": ("const a0 = (x) => x + 1;", "const a{n} = (x) => a{m}(x) + a{m}(x);", "await mcp.fs.read({{ a: a60(1) }})"),
    "helpers that call": ("const a0 = (x) => mcp.fs.read({{ x }});", "const a{n} = (x) => [a{m}(x), a{m}(x)];", "await a60(1)"),
    "methods": ("const a0 = {{ f: () => 'x' }};", "const a{n} = {{ f: a{m}.f, g: a{m}.f, r: a{m}.r, s: [a{m}.r, a{m}.r] }}; a{n}.f(a{m}.s);", "await mcp.fs[a60.r]({{}})"),
}  # fmt: skip
"""Programs that stand for twice as much with every line."""


@pytest.mark.parametrize("source", [_web("mk"), _web("mkjl"), _web("abcdefghijkm")])
def test_members_that_name_one_another_end(source: str) -> None:
    check(source)


def test_helpers_that_call_one_another_with_a_server_end() -> None:
    one = "function g{n}(x) {{ return args.c ? g{a}(x) : g{b}(x) }}"
    lines = [one.format(n=n, a=(n + 1) % 150, b=(n * 7 + 3) % 150) for n in range(150)]
    check("\n".join([*lines, "return await g0(mcp.fs).read({})"]))


@pytest.mark.parametrize("name", DOUBLING_NAMES)
def test_names_that_double_with_every_line_end(name: str) -> None:
    first, line, last = DOUBLING_NAMES[name]
    lines = [line.format(n=n, m=n - 1) for n in range(1, 61)]
    check("\n".join([first.format(), *lines, last.format()]))


def test_an_analysis_leaves_no_syntax_to_the_garbage_collector() -> None:
    """A cycle would keep whole trees until it comes, and it would look through them."""
    gc.collect()
    gc.disable()
    try:
        before = _nodes()
        program(ONE_OF_EACH)
        assert _nodes() == before
    finally:
        gc.enable()


def _nodes() -> int:
    # Not isinstance: asked for their class, deprecated objects of other libraries warn.
    return sum(issubclass(type(found), Syntax) for found in gc.get_objects())
