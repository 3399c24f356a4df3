"""A capability for people: what it takes, how it did, what it is made of (OP-2, LE-2, SA-9)."""

from typing import Any

import msgspec
import pytest

from pml.cli.render_capabilities import (
    default_of,
    render_capabilities,
    render_capability,
    render_learned,
    type_of,
)
from pml.domain.capability import (
    Capability,
    CapabilityParameter,
    DecisionStatistics,
    Learning,
    Lifecycle,
    OutcomeStatistics,
    PastIntent,
    PathStatistics,
)
from pml.domain.structure import StaticStructure

LEARNING = Learning(
    paths=(
        PathStatistics(path=("n1", "d1", "n2"), count=3, success_rate=0.64, avg_duration_ms=81.4),
        PathStatistics(path=("n1", "d1"), count=1, success_rate=0.45, avg_duration_ms=12.0),
    ),
    decision_stats=(
        DecisionStatistics(
            node_id="d1",
            condition="commits.length < 10",
            outcomes={"true": OutcomeStatistics(count=3, success_rate=0.64)},
        ),
    ),
    dominant_path=("n1", "d1", "n2"),
)
CAPABILITY = Capability(
    canonical_hash="ab" * 32,
    name="report_history",
    intent="report what happened",
    code="const log = 1;\nreturn log;",
    instrumented="",
    structure=StaticStructure(nodes=(), edges=(), complete=True),
    parameters=(
        CapabilityParameter(name="repository", schema={"type": "string"}, required=True),
        CapabilityParameter(name="count", schema={"type": "integer"}, default=200, lifted=True),
    ),
    learning=LEARNING,
    lifecycle=Lifecycle.VERIFIED,
    hidden=False,
    usage_count=4,
    success_count=3,
    created_at_ms=1_700_000_000_000,
)
INTENTS = (
    PastIntent(
        capability_id=CAPABILITY.id,
        intent="report the last week",
        success_count=2,
        failure_count=1,
        last_success=True,
        last_at_ms=1_700_000_100_000,
    ),
)


def changed(**fields: Any) -> Capability:  # noqa: ANN401  # fields of the record
    return msgspec.structs.replace(CAPABILITY, **fields)


def test_a_list_shows_how_each_stands_and_what_it_last_ran_for() -> None:
    stale = changed(name="other", stale=True, hidden=True, usage_count=0)

    text = render_capabilities([(CAPABILITY, "report the last week"), (stale, "x")], width=90)

    assert text == (
        "name            id            runs  ok   life cycle               last intent\n"
        "report_history  cap_abababab  4     75%  verified                 report the last week\n"
        "other           cap_abababab  0     0%   verified, stale, hidden  x"
    )


def test_an_empty_list_says_how_one_comes_about() -> None:
    assert "pml execute" in render_capabilities([], width=80)


def test_a_page_shows_everything_that_is_known() -> None:
    text = render_capability(CAPABILITY, INTENTS, width=80)

    parts = [part.split("\n")[0] for part in text.split("\n\n")]
    assert parts == [
        f"report_history  {CAPABILITY.id}",
        "call",
        "parameters",
        "paths (* is the dominant one)",
        "decisions",
        "intents that it ran for",
        "code",
    ]
    for line in (
        "4 runs, 75% succeeded, verified; made of code, 2023-11-14 22:13:20 UTC",
        "  repository  string   (required)",
        "  count       integer  200",
        "  3     0.64  81 ms  * n1 d1 n2",
        "  d1    true     3     0.64  commits.length < 10",
        "  2   1       2023-11-14 22:15  report the last week",
        "   2 | return log;",
    ):
        assert line in text.split("\n")


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_page_keeps_to_the_terminal(width: int) -> None:
    long = "report what happened " * 12
    text = render_capability(changed(description=long), INTENTS, width=width)

    assert max(map(len, text.split("\n"))) <= max(width, 72)


def test_what_was_not_used_yet_has_no_empty_sections() -> None:
    text = render_capability(changed(learning=Learning(), parameters=()), (), width=80)

    assert "paths" not in text
    assert "intents" not in text
    assert "parameters" not in text


@pytest.mark.parametrize(
    ("schema", "shown"),
    [
        ({"type": "string"}, "string"),
        ({"type": ["string", "null"]}, "string or null"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "string or null"),
        ({}, "any"),
    ],
)
def test_a_type_is_said_in_a_word(schema: dict[str, Any], shown: str) -> None:
    assert type_of(CapabilityParameter(name="x", schema=schema)) == shown


def test_a_default_of_null_is_a_default() -> None:
    assert default_of(CapabilityParameter(name="x", default=None)) == "null"
    assert default_of(CapabilityParameter(name="x")) == "(may be left out)"


def test_the_first_run_says_what_was_learned_and_later_ones_how_it_does() -> None:
    first = render_learned(changed(usage_count=1), reused=False, width=120)
    later = render_learned(CAPABILITY, reused=False, width=120)
    again = render_learned(CAPABILITY, reused=True, width=120)

    name = "capabilities.report_history"
    assert first == f"learned as {name}, 2 parameters: repository, count = 200"
    assert later == f"known as {name}: 4 runs, 75% succeeded, verified"
    assert again == f"ran what was known as {name}: 4 runs, 75% succeeded, verified"
