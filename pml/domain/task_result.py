"""Reading the whole result of a task: `pml_get_task_result` (EX-7, MCP-3)."""

from typing import Annotated, Literal

import msgspec

from pml.domain.record import Count, Ordinal, Record


class TaskResultRequest(Record, frozen=True, kw_only=True):
    """Characters ``offset`` to ``offset + limit`` of one result, until its TTL."""

    workflow_id: str
    task_id: str
    """``n3``, ``n3_2``..., or ``result`` for what the program returned."""
    offset: Count = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 20_000
    format: Literal["raw", "pretty"] = "raw"
    """``pretty`` indents the JSON before it is cut."""


class TaskResultPage(Record, frozen=True, kw_only=True):
    """A part of one result."""

    workflow_id: str
    task_id: str
    text: str
    """JSON text; all of it only where ``next_offset`` is absent and ``offset`` is 0."""
    offset: Count
    total_chars: Count
    next_offset: Ordinal | None = None
    expires_at_ms: Count
