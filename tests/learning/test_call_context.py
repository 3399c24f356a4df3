"""What is known of a call before it is made (LE-4, SP-7)."""

from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pml.learning.call_context import CallContext, PastCall, ToolFacts, features
from pml.learning.verdicts import Verdict

READ = ToolFacts(id="fs:readFile", server="fs", name="readFile")
STAT = ToolFacts(id="fs:stat", server="fs", name="stat")
MAIL = ToolFacts(id="mail:send", server="mail", name="send")
VERDICTS = st.sampled_from(list(Verdict))
ARGUMENTS = st.dictionaries(st.text(max_size=8), st.text() | st.integers(), max_size=4)


def past(tool: ToolFacts, verdict: Verdict, arguments: Mapping[str, Any] | None = None) -> PastCall:
    return PastCall(tool=tool, arguments=arguments, verdict=verdict)


def of(*before: PastCall, arguments: Mapping[str, Any] | None = None) -> set[str]:
    return set(features(CallContext(tool=READ, arguments=arguments, before=before)))


@given(
    before=st.lists(st.tuples(st.sampled_from((READ, STAT, MAIL)), VERDICTS, ARGUMENTS)),
    arguments=ARGUMENTS | st.none(),
)
def test_features_are_different_and_hold_no_text_value(
    before: list[tuple[ToolFacts, Verdict, dict[str, Any]]], arguments: dict[str, Any] | None
) -> None:
    calls = [past(*one) for one in before]
    found = features(CallContext(tool=READ, arguments=arguments, before=calls))
    assert len(found) == len(set(found))
    hidden = dict.fromkeys(arguments or {}, "☃secret☃")
    again = features(CallContext(tool=READ, arguments=hidden, before=calls))
    assert not any("\u2603" in name for name in again)


def test_the_tool_is_known_by_server_id_and_words() -> None:
    assert {"all:", "server:fs", "tool:fs:readFile", "word:read", "word:file"} <= of()


def test_a_tool_that_the_catalog_lacks_is_marked() -> None:
    unknown = ToolFacts(id="fs:made_up", server="", name="made_up", known=False)
    assert "unknown:" in features(CallContext(tool=unknown, arguments={}))
    assert "unknown:" not in of()


def test_the_last_call_of_the_same_tool_counts() -> None:
    assert "same:" in of()
    failed, worked = past(READ, Verdict.FAILURE), past(READ, Verdict.SUCCESS)
    assert "same:failure" in of(worked, failed)
    assert "same:success" in of(failed, worked)


def test_what_says_nothing_does_not_count_but_was_called() -> None:
    silent = past(STAT, Verdict.UNINFORMATIVE)
    assert {"neighbour:", "foreign:", "failures:0", "previous:fs:stat"} <= of(silent)


def test_neighbours_are_of_the_same_server() -> None:
    seen = of(past(STAT, Verdict.FAILURE), past(MAIL, Verdict.SUCCESS))
    assert {"same:", "neighbour:failure", "foreign:success", "failures:1"} <= seen


def test_trying_the_same_arguments_again_after_a_failure_is_told_from_trying_others() -> None:
    failed = past(READ, Verdict.FAILURE, {"path": "a"})
    assert "again:True" in of(failed, arguments={"path": "a"})
    assert "again:False" in of(failed, arguments={"path": "b"})
