"""Reading the whole result of a task, page by page (EX-7)."""

import json
from collections.abc import Callable
from dataclasses import dataclass

from pml.domain.limits import Limits
from pml.domain.task_result import TaskResultPage, TaskResultRequest
from pml.store.ports import TaskResults


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadTaskResult:
    """Reads results of one store."""

    task_results: TaskResults
    now_ms: Callable[[], int]
    limits: Limits

    async def __call__(self, request: TaskResultRequest) -> TaskResultPage:
        """One page.

        Raises:
            NotFoundError: there is no such result, or its TTL is over; the message says which.
            StoreError: the database is lost.
        """
        whole = request.format == "pretty"
        page = await self.task_results.page(
            request.workflow_id,
            request.task_id,
            offset=0 if whole else request.offset,
            limit=self.limits.result_bytes if whole else request.limit,
            now_ms=self.now_ms(),
        )
        after = request.offset + request.limit
        text, total = page.text, page.total_chars
        if whole:
            indented = json.dumps(json.loads(text), indent=2, ensure_ascii=False)
            text, total = indented[request.offset : after], len(indented)
        return TaskResultPage(
            workflow_id=request.workflow_id,
            task_id=request.task_id,
            text=text,
            offset=request.offset,
            total_chars=total,
            next_offset=after if after < total else None,
            expires_at_ms=page.expires_at_ms,
        )
