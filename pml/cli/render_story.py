"""What `pml trace` shows beside the calls: pauses, answers, runs that it called, relatives."""

from collections.abc import Iterator

from pml.cli.render_records import waits_of
from pml.cli.render_trace import render_trace
from pml.cli.story import Child, Story
from pml.cli.table import duration, moment, shorten, wrapped
from pml.cli.which import short
from pml.domain.approval import Approval, ApprovalState


def render_story(story: Story, *, width: int) -> str:
    """The trace, its relatives below its head, and after it all that people said."""
    parts = [
        render_trace(story.trace, width=width, remarks=tuple(_relatives(story))),
        _section("approvals", [line for each in story.approvals for line in _asked(each, width)]),
        _section("stops", [f"  {shorten(stop, width - 2)}" for stop in story.stops]),
        _section("runs of capabilities", list(_tree(story.children, "  ", width))),
    ]
    return "\n\n".join(part for part in parts if part)


def _section(title: str, lines: list[str]) -> str:
    return "\n".join([title, *lines]) if lines else ""


def _relatives(story: Story) -> Iterator[str]:
    run = story.run
    if run.parent_run_id is not None:
        yield f"called by the code of run {run.parent_run_id}"
    if run.replaces_run_id is not None:
        yield f"replaces run {run.replaces_run_id}"
    if story.replaced_by is not None:
        yield f"replaced by run {story.replaced_by}"
    if waits := waits_of(run):
        yield waits


def _asked(approval: Approval, width: int) -> Iterator[str]:
    """What was asked when, and who said what to it."""
    tools = ", ".join(version.tool for version in approval.tools)
    what = "the plan" if not approval.calls else f"{len(approval.calls)} calls"
    yield from wrapped(
        f"{moment(approval.asked_at_ms)} asked for {what}: {tools}", "  ", "    ", width
    )
    if approval.state is ApprovalState.PENDING:
        yield f"    nobody has answered yet: `pml approve {short(approval.run_id)}`"
        return
    when = moment(approval.decided_at_ms or approval.asked_at_ms)
    by = f" by {approval.decided_by}" if approval.decided_by else ""
    note = f": {approval.note}" if approval.note else ""
    yield from wrapped(f"{when} {approval.state.value}{by}{note}", "  ", "    ", width)


def _tree(children: tuple[Child, ...], indent: str, width: int) -> Iterator[str]:
    for child in children:
        trace = child.story.trace
        calls = len(trace.task_results)
        text = (
            f"{child.task_id} -> run {short(trace.run_id)}: {trace.state} in "
            f"{duration(trace.duration_ms)}, {calls} call{'' if calls == 1 else 's'}: "
            f"{trace.intent_text}"
        )
        yield indent + shorten(text, width - len(indent))
        yield from _tree(child.story.children, indent + "  ", width)
