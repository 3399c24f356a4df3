"""The risk of a tool (LE-4, HIL-1): permissions, trusted annotations, then words of the name."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.domain.permissions import ApprovalMode, Effect, Permission, Scope
from pml.domain.tools import Tool
from pml.learning import risk
from pml.learning.risk import Risk, risk_of, risk_of_name

WORDS = sorted(
    risk.DANGEROUS_ANYWHERE | risk.DANGEROUS_AS_VERB | risk.CHANGES | risk.READS | {"x", "file"}
)


def tool(name: str = "thing", **annotations: object) -> Tool:
    return Tool(server="s", name=name, annotations=annotations)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("get_or_delete", Risk.DANGEROUS),
        ("getOrDelete", Risk.DANGEROUS),
        ("information_schema", Risk.MODERATE),
        ("get_information_schema", Risk.SAFE),
        ("list_deleted_files", Risk.SAFE),
        ("deleteFile", Risk.DANGEROUS),
        ("DELETE", Risk.DANGEROUS),
        ("HTTPDelete", Risk.DANGEROUS),
        ("fs-remove-dir", Risk.DANGEROUS),
        ("execute_query", Risk.DANGEROUS),
        ("send_email", Risk.DANGEROUS),
        ("get_email", Risk.SAFE),
        ("get_run", Risk.SAFE),
        ("run_workflow", Risk.DANGEROUS),
        ("find_or_run", Risk.DANGEROUS),
        ("list_orders", Risk.SAFE),
        ("create_issue", Risk.MODERATE),
        ("get_or_create", Risk.MODERATE),
        ("read_file", Risk.SAFE),
        ("readFile2", Risk.SAFE),
        ("asset", Risk.MODERATE),
        ("", Risk.MODERATE),
        ("42", Risk.MODERATE),
    ],
)
def test_whole_words_of_the_name_say_how_bad_it_can_be(name: str, expected: Risk) -> None:
    assert risk_of_name(name) is expected


@given(words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=5))
def test_how_words_are_joined_does_not_matter(words: list[str]) -> None:
    camel = words[0] + "".join(word.capitalize() for word in words[1:])
    joined = [glue.join(words) for glue in ("_", "-", ".", " ", "__")]
    assert {risk_of_name(name) for name in [*joined, camel]} == {risk_of_name("_".join(words))}


@given(words=st.lists(st.sampled_from(WORDS), max_size=4), at=st.integers(0, 4))
def test_a_word_that_destroys_is_dangerous_wherever_it_stands(words: list[str], at: int) -> None:
    assert risk_of_name("_".join([*words[:at], "delete", *words[at:]])) is Risk.DANGEROUS


@given(st.text(max_size=30))
def test_any_name_has_a_risk(name: str) -> None:
    assert risk_of_name(name) in Risk


def test_no_word_is_in_two_lists() -> None:
    lists = (risk.DANGEROUS_ANYWHERE, risk.DANGEROUS_AS_VERB, risk.CHANGES, risk.READS)
    assert all(one.isdisjoint(other) for one, other in itertools.combinations(lists, 2))


@pytest.mark.parametrize("name", ["read_file", "delete_file", "thing"])
def test_a_permission_to_read_says_safe_whatever_the_name(name: str) -> None:
    permission = Permission(
        tool=f"s:{name}",
        effect=Effect.READ,
        scope=Scope.READONLY,
        approval_mode=ApprovalMode.AUTO,
    )
    assert risk_of(tool(name, destructiveHint=True), permission, trusted=True) is Risk.SAFE


def test_what_a_person_wants_to_be_asked_for_is_not_safe() -> None:
    permission = Permission(tool="s:get", effect=Effect.READ, approval_mode=ApprovalMode.HIL)
    assert risk_of(tool("get"), permission) is Risk.MODERATE


@pytest.mark.parametrize(
    ("scope", "name", "expected"),
    [
        (Scope.FULL, "create_issue", Risk.DANGEROUS),
        (Scope.FILESYSTEM, "create_file", Risk.MODERATE),
        (Scope.FILESYSTEM, "delete_file", Risk.DANGEROUS),
        (Scope.FILESYSTEM, "read_file", Risk.MODERATE),
    ],
)
def test_of_what_writes_scope_and_name_say_whether_it_is_dangerous(
    scope: Scope, name: str, expected: Risk
) -> None:
    permission = Permission(tool=f"s:{name}", effect=Effect.WRITE, scope=scope)
    assert risk_of(tool(name), permission) is expected


@pytest.mark.parametrize(
    ("hints", "expected"),
    [
        ({"readOnlyHint": True}, Risk.SAFE),
        ({"readOnlyHint": True, "destructiveHint": True}, Risk.SAFE),
        ({"destructiveHint": True}, Risk.DANGEROUS),
        ({"destructiveHint": False}, Risk.MODERATE),
        ({"readOnlyHint": False}, Risk.DANGEROUS),
        ({"readOnlyHint": "yes"}, Risk.DANGEROUS),
        ({}, Risk.DANGEROUS),
    ],
)
def test_annotations_of_a_trusted_server_come_before_the_name(
    hints: dict[str, object], expected: Risk
) -> None:
    assert risk_of(tool("delete_file", **hints), trusted=True) is expected


def test_annotations_of_other_servers_do_not_count() -> None:
    assert risk_of(tool("delete_file", readOnlyHint=True)) is Risk.DANGEROUS
    assert risk_of(tool("read_file", destructiveHint=True)) is Risk.SAFE
