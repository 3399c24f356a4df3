"""What the conformance suite calls, offered by our endpoint's own app beside its own tools.

The suite judges a server by tools, prompts and resources of fixed names
(`test_simple_text`...).  They are registered on the server that `Endpoint` made, so that
what is judged is our transport, guard and dispatch, not a server of its own.
"""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as t
from mcp.server.context import ServerRequestContext
from mcp.shared.message import ServerMessageMetadata

from pml.serve.endpoint import Endpoint

Context = ServerRequestContext[Any, Any]
Content = dict[str, Any]
DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
EMPTY = {"type": "object", "properties": {}}
DIALECT = "https://json-schema.org/draft/2020-12/schema"
SCHEMA_2020_12 = {
    "$schema": DIALECT,
    "type": "object",
    "$defs": {
        "address": {
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
    "additionalProperties": False,
}


def text(words: str) -> Content:
    return {"type": "text", "text": words}


def resource(uri: str, words: str, mime: str = "text/plain") -> Content:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime, "text": words}}


IMAGE = {"type": "image", "data": DOT, "mimeType": "image/png"}
FIXED: dict[str, list[Content]] = {
    "test_simple_text": [text("This is a simple text response for testing.")],
    "test_image_content": [IMAGE],
    "test_audio_content": [{"type": "audio", "data": SILENCE, "mimeType": "audio/wav"}],
    "test_embedded_resource": [
        resource("test://embedded-resource", "This is an embedded resource content.")
    ],
    "test_multiple_content_types": [
        text("Multiple content types test:"),
        IMAGE,
        resource(
            "test://mixed-content-resource", '{"test":"data","value":123}', "application/json"
        ),
    ],
    "json_schema_2020_12_tool": [text("kept")],
}
DEFAULTS: dict[str, Any] = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {
        "type": "string",
        "enum": ["active", "inactive", "pending"],
        "default": "active",
    },
    "verified": {"type": "boolean", "default": True},
}
OPTIONS = ["option1", "option2", "option3"]
TITLED = [{"const": f"value{n}", "title": f"Option {n}"} for n in (1, 2, 3)]
ENUMS: dict[str, Any] = {
    "untitledSingle": {"type": "string", "enum": OPTIONS},
    "titledSingle": {"type": "string", "oneOf": TITLED},
    "legacyEnum": {
        "type": "string",
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"],
    },
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": OPTIONS}},
    "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
}


async def logs(ctx: Context, _arguments: dict[str, Any]) -> list[Content]:
    for step in ("started", "processing data", "completed"):
        params = t.LoggingMessageNotificationParams(level="info", data=f"Tool {step}")
        note = t.LoggingMessageNotification(params=params)
        await ctx.session.send_notification(note, related_request_id=ctx.request_id)
    return [text("Tool with logging executed successfully")]


async def progresses(ctx: Context, _arguments: dict[str, Any]) -> list[Content]:
    for percent in (0, 50, 100):
        await ctx.session.report_progress(percent, 100, f"Completed step {percent} of 100")
    return [text("done")]


async def samples(ctx: Context, arguments: dict[str, Any]) -> list[Content]:
    message = t.SamplingMessage(
        role="user", content=t.TextContent(type="text", text=arguments["prompt"])
    )
    params = t.CreateMessageRequestParams(messages=[message], max_tokens=100)
    answer = await ctx.session.send_request(
        t.CreateMessageRequest(params=params),
        t.CreateMessageResult,
        metadata=ServerMessageMetadata(related_request_id=ctx.request_id),
    )
    assert isinstance(answer.content, t.TextContent)
    return [text(f"LLM response: {answer.content.text}")]


def elicits(words: str, properties: dict[str, Any]) -> "Runs":
    async def run(ctx: Context, arguments: dict[str, Any]) -> list[Content]:
        schema = {"type": "object", "properties": properties, "required": list(properties)}
        answer = await ctx.session.elicit_form(
            arguments.get("message", words), schema, related_request_id=ctx.request_id
        )
        said = json.dumps(answer.content)
        return [text(f"{words}: action={answer.action}, content={said}")]

    return run


async def reconnects(ctx: Context, _arguments: dict[str, Any]) -> list[Content]:
    """Closes its stream before it answers: the client has to take it up again."""
    assert ctx.close_sse_stream is not None
    await ctx.close_sse_stream()
    return [text("Reconnection test completed successfully.")]


async def fails(_ctx: Context, _arguments: dict[str, Any]) -> list[Content]:
    message = "This tool intentionally returns an error for testing"
    raise RuntimeError(message)


Runs = Callable[[Context, dict[str, Any]], Awaitable[list[Content]]]
RUNNING: dict[str, Runs] = {
    "test_tool_with_logging": logs,
    "test_tool_with_progress": progresses,
    "test_sampling": samples,
    "test_elicitation": elicits(
        "User response", {"response": {"type": "string", "description": "What the user says"}}
    ),
    "test_elicitation_sep1034_defaults": elicits("Elicitation completed", DEFAULTS),
    "test_elicitation_sep1330_enums": elicits("Elicitation completed", ENUMS),
    "test_error_handling": fails,
    "test_reconnection": reconnects,
}
RESOURCES: dict[str, Content] = {
    "test://static-text": {"text": "This is the content of the static text resource."},
    "test://static-binary": {"blob": DOT, "mimeType": "image/png"},
    "test://watched-resource": {"text": "Watched."},
}
PROMPTS: dict[str, list[Content]] = {
    "test_simple_prompt": [text("This is a simple prompt for testing.")],
    "test_prompt_with_arguments": [text("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")],
    "test_prompt_with_embedded_resource": [
        resource("test://example-resource", "Embedded resource content for testing."),
        text("Please process the embedded resource above."),
    ],
    "test_prompt_with_image": [IMAGE, text("Please analyze the image above.")],
}
PROMPT_ARGUMENTS = {
    "test_prompt_with_arguments": ["arg1", "arg2"],
    "test_prompt_with_embedded_resource": ["resourceUri"],
}


def register(endpoint: Endpoint) -> None:
    """Add the suite's tools, prompts and resources to those of the endpoint."""
    server = endpoint.server
    own_list, own_call = (server.get_request_handler(m) for m in ("tools/list", "tools/call"))
    assert own_list is not None
    assert own_call is not None

    async def list_tools(ctx: Context, params: t.PaginatedRequestParams) -> dict[str, Any]:
        own = await own_list.handler(ctx, params)
        assert isinstance(own, t.ListToolsResult)
        schemas = {"json_schema_2020_12_tool": SCHEMA_2020_12}
        tools = [
            {"name": name, "description": "A fixture.", "inputSchema": schemas.get(name, EMPTY)}
            for name in (*FIXED, *RUNNING)
        ]
        return {"tools": [*(tool.model_dump(by_alias=True) for tool in own.tools), *tools]}

    async def call_tool(ctx: Context, params: t.CallToolRequestParams) -> Any:  # noqa: ANN401
        if params.name in FIXED:
            return {"content": FIXED[params.name]}
        if params.name not in RUNNING:
            return await own_call.handler(ctx, params)
        try:
            return {"content": await RUNNING[params.name](ctx, params.arguments or {})}
        except RuntimeError as exc:
            return {"content": [text(str(exc))], "isError": True}

    server.add_request_handler("tools/list", t.PaginatedRequestParams, list_tools)
    server.add_request_handler("tools/call", t.CallToolRequestParams, call_tool)
    server.add_request_handler("prompts/list", t.PaginatedRequestParams, list_prompts)
    server.add_request_handler("prompts/get", t.GetPromptRequestParams, get_prompt)
    server.add_request_handler("resources/list", t.PaginatedRequestParams, list_resources)
    server.add_request_handler("resources/templates/list", t.PaginatedRequestParams, templates)
    server.add_request_handler("resources/read", t.ReadResourceRequestParams, read_resource)
    server.add_request_handler("resources/subscribe", t.SubscribeRequestParams, accept)
    server.add_request_handler("resources/unsubscribe", t.UnsubscribeRequestParams, accept)
    server.add_request_handler("logging/setLevel", t.SetLevelRequestParams, accept)
    server.add_request_handler("completion/complete", t.CompleteRequestParams, complete)


async def list_prompts(_ctx: Context, _params: object) -> dict[str, Any]:
    return {
        "prompts": [
            {
                "name": name,
                "description": "A fixture.",
                "arguments": [
                    {"name": argument, "description": "A fixture.", "required": True}
                    for argument in PROMPT_ARGUMENTS.get(name, [])
                ],
            }
            for name in PROMPTS
        ]
    }


async def get_prompt(_ctx: Context, params: t.GetPromptRequestParams) -> dict[str, Any]:
    filled = json.dumps(PROMPTS[params.name])
    for name, value in (params.arguments or {}).items():
        filled = filled.replace("{" + name + "}", value)
    if "resourceUri" in (params.arguments or {}):
        filled = filled.replace("test://example-resource", (params.arguments or {})["resourceUri"])
    return {"messages": [{"role": "user", "content": content} for content in json.loads(filled)]}


async def list_resources(_ctx: Context, _params: object) -> dict[str, Any]:
    return {
        "resources": [
            {"uri": uri, "name": uri.removeprefix("test://"), "description": "A fixture."}
            for uri in RESOURCES
        ]
    }


async def templates(_ctx: Context, _params: object) -> dict[str, Any]:
    template = {"uriTemplate": "test://template/{id}/data", "name": "template"}
    return {"resourceTemplates": [template]}


async def read_resource(_ctx: Context, params: t.ReadResourceRequestParams) -> dict[str, Any]:
    uri = str(params.uri)
    known = RESOURCES.get(uri)
    if known is None:
        number = uri.removeprefix("test://template/").removesuffix("/data")
        data = {"id": number, "templateTest": True, "data": f"Data for ID: {number}"}
        known = {"text": json.dumps(data), "mimeType": "application/json"}
    return {"contents": [{"uri": uri, "mimeType": "text/plain"} | known]}


async def accept(_ctx: Context, _params: object) -> dict[str, Any]:
    return {}


async def complete(_ctx: Context, _params: object) -> dict[str, Any]:
    return {"completion": {"values": [], "total": 0, "hasMore": False}}
