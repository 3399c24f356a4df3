"""What a finished call says of its tool (LE-4): that it worked, that it failed, or nothing.

A server that could not be reached, a run that was stopped and a permission that was refused
say nothing of the tool; counted as failures they would teach that everything behind a flaky
network is bad.
"""

from enum import StrEnum
from typing import Final

from pml.domain.trace import TaskResult


class Verdict(StrEnum):
    """What a call says of its tool."""

    SUCCESS = "success"
    FAILURE = "failure"
    UNINFORMATIVE = "uninformative"
    """The tool did not answer for itself: infrastructure, refusal, mock."""


NOT_THE_TOOL: Final = frozenset(
    {
        # The way to the server, or the machinery around the call.
        "unavailable",
        "timeout",
        "in_doubt",
        "interrupted",
        "internal",
        "sandbox",
        "sandbox_unavailable",
        "store_unavailable",
        "limit",
        # Never sent, or not waited for.
        "unanswered",
        "skipped",
        "aborted",
        "cancelled",
        "diverged",
        "under_way",
        # Refused on our side: permissions, quarantine, the catalog, our limits of size.
        "approval_required",
        "quarantined",
        "unknown_tool",
        "too_large",
    }
)
"""Codes of errors for which a tool is not to blame.  All others count, those that PML does not
know too: they come from the server (`tool_error`, `bad_result`, `invalid_params`...)."""


def verdict_of(task: TaskResult) -> Verdict:
    """What one call of a trace says; a success that was mocked says nothing."""
    if task.mocked:
        return Verdict.UNINFORMATIVE
    if task.success:
        return Verdict.SUCCESS
    return Verdict.UNINFORMATIVE if task.error_code in NOT_THE_TOOL else Verdict.FAILURE
