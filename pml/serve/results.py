"""Answers of the loop as results of a tool call.

The structured content is the record's JSON; the text is what a model reads where its client
shows only text: the same JSON, or for a discovery a list that can be read at a glance.
"""

from dataclasses import dataclass

from mcp_types import CallToolResult, TextContent

from pml.domain.discovery import Discovered, DiscoverResponse
from pml.domain.record import Record, encode, to_builtins
from pml.domain.response import ExecuteResponse
from pml.domain.task_result import TaskResultPage

ANSWERED = frozenset({"success", "approval_required", "layer_complete", "suggestions"})
"""The states of an answer that are no errors."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool answers."""

    record: Record
    text: str
    is_error: bool = False

    def to_sdk(self) -> CallToolResult:
        """As the SDK sends it."""
        return CallToolResult(
            content=[TextContent(type="text", text=self.text)],
            structured_content=to_builtins(self.record),
            is_error=self.is_error,
        )


def executed(response: ExecuteResponse) -> Answer:
    """The answer of `pml_execute`; a run that ended badly is an error result."""
    text = encode(response).decode()
    return Answer(response, text, is_error=response.status not in ANSWERED)


def read(page: TaskResultPage) -> Answer:
    """The answer of `pml_get_task_result`."""
    return Answer(page, encode(page).decode())


def discovered(response: DiscoverResponse) -> Answer:
    """The answer of `pml_discover`."""
    lines = [_line(result) for result in response.results] or ["nothing fits"]
    if response.next_offset is not None:
        lines.append(
            f"... {response.total} in all; the next begin at offset {response.next_offset}"
        )
    lines += [f"note: {note}" for note in response.notes]
    return Answer(response, "\n".join(lines))


def _line(result: Discovered) -> str:
    about = " ".join(result.description.split("\n", 1)[0].split())
    return f"{result.signature}  // {result.type}, {result.score:.2f}: {about}"
