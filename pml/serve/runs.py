"""The tools that start a run or go on with one, and the person whom a run may wait for.

Cancelling a call cancels what it started; a run that waits for a person goes on waiting, and
whoever answers it later, wherever, is heard.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import msgspec
import structlog
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    RequestId,
)
from pydantic import ValidationError

from pml.domain.approval import Principal, Role
from pml.domain.limits import Limits
from pml.domain.response import ExecuteResponse
from pml.domain.steering import ApprovalAnswer
from pml.errors import ApprovalStateError
from pml.serve.arguments import (
    InvalidArgumentsError,
    Json,
    abort_request,
    approval_answer,
    continue_request,
    execute_request,
    replan_request,
)
from pml.serve.person import (
    QUESTION,
    Pending,
    as_answer,
    asks_by_answering,
    can_be_asked,
    pending_of,
    question,
    read_state,
    said,
)
from pml.serve.ports import Bench, Emit
from pml.serve.results import executed, fitting
from pml.serve.steering_tools import ABORT, APPROVAL_RESPONSE, CONTINUE, REPLAN

Work: TypeAlias = Callable[[Principal, Emit | None], Awaitable[ExecuteResponse]]
Result: TypeAlias = CallToolResult | InputRequiredResult

_log = structlog.get_logger(__name__)


def work_of(bench: Bench, name: str, arguments: Mapping[str, Json]) -> Work:
    """What a call of a tool with checked arguments does.

    Raises:
        InvalidArgumentsError: the arguments contradict each other.
    """
    steering = bench.steering
    if name == CONTINUE:
        go_on = continue_request(arguments)
        return lambda by, emit: steering.go_on(go_on, by=by, emit=emit)
    if name == REPLAN:
        replan = replan_request(arguments)
        return lambda by, emit: steering.replan(replan, by=by, emit=emit)
    if name == ABORT:
        abort = abort_request(arguments)
        return lambda by, _: steering.abort(abort, by=by)
    if name == APPROVAL_RESPONSE:
        answer = approval_answer(arguments)
        return lambda by, emit: steering.answer(answer, by=by, emit=emit)
    execute = execute_request(arguments)
    return lambda _, emit: bench.act.execute(execute, emit=emit)


@dataclass(frozen=True, slots=True)
class RunCall:
    """One call of such a tool."""

    bench: Bench
    limits: Limits
    by: Principal
    person: Principal
    """Who answers a form that the client shows."""
    session: ServerSession
    request_id: RequestId | None

    async def result(self, params: CallToolRequestParams, work: Work, emit: Emit | None) -> Result:
        """Do ``work``; where a run waits for a person who can be asked, ask.

        Raises:
            InvalidArgumentsError: what was sent means nothing.
        """
        if params.request_state is None:
            response = await work(self.by, emit)
            if params.name == ABORT and response.status == "aborted":
                return executed(response, self.limits, asked_for=True).to_sdk()
            return await self._with_person(response, emit)
        pending = read_state(params.request_state)
        given = (params.input_responses or {}).get(QUESTION)
        if given is None:
            message = f"inputResponses.{QUESTION}: expected the answer of the form, got nothing"
            raise InvalidArgumentsError((message,))
        answer = said(given, pending)
        if answer is None:  # to ask at once again would never end
            return self._told(await self.bench.steering.status(pending.workflow_id))
        return await self._with_person(await self._answered(answer, emit), emit)

    async def _with_person(self, response: ExecuteResponse, emit: Emit | None) -> Result:
        """Ask until the run waits for nobody, or the person closes the form."""
        while self._person_can_be_asked():
            shown = fitting(response, self.limits)
            pending = pending_of(shown)
            if pending is None:
                break
            form = question(shown, self.person)
            if len(form.message.encode()) > self.limits.answer_bytes:
                response = _too_large_to_ask(response)
                break
            if asks_by_answering(self.session):
                return as_answer(form, pending)
            result = await self._show(form, pending)
            answer = None if result is None else said(result, pending)
            if answer is None:
                break
            response = await self._answered(answer, emit)
        return self._told(response)

    def _person_can_be_asked(self) -> bool:
        """Whether the client shows forms, and what it says was answered counts."""
        needed = Role.AGENT if self.bench.act.agents_may_approve else Role.APPROVER
        return self.person.role.may(needed) and can_be_asked(self.session)

    def _told(self, response: ExecuteResponse) -> CallToolResult:
        return executed(response, self.limits).to_sdk()

    async def _show(self, form: ElicitRequestFormParams, pending: Pending) -> ElicitResult | None:
        """What the person did with the form; None where the client could not show it.

        A form may stay open for as long as the run waits.
        """
        try:
            async with asyncio.timeout(self.limits.waiting_ttl_s):
                return await self.session.elicit_form(
                    form.message, form.requested_schema, related_request_id=self.request_id
                )
        except (MCPError, ValidationError, TimeoutError) as exc:
            _log.warning("person_not_asked", run=pending.workflow_id, exc_info=exc)
            return None

    async def _answered(self, answer: ApprovalAnswer, emit: Emit | None) -> ExecuteResponse:
        """What the run comes to with the answer, or how it stands if another one came first."""
        try:
            return await self.bench.steering.answer(answer, by=self.person, emit=emit)
        except ApprovalStateError:
            return await self.bench.steering.status(answer.workflow_id)


def _too_large_to_ask(response: ExecuteResponse) -> ExecuteResponse:
    """The response with the reason why nobody was asked: half of it is nothing to decide by."""
    warning = "what a person would be asked is too large for a form: `pml approve` shows it whole"
    return msgspec.structs.replace(response, warnings=(*response.warnings, warning))
