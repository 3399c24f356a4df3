"""Reading the whole result of a task, page by page (EX-7)."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass

from pml.domain.record import JsonText
from pml.domain.task_result import TaskResultPage, TaskResultRequest
from pml.store.ports import ResultPage, TaskResults


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadTaskResult:
    """Reads results of one store."""

    task_results: TaskResults
    now_ms: Callable[[], int]

    async def __call__(self, request: TaskResultRequest) -> TaskResultPage:
        """One page.

        Raises:
            NotFoundError: there is no such result, or its TTL is over; the message says which.
            StoreError: the database is lost.
        """
        if request.format == "raw":
            page = await self._page(request, request.offset, request.limit)
            return _cut(request, page, page.text, page.total_chars)
        page = await self._page(request, 0, _WHOLE)
        # in a thread: 10 MB take a second, and other requests go on meanwhile
        indented = await asyncio.to_thread(_indented, page.text)
        part = indented[request.offset : request.offset + request.limit]
        return _cut(request, page, part, len(indented))

    async def _page(self, request: TaskResultRequest, offset: int, limit: int) -> ResultPage:
        return await self.task_results.page(
            request.workflow_id, request.task_id, offset=offset, limit=limit, now_ms=self.now_ms()
        )


_WHOLE = 2**31 - 2
"""Characters: more than any text that a database holds.  (The limit of a result's bytes counts
it as the server sent it; as it is kept, with blanks and masks, it may be longer.)"""


def _indented(text: JsonText) -> str:
    return json.dumps(json.loads(text), indent=2, ensure_ascii=False)


def _cut(
    request: TaskResultRequest, page: ResultPage, text: str, total_chars: int
) -> TaskResultPage:
    after = request.offset + request.limit
    return TaskResultPage(
        workflow_id=request.workflow_id,
        task_id=request.task_id,
        text=text,
        offset=request.offset,
        total_chars=total_chars,
        next_offset=after if after < total_chars else None,
        expires_at_ms=page.expires_at_ms,
    )
