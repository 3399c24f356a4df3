"""Answers of the loop as results of a tool call.

The structured content is the record's JSON; the text is what a model reads where its client
shows only text: the same JSON, for a discovery a list that can be read at a glance, and of a
run that waits what can be answered, with the plan as a person reads it (HIL-2).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import Any

import msgspec
from mcp_types import CallToolResult, TextContent
from msgspec import UNSET

from pml.analysis.plan_text import plan_text
from pml.domain.discovery import Discovered, DiscoverResponse
from pml.domain.limits import Limits
from pml.domain.outward import outward
from pml.domain.record import Record, encode, to_builtins
from pml.domain.response import ExecuteResponse
from pml.domain.sanitising import redact
from pml.domain.task_result import TaskResultPage
from pml.domain.visible import visible
from pml.serve.definitions import GET_TASK_RESULT
from pml.serve.waiting import how_it_waits, waits

ANSWERED = frozenset({"success", "approval_required", "layer_complete", "suggestions"})
"""The states of an answer that are no errors."""
PREVIEW_CHARS = 2_000
"""Of a result that is too large for an answer."""


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


def executed(response: ExecuteResponse, limits: Limits, *, asked_for: bool = False) -> Answer:
    """The answer of `pml_execute`; that a run ended badly is an error, unless ``asked_for``."""
    response = _listing(fitting(response, limits), limits)
    is_error = response.status not in ANSWERED and not asked_for
    return Answer(response, _text(response), is_error=is_error)


def _text(response: ExecuteResponse) -> str:
    """The JSON; of a run that waits, what can be answered, and what a person is asked."""
    if response.plan is None:
        said = encode(response).decode()
    else:
        said = "\n".join([plan_text(response.plan), *_as_notes(response.warnings)])
    return f"{how_it_waits(response)}\n\n{said}" if waits(response) else said


def _as_notes(warnings: Sequence[str]) -> list[str]:
    return [visible(f"warning: {warning}") for warning in warnings]


def fitting(response: ExecuteResponse, limits: Limits) -> ExecuteResponse:
    """The response without secrets, with the beginning of its result if that is too large.

    A plan that is too large is left out: half a plan is nothing to decide by.
    """
    response = outward(response)
    if response.plan is not None and len(encode(response.plan)) > limits.answer_bytes:
        warning = (
            "the plan is too large for this answer: `pml analyse FILE --plan` shows it, or split "
            "the program"
        )
        warnings = (*response.warnings, warning)
        response = msgspec.structs.replace(response, plan=None, warnings=warnings)
    if response.result is UNSET:
        return response
    if len(encode(response.result)) <= limits.answer_bytes:
        return response
    # As `pml.runtime.recorder` keeps it, so that the next page goes on where the preview ends.
    text = json.dumps(redact(response.result), ensure_ascii=False)
    where = f'{{workflow_id: "{response.workflow_id}", task_id: "result"}}'
    warning = (
        f"the result is too large for this answer ({len(text):,} characters): read it page by "
        f"page with {GET_TASK_RESULT}({where}), or run a program that returns less"
    )
    return msgspec.structs.replace(
        response,
        result=UNSET,
        result_preview=text[:PREVIEW_CHARS],
        result_chars=len(text),
        warnings=(*response.warnings, warning),
    )


def _listing(response: ExecuteResponse, limits: Limits) -> ExecuteResponse:
    """The response with lists that together are no longer than an answer may be."""
    lists: dict[str, tuple[Any, ...]] = {name: getattr(response, name) for name in _LISTS}
    lists[_PATH] = () if response.dag is None else response.dag.executed_path
    rooms = _rooms({n: len(encode(whole)) for n, whole in lists.items()}, limits.answer_bytes)
    kept = {name: _as_many_as_fit(whole, rooms[name]) for name, whole in lists.items()}
    cut = [name for name in lists if len(kept[name]) < len(lists[name])]
    if not cut:
        return response
    counts = [f"{name}: {len(kept[name]):,} of {len(lists[name]):,} are shown" for name in cut]
    how = (
        f"the whole is too large for this answer: {GET_TASK_RESULT}({{workflow_id: "
        f'"{response.workflow_id}", task_id}}) reads any result (n3 is the first call at n3, n3_17 '
        f"its 17th), `pml trace {response.workflow_id}` shows all of it"
    )
    path = kept.pop(_PATH)
    dag = response.dag and msgspec.structs.replace(response.dag, executed_path=path)
    warnings = (*response.warnings, f"{'; '.join(counts)}: {how}")
    return msgspec.structs.replace(response, **kept, dag=dag, warnings=warnings)


_LISTS = (
    "tasks",
    "tool_failures",
    "layer_results",
    "in_doubt",
    "approvals",
    "held",
    "diagnostics",
)
"""What grows with the program, or with what it does."""
_PATH = "dag.executed_path"


def _rooms(sizes: Mapping[str, int], room: int) -> dict[str, int]:
    """How much of ``room`` each gets: small ones what they need, large ones equal parts."""
    rooms: dict[str, int] = {}
    for left, name in zip(
        range(len(sizes), 0, -1), sorted(sizes, key=sizes.__getitem__), strict=True
    ):
        rooms[name] = min(sizes[name], room // left)
        room -= rooms[name]
    return rooms


def _as_many_as_fit(whole: tuple[Any, ...], room: int) -> tuple[Any, ...]:
    """The first ones whose JSON together has room, failures before the others; in their order."""
    order = sorted(range(len(whole)), key=lambda at: getattr(whole[at], "success", True))
    ends = accumulate((len(encode(whole[at])) + 1 for at in order), initial=1)
    kept = sorted(at for at, end in zip(order, islice(ends, 1, None), strict=True) if end <= room)
    return tuple(whole[at] for at in kept)


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
    if result.declaration:
        return f"// {result.type}, {result.score:.2f}\n{result.declaration}"
    about = " ".join(result.description.split("\n", 1)[0].split())
    return f"{result.signature}  // {result.type}, {result.score:.2f}: {about}"
