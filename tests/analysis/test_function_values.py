"""What expressions may stand for: all of it, however far away, or it is said (SA-3, SA-11)."""

import sys

from hypothesis import given
from hypothesis import strategies as st

from pml.analysis.function_values import FunctionValues
from pml.analysis.functions import Functions
from pml.analysis.scope import Scopes
from pml.analysis.syntax import Source
from tests.analysis.programs import control, program


def _values(text: str) -> tuple[Source, FunctionValues]:
    source = Source(text)
    scopes = Scopes(source)
    return source, FunctionValues(source, scopes, Functions(source, scopes))


def _stands_for(text: str) -> tuple[set[str], bool]:
    """The texts of the functions that the last statement of a source may be, and if that is cut."""
    source, values = _values(text)
    found = values.of(source.root.children[-1].children[0])
    return {source.text(one) for one in found}, values.cut


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["let v{a} = v{b};", "o.p{a} = v{b};", "let v{a} = o.p{b};"]),
            st.integers(0, 4),
            st.integers(0, 4),
        ),
        max_size=12,
    )
)
def test_values_are_those_that_assignments_bring(moves: list[tuple[str, int, int]]) -> None:
    """Beside the fixpoint of all assignments, made until nothing changes."""
    lines = [move.format(a=a, b=b).replace("let ", "") for move, a, b in moves]
    head = "let v0 = () => 0, v1 = () => 1, v2, v3, v4; const o = {};"
    held: dict[str, set[str]] = {"v0": {"() => 0"}, "v1": {"() => 1"}}
    for _ in lines:
        for line in lines:
            to, _, what = line.rstrip(";").partition(" = ")
            held.setdefault(to, set()).update(held.get(what, set()))
    for name in ("v0", "v1", "v2", "v3", "v4", "o.p0", "o.p1", "o.p2", "o.p3", "o.p4"):
        wanted = held.get(name, set()), False
        assert _stands_for("\n".join([head, *lines, f"{name};"])) == wanted


def test_a_value_is_found_however_many_names_lie_in_between() -> None:
    names = "".join(f"const f{n} = f{n - 1};" for n in range(1, 3_000))
    assert _stands_for(f"const f0 = () => 1; {names} f2999;") == ({"() => 1"}, False)


def test_a_property_is_looked_at_however_often_its_name_is_given() -> None:
    others = "".join(f"use({{ run: a.run, n: {n} }});" for n in range(3_000))
    assert _stands_for(f"{others} const o = {{ run: () => 1 }}; o.run;") == ({"() => 1"}, False)


def _calls_made(count: int) -> int:
    """Of Python, to resolve so many reads of one property that are its values too."""
    source, values = _values("".join(f"use({{ p: x{n}.p }});" for n in range(count)))
    made = 0

    def note(*_: object) -> None:
        nonlocal made
        made += 1

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        found = [values.of(node) for node in source.of_kinds("member_expression")]
    finally:
        sys.setprofile(before)
    assert not any(found)
    return made


def test_each_expression_is_resolved_once() -> None:
    """Twice as many are twice as much work, where following each took four times as much."""
    assert _calls_made(800) < 2.2 * _calls_made(400)


def test_what_comes_round_to_itself_stands_for_all_that_comes_in() -> None:
    source = "let a = () => 1, b = a, c; c = b; a = c; c = () => 2; b;"
    assert _stands_for(source) == ({"() => 1", "() => 2"}, False)


def test_a_call_is_followed_to_what_is_returned_up_to_a_depth_that_is_said() -> None:
    text = "() => " * 9 + "1"
    assert _stands_for(f"const f = {text}; f()();") == ({"() => " * 7 + "1"}, False)
    assert _stands_for("const f = () => f()(); f();") == (set(), True)


def test_nobody_is_told_that_a_program_is_cut_which_is_not() -> None:
    table = ", ".join(f"k{n}: async () => {{ await mcp.s.a() }}" for n in range(50))
    analysed = program(f"const t = {{ {table} }}; await t[k](); await mcp.s.b()")
    assert not [d for d in analysed.diagnostics if d.code == "too-many-functions"]
    assert control(analysed.structure) == " ".join(f"n{n}>n51" for n in range(1, 51))


def test_a_call_that_may_run_too_many_functions_is_told() -> None:
    """The limit is on all calls together: few of many, or many of few."""
    table = ",\n".join(f"k{n}: async () => {{ await mcp.s.a() }}" for n in range(300))
    calls = "await t[k]();\n" * 300
    analysed = program(f"const t: any = {{\n{table}\n}};\n{calls}")
    (said,) = [d for d in analysed.diagnostics if d.code == "too-many-functions"]
    assert (said.text, said.line > 302) == ("t[k]()", True)
    assert not analysed.errors


def test_who_knows_what_runs_of_too_many_functions_is_told() -> None:
    kept = ", ".join("async () => { await mcp.s.a() }" for _ in range(51))
    analysed = program(f"const all = [{kept}]; for (const f of all) await f();")
    codes = {d.code for d in analysed.diagnostics}
    assert "too-many-functions" in codes
