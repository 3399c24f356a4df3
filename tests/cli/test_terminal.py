"""What others wrote cannot steer the terminal it is shown on (OP-2)."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pml.cli.terminal import note, result
from pml.domain.visible import visible
from tests.cli.conftest import RunPml

TITLE = "\x1b]0;title\x07"
SHOWN = r"\u001b]0;title\u0007"


@given(st.text())
@example(f"look {TITLE}\x9b2J\r\u202e")
def test_no_control_character_but_line_ends_and_tabs_is_left(text: str) -> None:
    shown = visible(text)

    assert all(char in "\n\t" or ord(char) not in {*range(32), *range(127, 160)} for char in shown)
    assert visible(shown) == shown
    shown.encode()


@given(
    st.text(
        st.characters(
            exclude_categories=("Cc", "Cf", "Cs", "Zl", "Zp", "Mn", "Lo", "So"),
            include_characters="\n\t",
        )
    )
)
def test_text_without_them_stays_as_it_is(text: str) -> None:
    assert visible(text) == text


def test_both_streams_are_guarded(capsys: pytest.CaptureFixture[str]) -> None:
    result(f"a {TITLE}")
    note(f"b {TITLE}")

    assert capsys.readouterr() == (f"a {SHOWN}\n", f"b {SHOWN}\n")


def test_an_intent_that_was_kept_does_not_steer_the_terminal_either(pml: RunPml) -> None:
    code = "return 'title ' + await mcp.fixture.echo({ text: 'x' });"
    pml("execute", "--intent", f"{TITLE} titled", "--code-file", "-", stdin=code)

    listed = pml("runs", "--limit", "1").stdout + pml("capabilities", "--limit", "1").stdout
    as_json = pml("runs", "--limit", "1", "--json")

    assert "\x1b" not in listed
    assert "\x07" not in listed
    assert r"\u001b]0;title" in as_json.stdout
