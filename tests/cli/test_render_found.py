"""What was found and suggested, for people: rank, signature, reasons, what to run (OP-2, MCP-2)."""

import shlex
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.cli.render_found import Given, Known, command_for, render_discovery, render_found
from pml.cli.render_response import render_response
from pml.domain.capability import CapabilityParameter, Lifecycle
from pml.domain.discovery import Discovered, DiscoverResponse, Found, Track
from pml.domain.response import ExecuteResponse, Suggestions

TOOL = Discovered(
    type=Found.TOOL,
    id="git:git_log",
    name="git.git_log",
    score=0.42,
    description="Shows the commit logs",
    signature="mcp.git.git_log({ repo_path: string, max_count?: number }): Promise<string>",
    reasons=("words: log",),
    missing=("repo_path",),
)
CAPABILITY = Discovered(
    type=Found.CAPABILITY,
    id="cap_1",
    name="report_history",
    score=0.97,
    description="report what happened",
    signature="capabilities.report_history({ repository: string, count?: number = 200 })",
    reasons=('ran for "report the history" (0.91 alike)',),
    missing=("repository",),
    parameters=(
        CapabilityParameter(name="repository", required=True),
        CapabilityParameter(name="count", default=200, lifted=True),
    ),
    track=Track(usage_count=6, success_rate=5 / 6, lifecycle=Lifecycle.CANDIDATE),
)
WORDS = st.text("ab _-{}'\"$.", min_size=1, max_size=30)


def suggested(*candidates: Discovered) -> ExecuteResponse:
    return ExecuteResponse(
        status="suggestions",
        suggestions=Suggestions(
            confidence=0.5, candidates=candidates, why="no capability is clearly what was meant"
        ),
    )


def test_a_result_says_how_it_is_called_how_it_did_and_why_it_stands_here() -> None:
    assert render_found([CAPABILITY], width=80) == (
        " 1  capability report_history                                               0.97\n"
        "    report what happened\n"
        "    capabilities.report_history({ repository: string, count?: number = 200 })\n"
        "    6 runs, 83% succeeded, candidate\n"
        '    why: ran for "report the history" (0.91 alike)\n'
        "    missing: repository"
    )


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("candidate", [TOOL, CAPABILITY])
def test_no_line_is_wider_than_the_terminal(candidate: Discovered, width: int) -> None:
    shown = render_found([candidate, candidate], width=width)

    assert max(map(len, shown.split("\n"))) <= width


def test_suggestions_say_that_nothing_ran_why_and_what_would() -> None:
    text = render_response(suggested(CAPABILITY, TOOL), source="", name="-", width=80)

    assert text.startswith("suggestions: nothing ran\n\nNo capability is clearly what was meant.")
    assert text.index(" 1  capability report_history") < text.index(" 2  tool git.git_log")
    command = 'pml execute --intent report_history --args \'{"repository": "..."}\''
    assert text.endswith(f"to run the first\n  {command}")


def test_without_candidates_the_reason_stands_alone() -> None:
    text = render_response(suggested(), source="", name="-", width=80)

    assert text == "suggestions: nothing ran\n\nNo capability is clearly what was meant."


def test_a_tool_is_run_by_a_program_that_calls_it() -> None:
    assert command_for(TOOL) == (
        'echo \'return await mcp.git.git_log({"repo_path": "..."})\' |\n'
        "  pml execute --intent ... --code-file -"
    )


@pytest.mark.parametrize(
    "track",
    [
        Track(usage_count=6, success_rate=5 / 6, lifecycle=Lifecycle.VERIFIED, stale=True),
        Track(usage_count=2, success_rate=0.5, lifecycle=Lifecycle.CANDIDATE),
    ],
)
def test_what_would_not_run_by_itself_is_shown_and_not_run(track: Track) -> None:
    doubted = msgspec.structs.replace(CAPABILITY, track=track)

    assert command_for(doubted).startswith("pml capabilities show report_history")
    assert ("stale: a tool has changed" in render_found([doubted], width=80)) is track.stale


def test_past_the_end_is_not_nothing_at_all() -> None:
    response = DiscoverResponse(results=(), total=18)

    assert "18 results in all" in render_discovery(response, offset=500, brief=True, width=80)


@given(st.lists(WORDS, unique=True))
def test_a_command_is_words_for_the_shell_whatever_arguments_are_called(names: list[str]) -> None:
    parameters = tuple(CapabilityParameter(name=name, required=True) for name in names)
    found = Discovered(
        type=Found.CAPABILITY, id="x", name="x", score=0, signature="x()", parameters=parameters
    )

    assert shlex.split(command_for(found))[:4] == ["pml", "execute", "--intent", "x"]
    assert len(shlex.split(command_for(found))) == (6 if names else 4)


def test_a_part_of_the_ranking_says_where_it_goes_on_and_what_was_not_searched() -> None:
    response = DiscoverResponse(
        results=(TOOL,), total=30, next_offset=11, notes=("server 'x' does not answer",)
    )

    text = render_discovery(response, offset=10, brief=False, width=80)

    assert text.startswith("11  tool git.git_log")
    assert text.endswith("note: server 'x' does not answer\n\n11 of 30; --offset 11 goes on")


def test_a_brief_result_is_one_line() -> None:
    response = DiscoverResponse(results=(CAPABILITY, TOOL), total=2)

    text = render_discovery(response, offset=0, brief=True, width=60)

    assert text.split("\n")[1:] == [
        "1  0.97   capability  report_history  report what happened",
        "2  0.42   tool        git.git_log     Shows the commit logs",
        "",
        "2 of 2",
    ]


@pytest.mark.parametrize(
    ("known", "said"),
    [
        (Known(), "no server has listed tools (`pml servers`)"),
        (Known(tools=14, capabilities=1), "fits these words; 14 tools and 1 capability are known"),
        (Known(tools=1), "fits these words; 1 tool is known"),
        (Known(tools=14, below=3), "3 results score below --min-score"),
    ],
)
def test_nothing_found_says_why(known: Known, said: str) -> None:
    nothing = DiscoverResponse(results=(), total=0)

    text = render_discovery(nothing, offset=0, brief=True, width=80, known=known)

    assert said in " ".join(text.split())


GIVEN = Given(
    intent="report, Ada's way",
    args={"count": 5, "tz": "UTC", "max_count": 7},
    data_dir=Path("my data"),
    options={"--config": Path("a b.json"), "--permissions": None},
)


def test_what_runs_a_capability_keeps_what_was_given_and_fits() -> None:
    assert shlex.split(command_for(CAPABILITY, GIVEN)) == [
        *("pml", "execute", "--intent", "report_history"),
        *("--args", '{"repository": "...", "count": 5}'),
        *("--config", "a b.json", "--data-dir", "my data"),
    ]


def test_what_runs_a_tool_keeps_what_was_given_and_fits() -> None:
    program, command = command_for(TOOL, GIVEN).split(" |\n")

    assert 'git_log({"max_count": 7, "repo_path": "..."})' in program
    assert shlex.split(command) == [
        *("pml", "execute", "--intent", "report, Ada's way", "--code-file", "-"),
        *("--config", "a b.json", "--data-dir", "my data"),
    ]


def test_what_is_only_shown_keeps_where_the_data_lie() -> None:
    stale = Track(usage_count=6, success_rate=1, lifecycle=Lifecycle.VERIFIED, stale=True)

    command = command_for(msgspec.structs.replace(CAPABILITY, track=stale), GIVEN)

    assert command.startswith("pml capabilities show report_history --data-dir 'my data'  # ")


@pytest.mark.parametrize(
    ("why", "sentence"),
    [
        (
            "no parameter 'tz'; did you mean 'timezone'?",
            "No parameter 'tz'; did you mean 'timezone'?",
        ),
        ("send code; pml_discover shows tools", "Send code; `pml discover` shows tools."),
        ("capabilities.x fits", "capabilities.x fits."),
    ],
)
def test_a_reason_is_one_sentence_with_one_end(why: str, sentence: str) -> None:
    response = ExecuteResponse(
        status="suggestions", suggestions=Suggestions(confidence=0, candidates=(), why=why)
    )

    text = render_response(response, source="", name="-", width=80)

    assert text == f"suggestions: nothing ran\n\n{sentence}"
