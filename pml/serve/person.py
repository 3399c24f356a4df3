"""Asking the person at the client (HIL-4): the plan, and a form with a yes or no.

In the revision 2026-07-28 the answer to the tool call is a question, and the client sends the
call once more with what the person said; in the ones before, the server asks while the call
lasts.  Both ways carry the same form.  A client that cannot ask is not asked: it is told
`approval_required` at once.
"""

import json
from typing import Any, Final

import msgspec
from mcp.server.session import ServerSession
from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from pml.analysis.plan_text import plan_text
from pml.domain.approval import GrantScope, Principal, Role
from pml.domain.response import ExecuteResponse
from pml.domain.steering import ApprovalAnswer
from pml.domain.visible import visible
from pml.serve.arguments import InvalidArgumentsError
from pml.serve.waiting import held_calls

QUESTION: Final = "approval"
"""Key of our one question among a request's inputs."""
ONCE: Final = "no, only this time"
_ALWAYS = "yes, always allow "
_MOST_REMEMBERED = 20
"""Tools that the form offers to remember; more make a list that nobody reads."""


class Pending(msgspec.Struct, frozen=True):
    """What a question is about; travels with the client, sealed (`RequestStateBoundary`)."""

    workflow_id: str
    approval_id: str


def can_be_asked(session: ServerSession) -> bool:
    """Whether the client shows forms to a person."""
    capabilities = session.client_capabilities
    elicitation = None if capabilities is None else capabilities.elicitation
    if elicitation is None or (elicitation.form is None and elicitation.url is not None):
        return False
    return asks_by_answering(session) or session.can_send_request


def asks_by_answering(session: ServerSession) -> bool:
    """Whether this revision carries questions in answers."""
    return session.protocol_version in MODERN_PROTOCOL_VERSIONS


def pending_of(response: ExecuteResponse) -> Pending | None:
    """What a person can be asked; None where nothing is, or the plan cannot be shown whole."""
    run, approval = response.workflow_id, response.approval_id
    if response.status != "approval_required" or run is None or approval is None:
        return None
    return None if response.plan is None else Pending(run, approval)


def question(response: ExecuteResponse, by: Principal) -> ElicitRequestFormParams:
    """The form: what would run, yes or no, and whether to remember it where ``by`` may."""
    assert response.plan is not None
    sent = sum(task.success for task in response.tasks)
    so_far = f"{sent} of its calls are done." if sent else "Nothing of it has run yet."
    purpose = visible(f"What it is for, as the agent says: {response.intent}")
    asks = f"A program needs your consent to call these tools. {so_far}"
    parts = [purpose, asks, _asked_for(response)]
    if response.held:
        parts += ["\n".join(held_calls(response)), "The program that makes these calls:"]
    message = "\n\n".join([*parts, plan_text(response.plan)])
    return ElicitRequestFormParams(message=message, requested_schema=_form(response, by))


def _asked_for(response: ExecuteResponse) -> str:
    """The tools, with what each may do and why it is asked for."""
    lines = (
        f"  {one.tool} (effect {one.effect}, scope {one.scope}): {one.reason}"
        for one in response.approvals
    )
    return visible("\n".join(lines))


def _form(response: ExecuteResponse, by: Principal) -> dict[str, Any]:
    properties: dict[str, Any] = {
        "approved": {"type": "boolean", "title": "Allow it", "description": "No ends the run."}
    }
    if by.role.may(Role.APPROVER):
        properties["remember"] = {
            "type": "string",
            "title": "Remember",
            "description": "Whether to ask again for a tool.",
            "enum": [ONCE, *(_ALWAYS + tool for tool in _tools(response))],
            "default": ONCE,
        }
    properties["note"] = {"type": "string", "title": "Note", "description": "For the audit log."}
    return {"type": "object", "properties": properties, "required": ["approved"]}


def _tools(response: ExecuteResponse) -> list[str]:
    """Those that can be remembered: all that are asked for and have a name."""
    named = [permission.tool for permission in response.approvals if "*" not in permission.tool]
    return named[:_MOST_REMEMBERED]


def as_answer(form: ElicitRequestFormParams, pending: Pending) -> InputRequiredResult:
    """The question in place of a result."""
    asked = ElicitRequest(params=form)
    state = json.dumps(msgspec.to_builtins(pending))
    return InputRequiredResult(input_requests={QUESTION: asked}, request_state=state)


def read_state(state: str) -> Pending:
    """What a question was about, of a state that the seal has been taken off."""
    return msgspec.json.decode(state, type=Pending)


def said(result: object, pending: Pending) -> ApprovalAnswer | None:
    """What the person answered; None: they closed the form, so the run goes on waiting.

    Raises:
        InvalidArgumentsError: the client sent something that is no answer to our form.
    """
    if not isinstance(result, ElicitResult):
        raise _wrong(expected="the answer of an elicitation")
    if result.action == "cancel":
        return None
    content = result.content or {}
    approved = content.get("approved") if result.action == "accept" else False
    if not isinstance(approved, bool):
        raise _wrong(at=".content.approved", expected="true or false")
    return ApprovalAnswer(
        workflow_id=pending.workflow_id,
        approval_id=pending.approval_id,
        approved=approved,
        note=str(content.get("note") or ""),
        remember=_remembered(content.get("remember")) if approved else None,
    )


def _remembered(choice: object) -> GrantScope | None:
    """The scope that a choice of our list stands for."""
    if choice in (None, "", ONCE):
        return None
    if not isinstance(choice, str) or not choice.startswith(_ALWAYS):
        raise _wrong(at=".content.remember", expected="one of the choices of the form")
    return GrantScope(tool=choice.removeprefix(_ALWAYS))


def _wrong(*, expected: str, at: str = "") -> InvalidArgumentsError:
    return InvalidArgumentsError((f"inputResponses.{QUESTION}{at}: expected {expected}",))
