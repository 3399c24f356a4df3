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
from pml.domain.task_result import TaskResultRequest
from pml.serve.schemas import (
    COUNT,
    NUMBER,
    OBJECT,
    OBJECTS,
    RUN_ANSWER,
    STRINGS,
    TEXT,
    closed,
    opened,
    timeout,
)
from pml.serve.steering_tools import ABORT, APPROVAL_RESPONSE, CONTINUE, REPLAN, steering_tools

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
    f"Use {GET_TASK_RESULT} where a preview of a result is not enough.\n"
    "Where a run waits, its answer says for what, and how to go on with "
    f"{CONTINUE}, {REPLAN}, {ABORT} or {APPROVAL_RESPONSE}."
)


def tool_definitions(limits: Limits) -> tuple[Tool, ...]:
    """The default tools, with the limits of this installation in their schemas."""
    return (_discover(limits), _execute(limits), _get_task_result(), *steering_tools(limits))


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
        "intent": _intent(limits, "Or the name of a tool."),
        "filter": closed(
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
            "description": "brief: no JSON Schemas, code shortened; types: TypeScript.",
        },
    }
    return Tool(
        name=DISCOVER,
        title="Find tools and capabilities",
        description=(
            "Find what can do a task: one ranking of the tools of all servers and of learned "
            "capabilities (procedures that worked before), each with a TypeScript signature, "
            f"schemas or code. Call it before {EXECUTE} unless you know the exact tool. Nothing "
            "is run."
        ),
        input_schema=closed(properties, "intent"),
        output_schema=opened(
            "results",
            "total",
            results={
                "type": "array",
                "items": opened(
                    "type",
                    "id",
                    "name",
                    "score",
                    "signature",
                    type={"enum": ["tool", "capability"]},
                    id=TEXT,
                    name=TEXT,
                    score=NUMBER,
                    description=TEXT,
                    signature=TEXT,
                    declaration=TEXT,
                    reasons=STRINGS,
                    toolSchemas=OBJECT,
                    source=OBJECT,
                    parameters=OBJECTS,
                    track=OBJECT,
                ),
            },
            total=COUNT,
            nextOffset=COUNT,
            notes=STRINGS,
        ),
        annotations=ToolAnnotations(
            read_only_hint=True, idempotent_hint=True, open_world_hint=False
        ),
    )


def _execute(limits: Limits) -> Tool:
    args = {
        "type": "object",
        "description": "What code reads as `args.name`, or parameters of a capability.",
    }
    properties = {
        "intent": _intent(limits, "What the code is for; it is found again under these words."),
        "code": {
            "type": "string",
            "description": (
                "Plain TypeScript, without Markdown fences: the body of an async function. Call "
                "tools with `await mcp.server.tool({...})`, capabilities with `await "
                "capabilities.name({...})`, and `return` what you want to see: console.log is not "
                "returned. No imports, files or network but through tools."
            ),
        },
        "dag": {
            "type": "object",
            "description": (
                'Instead of code: {"tasks": [{"id", "tool": "server:tool", "arguments", '
                '"depends_on": [id]}]}; "$OUTPUT[id].path" in arguments is what a task returned.'
            ),
        },
        "options": closed(
            {
                "timeout": timeout(limits),
                "args": args,
                "per_layer_validation": {
                    "type": "boolean",
                    "default": False,
                    "description": "Pause after each layer (status layer_complete).",
                },
                **_DRY_RUN,
            }
        ),
        "context": {"type": "object", "description": "As options.args."},
    }
    return Tool(
        name=EXECUTE,
        title="Run a program or a known capability",
        description=(
            "Run a TypeScript program that calls tools, and return its result with one entry per "
            "call. What succeeds is kept as a capability. Without code, the intent alone runs the "
            "capability that clearly matches, with args bound to its parameters, or suggests; a "
            "capability's exact name as the intent means that one for sure. Of a result above "
            f"{limits.answer_bytes:,} bytes you get resultPreview: read it with {GET_TASK_RESULT}. "
            "Where a run waits (approval_required, layer_complete, in_doubt), the answer says for "
            "what; in_doubt: a write may or may not have happened, do not repeat it."
        ),
        input_schema=closed(properties, "intent"),
        output_schema=RUN_ANSWER,
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
        "workflow_id": TEXT,
        "task_id": {**TEXT, "description": "`n3`, or `result` for the whole result."},
        "offset": {"type": "integer", "minimum": 0, "default": 0},
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": 100_000,
            "default": defaults.limit,
        },
        "format": {"enum": ["raw", "pretty"], "default": defaults.format},
    }
    return Tool(
        name=GET_TASK_RESULT,
        title="Read a whole result",
        description=(
            "Read the whole result of one call of a run, or of the program, by pages of "
            "characters; answers hold only the first ones. Results expire after about an hour."
        ),
        input_schema=closed(properties, "workflow_id", "task_id"),
        output_schema=opened(
            "workflowId",
            "taskId",
            "text",
            "offset",
            "totalChars",
            "expiresAtMs",
            workflowId=TEXT,
            taskId=TEXT,
            text=TEXT,
            offset=COUNT,
            totalChars=COUNT,
            nextOffset=COUNT,
            expiresAtMs=COUNT,
        ),
        annotations=ToolAnnotations(
            read_only_hint=True, idempotent_hint=True, open_world_hint=False
        ),
    )
