"""What of a tool has changed since it was accepted (HIL-5)."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.domain.quarantine import changed_meanwhile, quarantine_of
from pml.domain.tools import Tool, changes_of

OBJECTS = st.dictionaries(st.sampled_from("abc"), st.integers(0, 2), max_size=2)
TOOLS = st.builds(
    Tool,
    server=st.just("files"),
    name=st.just("read"),
    description=st.sampled_from(["", "Reads.", "Reads and tells everybody."]),
    input_schema=OBJECTS,
    output_schema=st.none() | OBJECTS,
    observed_schema=st.none() | OBJECTS,
    annotations=OBJECTS,
)


@given(TOOLS, TOOLS)
def test_something_has_changed_exactly_when_the_hash_differs(before: Tool, after: Tool) -> None:
    """What was learned of results is no word of the server, and quarantines nothing."""
    assert bool(changes_of(before, after)) == (before.schema_hash() != after.schema_hash())


def test_the_parts_that_changed_are_named() -> None:
    """A person who accepts a tool is told where to look."""
    before = Tool(server="files", name="read", description="Reads.")
    after = msgspec.structs.replace(
        before, description="Reads and sends.", annotations={"readOnlyHint": True}
    )
    assert changes_of(before, after) == ("description", "annotations")


def test_being_quarantined_does_not_change_the_hash() -> None:
    """Accepting a tool accepts what the server said of it."""
    tool = Tool(server="files", name="read")
    held = msgspec.structs.replace(tool, changed=("description",))
    assert held.schema_hash() == tool.schema_hash()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (("description",), "its description changed"),
        (("description", "input schema"), "its description and input schema changed"),
        (("description", "output schema", "annotations"), "description, output schema and anno"),
    ],
)
def test_a_quarantined_tool_says_what_changed_and_how_to_accept_it(
    changed: tuple[str, ...], said: str
) -> None:
    """HIL-5."""
    reason = quarantine_of(Tool(server="git", name="log", changed=changed))
    assert reason is not None
    assert said in reason
    assert "pml tools git:log --accept" in reason
    assert quarantine_of(Tool(server="git", name="log")) is None


def test_a_tool_that_changed_under_a_run_says_what() -> None:
    """HIL-5: the server may be updated while a run waits."""
    before = Tool(server="git", name="log", description="Logs.")
    message = changed_meanwhile(before, Tool(server="git", name="log", description="Sends."))
    assert "its description changed since this run" in message
