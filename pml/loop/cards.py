"""What discovery shows of a tool and of a capability, and what the index reads of them.  Pure."""

import msgspec

from pml.analysis.declarations import Callable, Declarations
from pml.analysis.signature import capability_signature, signature
from pml.discovery.entry import Entry
from pml.domain.capability import Capability, PastIntent
from pml.domain.discovery import (
    PREVIEW_CHARS,
    CapabilityCode,
    Discovered,
    Found,
    ToolSchemas,
    Track,
)
from pml.domain.tools import Tool


def tool_entry(tool: Tool) -> Entry:
    """What a tool is found by."""
    properties = tool.input_schema.get("properties")
    names = " ".join(properties) if isinstance(properties, dict) else ""
    return Entry(
        id=tool.id,
        kind=Found.TOOL,
        name=f"{tool.server}.{tool.name}",
        text=f"{tool.description} {names}",
        servers=(tool.server,),
    )


def capability_entry(capability: Capability, intents: tuple[PastIntent, ...]) -> Entry:
    """What a capability is found by."""
    tools = capability.structure.tools()
    parameters = " ".join(parameter.name for parameter in capability.parameters)
    return Entry(
        id=capability.id,
        kind=Found.CAPABILITY,
        name=capability.name,
        text=f"{capability.intent} {capability.description} {' '.join(tools)} {parameters}",
        tools=tools,
        servers=tuple(dict.fromkeys(tool.partition(":")[0] for tool in tools)),
        intents=intents,
    )


def tool_card(tool: Tool) -> Discovered:
    """A tool as a result without a rank."""
    return Discovered(
        type=Found.TOOL,
        id=tool.id,
        name=f"{tool.server}.{tool.name}",
        score=0.0,
        description=tool.description,
        signature=signature(tool),
        tool_schemas=ToolSchemas(
            input_schema=tool.input_schema,
            output_schema=tool.output_schema,
            observed_schema=tool.observed_schema,
        ),
    )


def capability_card(capability: Capability) -> Discovered:
    """A capability as a result without a rank."""
    return Discovered(
        type=Found.CAPABILITY,
        id=capability.id,
        name=capability.name,
        score=0.0,
        description=capability.description or capability.intent,
        signature=capability_signature(capability.name, capability.parameters),
        source=CapabilityCode(
            type=capability.source, code=capability.code, tools=capability.structure.tools()
        ),
        parameters=capability.parameters,
        track=Track(
            usage_count=capability.usage_count,
            success_rate=capability.success_rate,
            lifecycle=capability.lifecycle,
            stale=capability.stale,
        ),
    )


def brief(card: Discovered) -> Discovered:
    """The card without schemas, its code shortened: the signature says the same."""
    source = card.source
    if source is not None and len(source.code) > PREVIEW_CHARS:
        shortened = source.code[: PREVIEW_CHARS - 1] + "…"
        source = msgspec.structs.replace(source, code=shortened)
    return msgspec.structs.replace(card, tool_schemas=None, source=source)


def typed(card: Discovered) -> Discovered:
    """The card with declarations in place of schemas, its code shortened."""
    if card.tool_schemas is None:
        known = Callable(name=card.name, description=card.description, parameters=card.parameters)
        made = Declarations().capability(known)
    else:
        server, _, name = card.id.partition(":")
        schemas = card.tool_schemas
        tool = Tool(
            server=server,
            name=name,
            description=card.description,
            input_schema=schemas.input_schema,
            output_schema=schemas.output_schema,
            observed_schema=schemas.observed_schema,
        )
        made = Declarations().tool(tool)
    return msgspec.structs.replace(brief(card), declaration=made, parameters=())
