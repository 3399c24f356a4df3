"""From a run's log to its trace.  Pure: the same log gives the same trace, at any time.

The log is exact and short-lived; what is projected from it is sanitised first (ST-5),
because traces, previews and statistics outlive the run.
"""

import bisect
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from pml.domain.ledger import Ledger
from pml.domain.limits import Limits
from pml.domain.log_rules import CallState
from pml.domain.record import JsonText
from pml.domain.run import (
    Attempted,
    Decided,
    Delivered,
    Failed,
    Reached,
    Returned,
    Run,
    Undelivered,
)
from pml.domain.sanitising import for_trace, preview, redact, redact_text
from pml.domain.secret_rules import MASK, sensitive_key
from pml.domain.structure import (
    CapabilityCall,
    EdgeType,
    Evidence,
    Join,
    Parameter,
    StaticStructure,
    Task,
)
from pml.domain.trace import (
    BranchDecision,
    DependencyType,
    ExecutionTrace,
    TaskResult,
    ToolDependency,
)

UNANSWERED = "unanswered"
"""Code of a call whose answer had not come when the run stopped."""
RESULT_TASK = "result"
"""Task id under which the program's own result is kept."""


def project(
    run: Run, structure: StaticStructure, ledger: Ledger, context: dict[str, Any], limits: Limits
) -> ExecutionTrace:
    """The trace of a run as far as its log goes.

    Args:
        run: the run in the state that the trace shall show.
        structure: what analysis said of its program.
        ledger: its log.
        context: the bound arguments, not yet sanitised.
        limits: ``trace_value_bytes`` bounds each value.
    """
    began_at_ms = run.created_at_ms if run.started_at_ms is None else run.started_at_ms
    ended_at_ms = ledger.last_ms or run.updated_at_ms
    failed = ledger.settled.outcome if ledger.settled else None
    message = failed.message if isinstance(failed, Failed) else run.reason
    return ExecutionTrace(
        id=run.id,
        run_id=run.id,
        user_id=run.user_id,
        capability_id=run.capability_id,
        parent_trace_id=run.parent_run_id,
        intent_text=redact_text(run.intent),
        initial_context=for_trace(_without_secrets(context, structure), limits),
        executed_at_ms=run.created_at_ms,
        success=run.state == "success",
        state=run.state,
        duration_ms=float(max(ended_at_ms - began_at_ms, 0)),
        error_message=preview(message, limits.message_chars) if message else None,
        executed_path=executed_path(structure, ledger),
        decisions=tuple(
            BranchDecision(node_id=record.site, outcome=record.outcome)
            for record in ledger.records
            if isinstance(record, Decided)
        ),
        task_results=task_results(ledger, limits),
        dry_run=run.dry_run,
    )


def _without_secrets(context: dict[str, Any], structure: StaticStructure) -> dict[str, Any]:
    """What is passed to a tool under a sensitive name is a secret under any name."""
    secret = {
        argument.parameter_name
        for node in structure.nodes
        if isinstance(node, Task | CapabilityCall)
        for name, argument in node.arguments.items()
        if isinstance(argument, Parameter) and sensitive_key(name)
    }
    return {name: MASK if name in secret else value for name, value in context.items()}


def executed_path(structure: StaticStructure, ledger: Ledger) -> tuple[str, ...]:
    """Each reached node once, in structure order (design, section 5, rule 10).

    Calls, decisions, forks and loops are observed.  A join leaves no mark of its own: it
    counts as reached when its fork was, and every call before it that started has answered.
    """
    seen = {call.issued.site for call in ledger.calls}
    seen.update(r.site for r in ledger.records if isinstance(r, Decided | Reached))
    waiting = {call.issued.site for call in ledger.calls if not call.delivered}
    for node in structure.nodes:
        if isinstance(node, Join) and f"f{node.id[1:]}" in seen:
            before = {edge.source for edge in structure.edges if edge.target == node.id}
            if not before & waiting:
                seen.add(node.id)
    return tuple(node.id for node in structure.nodes if node.id in seen)


def task_results(ledger: Ledger, limits: Limits) -> tuple[TaskResult, ...]:
    """One entry per call, in order of issue."""
    return tuple(_task_result(call, limits) for call in ledger.calls)


def _task_result(call: CallState, limits: Limits) -> TaskResult:
    outcome, issued = call.outcome, call.issued
    failed = outcome if isinstance(outcome, Failed) else None
    code, message = _why_unanswered(call) if outcome is None else (None, None)
    if failed is not None:
        code, message = failed.code, preview(failed.message, limits.message_chars)
    return TaskResult(
        task_id=issued.task_id,
        node_id=issued.site,
        tool=issued.tool,
        args=for_trace(json.loads(issued.arguments), limits),
        result=for_trace(json.loads(outcome.value), limits)
        if isinstance(outcome, Returned)
        else None,
        success=isinstance(outcome, Returned),
        error=message,
        error_code=code,
        started_at_ms=call.started_at_ms or issued.at_ms,
        duration_ms=round(call.duration_ms, 3),
        attempts=call.attempts,
        delivered=call.delivered,
        mocked=isinstance(outcome, Returned) and outcome.mocked,
    )


def _why_unanswered(call: CallState) -> tuple[str, str]:
    """Code and message of a call that the run ended before."""
    if call.in_doubt:
        return "in_doubt", "no answer: whether it took effect is unknown"
    if not call.attempts:
        return UNANSWERED, "never sent: the run stopped before"
    return UNANSWERED, "no answer until the run ended"


def full_results(ledger: Ledger) -> tuple[tuple[str, JsonText], ...]:
    """What each call and the program returned, whole but redacted, for `pml_get_task_result`."""
    pairs = [
        (call.issued.task_id, call.outcome.value)
        for call in ledger.calls
        if isinstance(call.outcome, Returned)
    ]
    if ledger.settled and isinstance(ledger.settled.outcome, Returned):
        pairs.append((RESULT_TASK, ledger.settled.outcome.value))
    return tuple(
        (task_id, json.dumps(redact(json.loads(text)), ensure_ascii=False))
        for task_id, text in pairs
    )


def dependencies(structure: StaticStructure, ledger: Ledger) -> tuple[ToolDependency, ...]:
    """Edges between tools that the run showed, or that its data flow proves (ST-3)."""
    spans = _spans(ledger)
    counts: Counter[tuple[str, str, DependencyType, str]] = Counter()
    for source, target in _overlaps(spans):
        ends = sorted((source, target))
        counts[ends[0], ends[1], DependencyType.CO_OCCURRENCE, "observed"] += 1
    for source, target in _successions(spans):
        counts[source, target, DependencyType.SEQUENCE, "observed"] += 1
    for source, target in _flows(structure):
        counts[source, target, DependencyType.PROVIDES, "inferred"] += 1
    return tuple(
        ToolDependency(
            source=source,
            target=target,
            type=kind,
            edge_source=edge_source,
            weight=kind.weight,
            count=count,
        )
        for (source, target, kind, edge_source), count in sorted(counts.items())
    )


Span = tuple[int, int, str]
"""First attempt and outcome of a call as positions in the log, and the tool.

The log's order is the order in which things happened, finer than any clock.
"""


def _spans(ledger: Ledger) -> list[Span]:
    starts: dict[int, int] = {}
    spans: list[Span] = []
    for record in ledger.records:
        if isinstance(record, Attempted):
            starts.setdefault(record.call, record.seq)
        elif isinstance(record, Delivered | Undelivered) and record.call in starts:
            tool = ledger.calls[record.call].issued.tool
            spans.append((starts.pop(record.call), record.seq, tool))
    return sorted(spans)


def _overlaps(spans: Sequence[Span]) -> Iterable[tuple[str, str]]:
    """Pairs of tools with overlapping calls: for each call, each tool under way at its start."""
    under_way: list[tuple[int, str]] = []
    for start, end, tool in spans:
        under_way = [item for item in under_way if item[0] > start]
        for other in sorted({name for _, name in under_way}):
            yield other, tool
        under_way.append((end, tool))


def _successions(spans: Sequence[Span]) -> Iterable[tuple[str, str]]:
    """Pairs of tools where a call of one directly precedes a call of the other in time.

    A call directly precedes another if it ended before that started, and no third call
    lies wholly between: the transitive reduction of the interval order.
    """
    by_end = sorted(spans, key=lambda span: span[1])
    ends = [span[1] for span in by_end]
    latest_start: list[int] = []  # of the calls up to each place in by_end
    for span in by_end:
        latest_start.append(max(span[0], latest_start[-1] if latest_start else span[0]))
    for start, _, tool in spans:
        before = bisect.bisect_right(ends, start)
        if before:
            first = bisect.bisect_right(ends, latest_start[before - 1])
            for source in sorted({span[2] for span in by_end[first:before]}):
                yield source, tool


def _flows(structure: StaticStructure) -> Iterable[tuple[str, str]]:
    tools = {node.id: node.tool for node in structure.nodes if isinstance(node, Task)}
    for edge in structure.edges:
        if edge.type is EdgeType.PROVIDES and edge.evidence is Evidence.DATAFLOW:
            source, target = tools.get(edge.source), tools.get(edge.target)
            if source and target and "*" not in (source, target):
                yield source, target
