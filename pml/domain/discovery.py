"""What is asked of discovery and what it answers: `pml_discover` (MCP-1)."""

from enum import StrEnum
from typing import Annotated, Any, Literal

import msgspec

from pml.domain.capability import CapabilityParameter, CapabilitySource, Lifecycle, Rate
from pml.domain.record import Count, Ordinal, Record

PREVIEW_CHARS = 600
"""Of a capability's code in a brief result."""


class Found(StrEnum):
    """What a result is."""

    TOOL = "tool"
    CAPABILITY = "capability"


class DiscoverFilter(Record, frozen=True, kw_only=True):
    """What of the ranking is wanted."""

    type: Literal["tool", "capability", "all"] = "all"
    min_score: Rate = 0.0


class DiscoverRequest(Record, frozen=True, kw_only=True):
    """One question; results ``offset`` to ``offset + limit`` of the ranking."""

    intent: str
    filter: DiscoverFilter = DiscoverFilter()
    limit: Annotated[int, msgspec.Meta(ge=1, le=100)] = 10
    offset: Count = 0
    detail: Literal["full", "brief", "types"] = "full"
    """``brief`` leaves out JSON Schemas and shortens code: the signature says the same.
    ``types`` gives TypeScript declarations, which say all that the schemas say, in their place."""


class ToolSchemas(Record, frozen=True, kw_only=True):
    """JSON Schemas of a tool, as its server gives them."""

    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None = None
    observed_schema: dict[str, Any] | None = None
    """Learned from results, where the server declares no output schema (SA-10)."""


class CapabilityCode(Record, frozen=True, kw_only=True):
    """What a capability is made of."""

    type: CapabilitySource
    code: str
    """The program; in a brief result its first `PREVIEW_CHARS` characters."""
    tools: tuple[str, ...] = ()


class Track(Record, frozen=True, kw_only=True):
    """How a capability has done so far."""

    usage_count: Count
    success_rate: Rate
    lifecycle: Lifecycle
    stale: bool = False


class Discovered(Record, frozen=True, kw_only=True):
    """One result: a tool or a capability, with all that is needed to call it."""

    type: Found
    id: str
    """``server:tool``, or the capability's id."""
    name: str
    """As it stands in code: ``server.tool``, or the capability's name."""
    score: Rate
    """Share of the best possible fused rank; 1 for an exact name."""
    description: str = ""
    signature: str
    """In TypeScript, on one line."""
    declaration: str = ""
    """In TypeScript, with all levels and comments; only where ``detail`` is ``types``."""
    reasons: tuple[str, ...] = ()
    """Why it stands here."""
    missing: tuple[str, ...] = ()
    """Required arguments that the request does not give; only in suggestions."""
    tool_schemas: ToolSchemas | None = None
    source: CapabilityCode | None = None
    parameters: tuple[CapabilityParameter, ...] = ()
    """Of a capability."""
    track: Track | None = None
    """Of a capability."""


class DiscoverResponse(Record, frozen=True, kw_only=True):
    """A part of the ranking."""

    results: tuple[Discovered, ...]
    total: Count
    """Results that pass the filter."""
    next_offset: Ordinal | None = None
    """Where the next part begins; absent after the last."""
    notes: tuple[str, ...] = ()
    """What could not be searched, such as a server that does not answer."""
