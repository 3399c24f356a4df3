"""The tools that go on with a run that waits (MCP-3, EX-5, HIL-4), as agents see them.

Short, as all definitions (`pml.serve.definitions`); what an agent needs to answer stands in
the answer that asks for it (`pml.serve.waiting`).
"""

from typing import Any, Final

from mcp_types import Tool, ToolAnnotations

from pml.domain.limits import Limits
from pml.serve.schemas import OBJECT, OBJECTS, RUN_ANSWER, TEXT, closed, timeout

CONTINUE: Final = "pml_continue"
ABORT: Final = "pml_abort"
REPLAN: Final = "pml_replan"
APPROVAL_RESPONSE: Final = "pml_approval_response"
STEERING: Final = frozenset({CONTINUE, ABORT, REPLAN, APPROVAL_RESPONSE})

_FLAG: dict[str, Any] = {"type": "boolean"}


def steering_tools(limits: Limits) -> tuple[Tool, ...]:
    """Those four."""
    return (_continue(), _abort(), _replan(limits), _approval_response())


def _continue() -> Tool:
    return _tool(
        CONTINUE,
        "Let a run go on",
        "Let a run go on that waits after a layer, was interrupted, or is in doubt (then with one "
        "resolution per write, which a person decides).",
        {
            "workflow_id": TEXT,
            "checkpoint_id": TEXT,
            "resolutions": OBJECTS,
        },
        "workflow_id",
    )


def _abort() -> Tool:
    properties = {"workflow_id": TEXT, "reason": TEXT}
    return _tool(ABORT, "End a run", "End a run, wherever it stands.", properties, "workflow_id")


def _replan(limits: Limits) -> Tool:
    return _tool(
        REPLAN,
        "Go on with other code",
        "End a run that waits, and run other code (or dag) that reads its results as `context.n1`.",
        {
            "workflow_id": TEXT,
            "checkpoint_id": TEXT,
            "code": TEXT,
            "dag": OBJECT,
            "intent": TEXT,
            "options": closed(
                {"timeout": timeout(limits), "args": OBJECT, "per_layer_validation": _FLAG}
            ),
        },
        "workflow_id",
    )


def _approval_response() -> Tool:
    return _tool(
        APPROVAL_RESPONSE,
        "Answer for a person",
        "A person's yes or no to approval_required; agents may answer only where the "
        "configuration says so.",
        {
            "workflow_id": TEXT,
            "approval_id": TEXT,
            "approved": _FLAG,
            "note": TEXT,
            "remember": OBJECT,
        },
        "workflow_id",
        "approved",
    )


def _tool(
    name: str, title: str, description: str, properties: dict[str, Any], *required: str
) -> Tool:
    return Tool(
        name=name,
        title=title,
        description=description,
        input_schema=closed(properties, *required),
        output_schema=RUN_ANSWER,
        annotations=ToolAnnotations(
            read_only_hint=False,
            destructive_hint=True,
            idempotent_hint=True,
            open_world_hint=name != ABORT,
        ),
    )
