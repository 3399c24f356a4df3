"""What a person's consent covers, and that it never covers more (HIL-2, HIL-3)."""

import json
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.domain.approval import Approval, Grant, GrantScope, ToolVersion
from pml.domain.permissions import Effect
from pml.domain.plan import (
    Plan,
    PlannedArgument,
    PlannedCall,
    PlannedProgram,
    Unknown,
    UnknownKind,
)
from pml.domain.run import UNKNOWN_SITE, Issued
from pml.domain.structure import ANY_TOOL, SPREAD
from pml.domain.tools import Tool
from pml.runtime.consent import NOTHING, Consents, GrantConsent, fits, of_approval, reaches_planned

HASH, CALLEE = "0" * 64, "1" * 64
WRITE = Tool(server="fs", name="write", description="Writes.")
ALTERED = msgspec.structs.replace(WRITE, description="Writes, and sends.")
VALUES = st.sampled_from([None, True, 1, "/tmp/a", "/tmp/b", "/etc/a", "/tmp/../etc", ["a"]])
ARGUMENTS = st.dictionaries(st.sampled_from(["path", "text"]), VALUES, max_size=2)


def issued(
    arguments: object,
    *,
    site: str = "n1",
    tool: str = "fs:write",
    call: int = 0,
    occurrence: int = 1,
) -> Issued:
    return Issued(
        seq=call,
        at_ms=0,
        call=call,
        site=site,
        occurrence=occurrence,
        tool=tool,
        arguments=json.dumps(arguments),
        effect=Effect.WRITE,
    )


def approval(*versions: ToolVersion, calls: tuple[int, ...] = ()) -> Approval:
    return Approval(
        id="a1",
        run_id="r1",
        source_hash=HASH,
        arguments_hmac="",
        tools=versions,
        calls=calls,
        asked_at_ms=0,
        expires_at_ms=1,
    )


WRITE_AS_IT_IS = ToolVersion(tool="fs:write", schema_hash=WRITE.schema_hash())


def plan_of_calls(*calls: PlannedCall, within: tuple[PlannedCall, ...] = ()) -> Plan:
    return Plan(
        program=PlannedProgram(source_hash=HASH, calls=calls),
        capabilities={"tidy": PlannedProgram(source_hash=CALLEE, calls=within)},
    )


def planned(arguments: Mapping[str, PlannedArgument], *, tool: str = "fs:write") -> PlannedCall:
    return PlannedCall(id="n1", tool=tool, arguments=dict(arguments))


def agreed(call: PlannedCall) -> Consents:
    return Consents((of_approval(approval(WRITE_AS_IT_IS), plan_of_calls(call)),))


# -- plans ---------------------------------------------------------------------------------------


@given(ARGUMENTS, ARGUMENTS, st.integers(1, 3))
def test_a_planned_value_is_the_only_one_that_may_be_sent(
    said: dict[str, Any], sent: dict[str, Any], occurrence: int
) -> None:
    """In loops too: each time the site is called, the same is asked of the arguments."""
    consents = agreed(planned({name: PlannedArgument(value=v) for name, v in said.items()}))
    same = json.dumps(said, sort_keys=True) == json.dumps(sent, sort_keys=True)
    assert consents.covers(issued(sent, occurrence=occurrence), WRITE) == same


@given(ARGUMENTS, ARGUMENTS)
def test_what_the_plan_left_open_may_be_anything_and_nothing_else_may(
    said: dict[str, Any], sent: dict[str, Any]
) -> None:
    """A person saw the expression, and no argument besides."""
    call = planned({name: PlannedArgument(expression="f(x)") for name in said})
    assert agreed(call).covers(issued(sent), WRITE) == (sent.keys() <= said.keys())


@given(ARGUMENTS, ARGUMENTS)
def test_a_spread_leaves_further_names_open_and_the_values_that_are_known_fixed(
    said: dict[str, Any], sent: dict[str, Any]
) -> None:
    """``{...rest, path: "/tmp/a"}`` sends that path, whatever is in the rest."""
    fixed = {name: PlannedArgument(value=value) for name, value in said.items()}
    consents = agreed(planned({SPREAD: PlannedArgument(expression="rest"), **fixed}))
    kept = json.dumps(said) == json.dumps({name: sent[name] for name in said if name in sent})
    assert consents.covers(issued(sent), WRITE) == kept


@given(st.lists(VALUES, max_size=1) | VALUES)
def test_arguments_that_are_no_object_are_covered_where_the_plan_shows_none(sent: object) -> None:
    """``fs.write(x)`` was shown as one thing without names."""
    open_call = planned({SPREAD: PlannedArgument(expression="x")})
    assert agreed(open_call).covers(issued(sent), WRITE)
    assert not agreed(planned({"path": PlannedArgument(expression="x")})).covers(
        issued(sent), WRITE
    )


@pytest.mark.parametrize(
    ("call", "tool"),
    [
        (issued({}, site="n2"), WRITE),
        (issued({}, site=UNKNOWN_SITE), WRITE),
        (issued({}, tool="fs:delete"), Tool(server="fs", name="delete")),
        (issued({}, tool="fs:delete"), WRITE),
        (issued({}), ALTERED),
    ],
    ids=["another site", "no site", "another tool", "a tool under a false name", "changed since"],
)
def test_a_call_that_was_not_planned_is_not_covered(call: Issued, tool: Tool) -> None:
    """Nothing but the tool, at the site, as it was described when somebody was asked."""
    consents = agreed(planned({}))
    assert consents.covers(issued({}), WRITE)
    assert not consents.covers(call, tool)


def test_a_site_whose_tool_is_not_known_covers_nothing() -> None:
    """``*`` was shown as unknown: its calls are asked for one by one."""
    asked = approval(WRITE_AS_IT_IS, ToolVersion(tool=ANY_TOOL, schema_hash=""))
    plan = plan_of_calls(planned({SPREAD: PlannedArgument(expression="x")}, tool=ANY_TOOL))
    assert not Consents((of_approval(asked, plan),)).covers(issued({}), WRITE)


@pytest.mark.parametrize("known", [True, False])
def test_a_program_that_may_mislabel_its_calls_is_covered_as_far_as_it_is_definite(
    *, known: bool
) -> None:
    """Where a server goes where nobody can follow, the site of a call proves nothing."""
    argument = PlannedArgument(value="a") if known else PlannedArgument(expression="f(x)")
    leak = Unknown(kind=UnknownKind.TOOL, message="any of its tools may be called")
    program = PlannedProgram(
        source_hash=HASH, calls=(planned({"path": argument}),), unknown=(leak,)
    )
    consents = Consents((of_approval(approval(WRITE_AS_IT_IS), Plan(program=program)),))
    assert consents.covers(issued({"path": "a"}), WRITE) is known


def test_a_planned_call_of_a_tool_that_nobody_was_asked_about_is_not_covered() -> None:
    """It ran without asking when the plan was made, and would not now."""
    plan = plan_of_calls(planned({}))
    assert not Consents((of_approval(approval(), plan),)).covers(issued({}), WRITE)


# -- capabilities --------------------------------------------------------------------------------


def test_a_planned_capability_call_takes_its_plan_along() -> None:
    """What the child does at its own sites was part of what was shown (rule 13)."""
    calls_tidy = planned({"path": PlannedArgument(value="/tmp")}, tool="capabilities:tidy")
    plan = plan_of_calls(calls_tidy, within=(planned({"path": PlannedArgument(default="x")}),))
    consents = Consents((of_approval(approval(WRITE_AS_IT_IS), plan),))
    call = issued({"path": "/tmp"}, tool="capabilities:tidy")
    within = consents.within(call, CALLEE)
    assert within.covers(issued({"path": "/tmp"}), WRITE)
    assert not consents.covers(issued({"path": "/tmp"}), WRITE), "the parent does not do that"
    assert not within.covers(issued({"path": "/tmp"}, site="n2"), WRITE)


@pytest.mark.parametrize(
    ("call", "source_hash"),
    [
        (issued({"path": "/etc"}, tool="capabilities:tidy"), CALLEE),
        (issued({"path": "/tmp"}, tool="capabilities:tidy", site="n2"), CALLEE),
        (issued({"path": "/tmp"}, tool="capabilities:other"), CALLEE),
        (issued({"path": "/tmp"}, tool="capabilities:tidy"), "2" * 64),
    ],
    ids=["other arguments", "another site", "another capability", "other code"],
)
def test_a_capability_call_that_was_not_planned_starts_with_nothing(
    call: Issued, source_hash: str
) -> None:
    """Its run then asks for its own plan."""
    calls_tidy = planned({"path": PlannedArgument(value="/tmp")}, tool="capabilities:tidy")
    plan = plan_of_calls(calls_tidy, within=(planned({}),))
    consents = Consents((of_approval(approval(WRITE_AS_IT_IS), plan),))
    assert consents.within(call, source_hash) == NOTHING


# -- single calls --------------------------------------------------------------------------------


@given(st.integers(0, 4), st.sets(st.integers(0, 4), min_size=1), st.booleans())
def test_single_calls_are_covered_by_number_and_version(
    number: int, calls: set[int], altered: bool
) -> None:
    """The log says what the call is, so its number is enough in its own run."""
    consents = Consents(
        (of_approval(approval(WRITE_AS_IT_IS, calls=tuple(calls)), plan_of_calls()),)
    )
    covered = consents.covers(issued({}, call=number), ALTERED if altered else WRITE)
    assert covered == (number in calls and not altered)


# -- grants --------------------------------------------------------------------------------------

SCOPES = st.builds(
    GrantScope,
    tool=st.sampled_from(["*", "fs:*", "fs:w?ite", "fs:write", "fs:delete", "git:*"]),
    arguments=st.dictionaries(
        st.sampled_from(["path", "text"]), VALUES | st.sampled_from(["/tmp/*", "*"]), max_size=2
    ),
    capability_id=st.sampled_from([None, "cap_1"]),
)
OF_PATTERN = {"*": "fs:*", "fs:*": "fs:w?ite", "fs:w?ite": "fs:write", "git:*": "git:log"}
"""To each pattern one that means less."""


def covers(scope: GrantScope, arguments: Mapping[str, Any], capability_id: str | None) -> bool:
    grant = Grant(id="g1", scope=scope, granted_at_ms=0, granted_by="ann")
    return GrantConsent(grant=grant, capability_id=capability_id).covers(issued(arguments), WRITE)


@given(SCOPES, ARGUMENTS, st.sampled_from([None, "cap_1", "cap_2"]), st.data())
def test_narrowing_a_grant_never_makes_it_cover_more(
    scope: GrantScope, arguments: dict[str, Any], capability_id: str | None, data: st.DataObject
) -> None:
    """One part narrower: the tool, one more argument, or one version of one capability."""
    more = data.draw(st.dictionaries(st.sampled_from(["path", "text"]), VALUES, min_size=1))
    narrower = data.draw(
        st.sampled_from(
            [
                msgspec.structs.replace(scope, tool=OF_PATTERN.get(scope.tool, scope.tool)),
                msgspec.structs.replace(scope, arguments={**more, **scope.arguments}),
                msgspec.structs.replace(scope, capability_id="cap_1")
                if scope.capability_id is None
                else scope,
            ]
        )
    )
    if covers(narrower, arguments, capability_id):
        assert covers(scope, arguments, capability_id)


@given(SCOPES, ARGUMENTS, ARGUMENTS, st.sampled_from([None, "cap_1"]))
def test_a_grant_that_reaches_a_planned_call_covers_it_whatever_it_sends(
    scope: GrantScope, said: dict[str, Any], rest: dict[str, Any], capability_id: str | None
) -> None:
    """Or somebody would not be asked before the run, and then in the middle of it."""
    call = planned(
        {
            **{name: PlannedArgument(expression="x") for name in rest},
            **{name: PlannedArgument(value=value) for name, value in said.items()},
        }
    )
    if reaches_planned(scope, call, capability_id):
        assert covers(scope, {**rest, **said}, capability_id)


@pytest.mark.parametrize(
    ("wanted", "value", "fitting"),
    [
        ("/tmp/*", "/tmp/a/b", True),
        ("/tmp/?", "/tmp/a", True),
        ("/tmp/*", "/etc/passwd", False),
        ("/tmp/*", "/tmp/../etc/passwd", False),
        ("/tmp/*", "\\tmp\\..\\etc", False),
        ("*", "..", False),
        ("..", "..", True),
        ("v[12]", "v1", False),
        ("*", 1, False),
        (1, 1.0, True),
        (1, True, False),
        ({"a": [1]}, {"a": [1.0]}, True),
    ],
)
def test_patterns_are_of_texts_and_other_values_are_equal(
    wanted: object, value: object, fitting: bool
) -> None:
    """A text that climbs out of where the pattern began is only matched by itself."""
    assert fits(wanted, value) is fitting


def test_the_consent_that_covers_a_call_is_named() -> None:
    """The audit log says by what a call went."""
    grant = Grant(id="g1", scope=GrantScope(tool="fs:*"), granted_at_ms=0, granted_by="ann")
    consents = agreed(planned({})).and_also([GrantConsent(grant=grant, capability_id=None)])
    assert consents.covering(issued({}), WRITE) == "approval a1"
    assert consents.covering(issued({}, site="n9"), WRITE) == "grant g1"
    assert NOTHING.covering(issued({}), WRITE) is None
