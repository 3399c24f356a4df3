"""The tools that agents see: names, descriptions and JSON Schemas (MCP-1, MCP-2, MCP-3).

Written for the model that reads them, and short, since every agent pays for them in each
of its contexts: names, descriptions and input schemas together stay under 6,000 characters
(MCP-5).  The input schemas are also what `pml.serve.arguments` checks, so that what is
announced and what is accepted cannot differ.
"""

from typing import Any, Final

from mcp_types import Tool, ToolAnnotations

from pml.domain.discovery import DiscoverRequest
from pml.domain.limits import Limits
from pml.domain.response import DEFAULT_TIMEOUT_MS, STATUS
from pml.domain.task_result import TaskResultRequest

DISCOVER: Final = "pml_discover"
EXECUTE: Final = "pml_execute"
GET_TASK_RESULT: Final = "pml_get_task_result"
QUICK: Final = frozenset({DISCOVER, GET_TASK_RESULT})
"""Tools that answer at once, without progress."""

INSTRUCTIONS: Final = (
    "PML runs TypeScript that calls the tools of many MCP servers, and remembers what worked.\n"
    f"Use {DISCOVER} first, whenever a task may need a tool: say in a sentence what you want "
    "done, and it returns the tools and the learned capabilities that fit, with signatures.\n"
    f"Use {EXECUTE} to do it: send the intent and one program with all the calls "
    "(`await mcp.server.tool({...})`, loops, branches and Promise.all included) instead of one "
    "call at a time. The intent alone, without code, runs a known capability where the match is "
    "clear and suggests otherwise.\n"
    f"Use {GET_TASK_RESULT} where a preview of a result is not enough."
)

_ANY: dict[str, Any] = {}
_TEXT: dict[str, Any] = {"type": "string"}
_NUMBER: dict[str, Any] = {"type": "number"}
_COUNT: dict[str, Any] = {"type": "integer", "minimum": 0}
_STRINGS: dict[str, Any] = {"type": "array", "items": _TEXT}
_OBJECT: dict[str, Any] = {"type": "object"}
_OBJECTS: dict[str, Any] = {"type": "array", "items": _OBJECT}


def tool_definitions(limits: Limits) -> tuple[Tool, ...]:
    """The default tools, with the limits of this installation in their schemas."""
    return (_discover(limits), _execute(limits), _get_task_result())


def _closed(properties: dict[str, Any], *required: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    """Schema of an object with these properties and no others."""
    schema: dict[str, Any] = {
        "type": "object",
        **more,
        "properties": properties,
        "additionalProperties": False,
    }
    return schema | {"required": list(required)} if required else schema


def _open(*required: str, **properties: dict[str, Any]) -> dict[str, Any]:
    """Schema of an answer: later versions may say more."""
    return {"type": "object", "properties": properties, "required": list(required)}


def _intent(limits: Limits, description: str) -> dict[str, Any]:
    return {
        "type": "string",
        "title": "a sentence that says what is wanted",
        "pattern": r"\S",
        "maxLength": limits.message_chars,
        "description": description,
    }


def _discover(limits: Limits) -> Tool:
    defaults = DiscoverRequest(intent="x")
    properties = {
        "intent": _intent(limits, "What you want done, in a sentence, or the name of a tool."),
        "filter": _closed(
            {
                "type": {"enum": ["tool", "capability", "all"], "default": defaults.filter.type},
                "minScore": {"type": "number", "minimum": 0, "maximum": 1},
            }
        ),
        "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": defaults.limit},
        "offset": {"type": "integer", "minimum": 0, "default": 0},
        "detail": {
            "enum": ["full", "brief", "types"],
            "default": defaults.detail,
            "description": "brief: no JSON Schemas, code shortened; types: TypeScript instead.",
        },
    }
    return Tool(
        name=DISCOVER,
        title="Find tools and capabilities",
        description=(
            "Find what can do a task: one ranking of the tools of all connected servers and of "
            "learned capabilities (procedures that worked before), each with a TypeScript "
            f"signature, score, schemas or code. Call it before {EXECUTE} when you do not know "
            "the exact tool. Nothing is run."
        ),
        input_schema=_closed(properties, "intent"),
        output_schema=_open(
            "results",
            "total",
            results={
                "type": "array",
                "items": _open(
                    "type",
                    "id",
                    "name",
                    "score",
                    "signature",
                    type={"enum": ["tool", "capability"]},
                    id=_TEXT,
                    name=_TEXT,
                    score=_NUMBER,
                    description=_TEXT,
                    signature=_TEXT,
                    declaration=_TEXT,
                    reasons=_STRINGS,
                    toolSchemas=_OBJECT,
                    source=_OBJECT,
                    parameters=_OBJECTS,
                    track=_OBJECT,
                ),
            },
            total=_COUNT,
            nextOffset=_COUNT,
            notes=_STRINGS,
        ),
        annotations=ToolAnnotations(
            read_only_hint=True, idempotent_hint=True, open_world_hint=False
        ),
    )


def _execute(limits: Limits) -> Tool:
    args = {
        "type": "object",
        "description": "Values that the code reads as `args.name`, or parameters of a capability.",
    }
    timeout = {
        "type": "integer",
        "title": "a number of milliseconds",
        "minimum": 1,
        "maximum": limits.max_timeout_ms,
        "default": DEFAULT_TIMEOUT_MS,
    }
    properties = {
        "intent": _intent(
            limits, "What the code is for, in a sentence; it is found again under these words."
        ),
        "code": {
            "type": "string",
            "description": (
                "Plain TypeScript, without Markdown fences: the body of an async function. Call "
                "tools with `await mcp.server.tool({...})`, capabilities with `await "
                "capabilities.name({...})`, and `return` what you want to see: without return the "
                "result is null, and console.log is not returned. No imports, files or network but "
                "through tools."
            ),
        },
        "dag": {
            "type": "object",
            "description": (
                'Instead of code: {"tasks": [{"id", "tool": "server:tool", "arguments", '
                '"depends_on": [id]}]}; "$OUTPUT[id].path" in arguments is what a task returned.'
            ),
        },
        "options": _closed({"timeout": timeout, "args": args, **_DRY_RUN}),
        "context": {"type": "object", "description": "The same as options.args."},
    }
    return Tool(
        name=EXECUTE,
        title="Run a program or a known capability",
        description=(
            "Run a TypeScript program that calls tools, in a sandbox, and return its result with "
            "one entry per call. What succeeds is kept as a capability that can be run again with "
            "other arguments. Without code, the intent alone runs the capability that clearly "
            "matches, with args bound to its parameters; otherwise you get suggestions and "
            "nothing runs. A capability's exact name as the intent means that one for sure. "
            f"Of a result above {limits.answer_bytes:,} bytes of JSON you get resultPreview and "
            f"resultChars instead: read it with {GET_TASK_RESULT}. status approval_required means "
            "that a person has to allow a tool first, plan says what would run; in_doubt means "
            "that a write may or may not have happened: check before you repeat it."
        ),
        input_schema=_closed(properties, "intent"),
        output_schema=_open(
            "status",
            status={"type": "string", "pattern": STATUS},
            workflowId=_TEXT,
            result=_ANY,
            resultPreview=_TEXT,
            resultChars=_COUNT,
            capabilityId=_TEXT,
            traceId=_TEXT,
            mode={"enum": ["direct", "speculation"]},
            executionTimeMs=_NUMBER,
            tasks=_OBJECTS,
            tool_failures=_OBJECTS,
            inDoubt=_OBJECTS,
            approvals=_OBJECTS,
            plan=_OBJECT,
            suggestions=_OBJECT,
            diagnostics=_OBJECTS,
            warnings=_STRINGS,
            error=_open("code", "message", code=_TEXT, message=_TEXT),
            dag=_OBJECT,
        ),
        annotations=ToolAnnotations(
            read_only_hint=False,
            destructive_hint=True,
            idempotent_hint=False,
            open_world_hint=True,
        ),
    )


_DRY_RUN: dict[str, Any] = {
    "dryRun": {
        "type": "boolean",
        "default": False,
        "description": "Tools that change anything are not called and answer with mocks.",
    },
    "dryRunMocks": {
        "type": "object",
        "description": "Those mocks, by server:tool or pattern; a list has one per call.",
    },
}


def _get_task_result() -> Tool:
    defaults = TaskResultRequest(workflow_id="x", task_id="x")
    properties = {
        "workflow_id": {**_TEXT, "description": f"workflowId of the answer of {EXECUTE}."},
        "task_id": {
            **_TEXT,
            "description": "taskId of one of its tasks (`n3`), or `result` for the whole result.",
        },
        "offset": {"type": "integer", "minimum": 0, "default": 0, "description": "In characters."},
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": 100_000,
            "default": defaults.limit,
            "description": "In characters.",
        },
        "format": {
            "enum": ["raw", "pretty"],
            "default": defaults.format,
            "description": "pretty indents the JSON.",
        },
    }
    return Tool(
        name=GET_TASK_RESULT,
        title="Read a whole result",
        description=(
            "Read the whole result of one call of a run, page by page; answers of "
            f"{EXECUTE} hold only the first characters of each, and of a large result of the "
            "program. Results expire after about an hour."
        ),
        input_schema=_closed(properties, "workflow_id", "task_id"),
        output_schema=_open(
            "workflowId",
            "taskId",
            "text",
            "offset",
            "totalChars",
            "expiresAtMs",
            workflowId=_TEXT,
            taskId=_TEXT,
            text=_TEXT,
            offset=_COUNT,
            totalChars=_COUNT,
            nextOffset=_COUNT,
            expiresAtMs=_COUNT,
        ),
        annotations=ToolAnnotations(
            read_only_hint=True, idempotent_hint=True, open_world_hint=False
        ),
    )
