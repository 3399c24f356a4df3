"""What a person is asked, and what people have agreed to, as text."""

import json
import re
import shlex
from collections.abc import Sequence

from pml.analysis.plan_text import plan_text
from pml.cli.durations import age
from pml.cli.render_found import Given
from pml.cli.render_response import render_approvals
from pml.cli.table import moment, shorten, table, wrapped
from pml.cli.which import short
from pml.domain.approval import Approval, AuditEntry, Grant
from pml.domain.record import Record
from pml.domain.response import ExecuteResponse

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


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
    head = [f"run {response.workflow_id}"]
    if response.intent is not None:
        head += wrapped(f"for: {response.intent}", "", "     ", width)
    parts = ["\n".join(head), render_approvals(response, width=width)]
    if response.plan is not None:
        title = "The program as a whole:" if response.held else "What would run, as a whole:"
        parts.append(f"{title}\n\n{plan_text(response.plan)}")
    if response.expires_at_ms is not None:
        parts.append(f"It can be answered until {moment(response.expires_at_ms)} UTC.")
    return "\n\n".join(parts)


def render_grants(grants: Sequence[Grant], *, now_ms: int, width: int) -> str:
    """One grant per line: for what, until when, from whom."""
    if not grants:
        return "Nothing is remembered.  `pml approve RUN --remember TOOL` remembers an answer."
    rows = [
        (short(grant.id), _until(grant, now_ms), grant.granted_by, _scope(grant))
        for grant in grants
    ]
    return table(("grant", "until", "by", "for"), rows, width=width)


def _until(grant: Grant, now_ms: int) -> str:
    if grant.revoked_at_ms is not None:
        return "revoked"
    if grant.expires_at_ms is None:
        return "no end"
    return "ended" if grant.expires_at_ms <= now_ms else moment(grant.expires_at_ms)[:16]


def _scope(grant: Grant) -> str:
    scope = grant.scope
    words = [scope.tool]
    words += [f"{name}: {_json(value)}" for name, value in scope.arguments.items()]
    if scope.capability_id is not None:
        words.append(f"in {scope.capability_id}")
    return ", ".join(words)


def render_audit(entries: Sequence[AuditEntry], *, width: int) -> str:
    """One entry per line, the latest first; times are UTC."""
    if not entries:
        return "Nothing was ever asked or decided."
    rows = [
        (
            moment(entry.at_ms)[5:],
            entry.event.value,
            _UUID.sub(lambda found: short(found[0]), entry.actor),
            "" if entry.run_id is None else short(entry.run_id),
            _about(entry),
        )
        for entry in entries
    ]
    return table(("when", "what", "who", "run", "about"), rows, width=width)


def _about(entry: AuditEntry) -> str:
    words = [entry.tool] if entry.tool else []
    others = sorted(entry.detail.items(), key=lambda item: item[0].endswith("Id"))
    words += [f"{name}: {_json(value)}" for name, value in others]
    return _UUID.sub(lambda found: short(found[0]), ", ".join(words))


def _json(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
