"""Parts of the JSON Schemas of our tools, and what every answer about a run may say."""

from typing import Any, Final

from pml.domain.limits import Limits
from pml.domain.response import DEFAULT_TIMEOUT_MS, STATUS

ANY: Final[dict[str, Any]] = {}
TEXT: Final[dict[str, Any]] = {"type": "string"}
NUMBER: Final[dict[str, Any]] = {"type": "number"}
COUNT: Final[dict[str, Any]] = {"type": "integer", "minimum": 0}
STRINGS: Final[dict[str, Any]] = {"type": "array", "items": TEXT}
OBJECT: Final[dict[str, Any]] = {"type": "object"}
OBJECTS: Final[dict[str, Any]] = {"type": "array", "items": OBJECT}


def closed(properties: dict[str, Any], *required: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    """Schema of an object with these properties and no others."""
    schema: dict[str, Any] = {
        "type": "object",
        **more,
        "properties": properties,
        "additionalProperties": False,
    }
    return schema | {"required": list(required)} if required else schema


def opened(*required: str, **properties: dict[str, Any]) -> dict[str, Any]:
    """Schema of an answer: later versions may say more."""
    return {"type": "object", "properties": properties, "required": list(required)}


def timeout(limits: Limits) -> dict[str, Any]:
    """How long a run may take."""
    return {
        "type": "integer",
        "title": "a number of milliseconds",
        "minimum": 1,
        "maximum": limits.max_timeout_ms,
        "default": DEFAULT_TIMEOUT_MS,
    }


RUN_ANSWER: Final = opened(
    "status",
    status={"type": "string", "pattern": STATUS},
    workflowId=TEXT,
    result=ANY,
    resultPreview=TEXT,
    resultChars=COUNT,
    capabilityId=TEXT,
    traceId=TEXT,
    mode={"enum": ["direct", "speculation"]},
    executionTimeMs=NUMBER,
    tasks=OBJECTS,
    tool_failures=OBJECTS,
    inDoubt=OBJECTS,
    approvals=OBJECTS,
    approvalId=TEXT,
    expiresAtMs=COUNT,
    intent=TEXT,
    plan=OBJECT,
    checkpointId=TEXT,
    pendingLayer=COUNT,
    layerResults=OBJECTS,
    held=OBJECTS,
    suggestions=OBJECT,
    diagnostics=OBJECTS,
    warnings=STRINGS,
    error=opened("code", "message", code=TEXT, message=TEXT),
    dag=OBJECT,
)
"""An `ExecuteResponse`; of `pml_execute` and of everything that goes on with a run."""
