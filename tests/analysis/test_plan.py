"""One plan says all that a program may do, and no more than is known (HIL-2)."""

import json
from unicodedata import category

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from pml.analysis.analyse import analyse
from pml.analysis.plan import plan_of, planned_program
from pml.analysis.plan_text import plan_text
from pml.domain.permissions import Permission
from pml.domain.plan import Plan, PlannedArgument, PlannedCall, UnknownKind
from pml.domain.record import decode, encode
from tests.analysis.programs import CATALOG, EPIC_10, ONE_OF_EACH


def plan(source: str, **args: object) -> Plan:
    program = analyse(source, CATALOG)
    assert program.errors == ()
    return plan_of(
        program.structure,
        source_hash=program.source_hash(),
        arguments={name: json.dumps(value) for name, value in args.items()},
        tools=[Permission(tool=tool) for tool in program.structure.tools()],
        callees={},
    )


def call(found: Plan, node: str) -> PlannedCall:
    return next(each for each in found.program.calls if each.id == node)


def conditions(found: Plan) -> dict[str, list[str]]:
    return {
        each.id: [f"{c.condition} {c.outcome}" for c in each.when] for each in found.program.calls
    }


def test_the_example_of_epic_10_is_planned_branch_by_branch() -> None:
    found = plan(EPIC_10, path="a.txt")

    assert conditions(found) == {
        "n1": [],
        "n2": ["file.exists true"],
        "n3": ["file.exists false"],
        "n4": ["file.exists false"],
    }
    assert call(found, "n1").arguments["path"].value == "a.txt"
    assert call(found, "n4").arguments["content"].value == ""
    assert [each.message for each in found.program.unknown] == ["file.exists"]


def test_a_call_after_both_arms_has_no_condition() -> None:
    found = plan("if (args.c) { await mcp.s.a(); } else { await mcp.s.b(); } await mcp.s.c();")
    assert conditions(found) == {"n1": ["args.c true"], "n2": ["args.c false"], "n3": []}


def test_what_follows_an_early_return_needs_the_other_outcome() -> None:
    found = plan("if (args.c) return; await mcp.s.a(); await mcp.s.b();")
    assert conditions(found) == {"n1": ["args.c false"], "n2": ["args.c false"]}


def test_a_fall_through_is_reached_whatever_the_case() -> None:
    found = plan("switch (args.k) { case 1: await mcp.s.a(); case 2: await mcp.s.b(); }")
    assert conditions(found) == {"n1": ["args.k case:1"], "n2": []}


def test_in_a_catch_holds_only_what_was_decided_around_the_try() -> None:
    inner = "try { if (args.d.e) return; await mcp.s.a(); } catch { await mcp.s.b(); }"
    found = plan(f"if (args.c) {{ {inner} }}")
    assert conditions(found)["n1"] == ["args.c true", "args.d.e false"]
    assert conditions(found)["n2"] == ["args.c true", "catch catch"]


def test_loops_are_named_from_the_outside_in() -> None:
    found = plan("for (const x of args.xs) { for (const y of x) { await mcp.s.a({ y }); } }")
    assert call(found, "n1").loops == ("x of args.xs", "y of x")
    assert [each.kind for each in found.program.unknown if each.node == "l1"] == [UnknownKind.TIMES]


def test_an_overridden_literal_is_planned_with_the_value_that_will_be_sent() -> None:
    source = 'await mcp.fs.read({ path: "a.txt" });'
    assert call(plan(source), "n1").arguments["path"].value == "a.txt"
    assert call(plan(source, path="b.txt"), "n1").arguments["path"].value == "b.txt"


def test_a_value_that_is_computed_stays_open_and_says_from_what() -> None:
    found = plan("const r = await mcp.s.a(); await mcp.s.b({ x: `${r.id}-${args.n}` });", n=1)
    argument = call(found, "n2").arguments["x"]
    assert argument.value is msgspec.UNSET
    assert (argument.calls, argument.parameters) == (("n1",), ("n",))
    assert [each.message for each in found.program.unknown] == [
        "x (from n1, args.n): `${r.id}-${args.n}`"
    ]


def test_a_parameter_without_a_value_stays_open() -> None:
    argument = call(plan("await mcp.s.a({ x: args.n });"), "n1").arguments["x"]
    assert argument.value is msgspec.UNSET
    assert argument.parameters == ("n",)


def test_a_tool_that_is_known_only_when_it_runs_comes_first_among_the_unknown() -> None:
    found = plan("if (args.c) await mcp.s[args.t]({ x: args.y });")
    assert found.program.unknown[0].kind is UnknownKind.TOOL
    assert found.program.unknown[0].node == "n1"


def test_a_server_that_escapes_is_unknown_without_a_place() -> None:
    found = plan("console.log(mcp.s); await mcp.s.a();")
    assert [each.node for each in found.program.unknown if each.kind is UnknownKind.TOOL] == [None]


def test_a_plan_survives_the_wire() -> None:
    found = plan(ONE_OF_EACH, path="a", list=[1])
    assert decode(Plan, encode(found)) == found


def test_the_text_names_every_tool_call_and_open_question() -> None:
    found = plan(ONE_OF_EACH)
    text = plan_text(found)
    words = " ".join(text.replace("       | ", "").split())
    for tool in found.tools:
        assert f"{tool.tool}: ".replace('"', '\\"') in text
    for each in found.program.calls:
        assert f"  {each.id} {each.tool} (line {each.line})".replace('"', '\\"') in text
    for unknown in found.program.unknown:
        assert " ".join(unknown.message.split()) in words


@given(st.text())
def test_a_value_stands_in_the_text_exactly_as_json(value: str) -> None:
    lines = plan_text(plan("await mcp.fs.read({ path: args.path });", path=value)).split("\n")
    (shown,) = (line for line in lines if line.startswith("     path = "))
    assert json.loads(shown.removeprefix("     path = ")) == value


def test_inside_a_capability_a_literal_is_what_is_sent_unless_the_caller_gives_another() -> None:
    structure = analyse("await mcp.s.a({ amount: 5 });", CATALOG).structure
    inner = planned_program(structure, source_hash="0" * 64, given=None)
    assert inner.calls[0].arguments["amount"] == PlannedArgument(default=5, parameters=("amount",))
    outer = msgspec.structs.replace(plan("return 1;"), capabilities={"pay": inner})
    assert "     amount = 5 unless args.amount is given" in plan_text(outer)


def test_a_name_cannot_pass_for_another_argument() -> None:
    text = plan_text(plan('await mcp.s.a({ "x = 5, y": 3, "": 7, "x\\n     y": 1 });'))
    assert '     "x = 5, y" = 3\n     "" = 7\n     "x\\n     y" = 1' in text


def test_a_comment_in_the_code_swallows_nothing() -> None:
    text = plan_text(plan('await mcp.s.a({ x: args.a // trusted\n + "@evil.com" });'))
    assert '     x = args.a // trusted\n       | + "@evil.com" (from args.a)' in text


def test_the_label_of_a_case_cannot_pass_for_the_default() -> None:
    found = plan('switch (args.k) { case "none of the cases": await mcp.s.a(); }')
    assert 'if d1: args.k matches the case "none of the cases"' in plan_text(found)


@given(st.text(st.characters(categories=["Cc", "Cf", "Zl", "Zp"])))
def test_no_value_hides_or_turns_the_text(value: str) -> None:
    text = plan_text(plan("await mcp.fs.read({ path: args.path });", path=value))
    allowed = {"\n", "\u200c", "\u200d"}
    assert all(category(each) not in {"Cc", "Cf", "Zl", "Zp"} or each in allowed for each in text)
