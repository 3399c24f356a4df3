"""What a person is asked, and what people have agreed to, as text."""

import shlex
from collections.abc import Sequence

from pml.analysis.plan_text import plan_text
from pml.cli.durations import age
from pml.cli.render_found import Given
from pml.cli.render_response import render_approvals
from pml.cli.table import moment, shorten, wrapped
from pml.cli.which import short
from pml.domain.approval import Approval
from pml.domain.record import Record
from pml.domain.response import ExecuteResponse


class Asked(Record, frozen=True, kw_only=True):
    """A request, and what its run is for."""

    approval: Approval
    intent: str


def render_asked(asked: Sequence[Asked], given: Given, *, now_ms: int, width: int) -> str:
    """Two lines for each request, the oldest first: the run and its intent, then the tools."""
    if not asked:
        return "Nobody is asked for anything.  `pml runs --waiting` shows what else waits."
    lines = []
    for each in asked:
        approval = each.approval
        since = age(now_ms - approval.asked_at_ms)
        left = age(approval.expires_at_ms - now_ms)
        head = f"{short(approval.run_id)}  asked {since} ago, {left} left  "
        lines.append(head + shorten(each.intent, width - len(head)))
        tools = ", ".join(version.tool for version in approval.tools)
        lines += wrapped(tools, " " * 10, " " * 10, width)
    words = shlex.join(["pml", "approve", "RUN", *given.words(runs=True)])
    return "\n".join([*lines, "", f"{words}  shows one whole, and asks"])


def render_question(response: ExecuteResponse, *, width: int) -> str:
    """All that a person decides by: the tools, the calls that wait, and the plan."""
    parts = [f"run {response.workflow_id}", render_approvals(response, width=width)]
    if response.plan is not None:
        head = "The program as a whole:" if response.held else "What would run, as a whole:"
        parts.append(f"{head}\n\n{plan_text(response.plan)}")
    if response.expires_at_ms is not None:
        parts.append(f"It can be answered until {moment(response.expires_at_ms)} UTC.")
    return "\n\n".join(parts)
