"""Tools of upstream servers, and what is known of them before a run."""

import hashlib
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Any

import msgspec

from pml.domain.record import Record


class Tool(Record, frozen=True, kw_only=True):
    """One operation of an upstream MCP server."""

    server: str
    name: str
    description: str = ""
    input_schema: dict[str, Any] = msgspec.field(default_factory=lambda: {"type": "object"})
    output_schema: dict[str, Any] | None = None
    observed_schema: dict[str, Any] | None = None
    """Learned from results, as code sees them, where the server declares no output schema; not
    part of what the server said, so it does not change `schema_hash`."""
    annotations: dict[str, Any] = {}  # noqa: RUF012
    changed: tuple[str, ...] = ()
    """What differs from the version that was accepted (`changes_of`); not empty: the tool is
    quarantined (HIL-5).  The store says it, not the server."""

    @property
    def id(self) -> str:
        """``server:tool``."""
        return f"{self.server}:{self.name}"

    @property
    def result_schema(self) -> dict[str, Any] | None:
        """What is known of results: declared by the server, else learned (SA-10)."""
        return self.observed_schema if self.output_schema is None else self.output_schema

    def schema_hash(self) -> str:
        """SHA-256 of everything that describes the tool; differs when any of it changes."""
        parts = [self.name, self.description, self.input_schema, self.output_schema]
        parts.append(self.annotations)
        return hashlib.sha256(msgspec.json.encode(parts, order="deterministic")).hexdigest()

    def wraps_result(self) -> bool:
        """Whether structured content is the SDK's wrapper ``{result: x}`` of a non-object (EX-1).

        Structured content must be an object, so the SDK wraps whatever else a tool returns
        and titles the schema ``<function>Output``.  A field ``result`` that the server's
        author declared is the author's, and is not unwrapped.
        """
        schema = self.output_schema
        if schema is None or set(schema.get("properties") or ()) != {"result"}:
            return False
        if schema.get("x-fastmcp-wrap-result") is True:
            return True
        inner = schema["properties"]["result"]
        return (
            str(schema.get("title", "")).endswith("Output")
            and schema.get("required") == ["result"]
            and isinstance(inner, dict)
            and inner.get("title") == "Result"
            and inner.get("type") != "object"
        )


def changes_of(accepted: Tool, now: Tool) -> tuple[str, ...]:
    """Which parts of what describes a tool differ, in words; empty where none does (HIL-5)."""
    parts = {
        "description": (accepted.description, now.description),
        "input schema": (accepted.input_schema, now.input_schema),
        "output schema": (accepted.output_schema, now.output_schema),
        "annotations": (accepted.annotations, now.annotations),
    }
    return tuple(
        name
        for name, (before, after) in parts.items()
        if msgspec.json.encode(before, order="deterministic")
        != msgspec.json.encode(after, order="deterministic")
    )


def matches(pattern: str, tool_name: str) -> bool:
    """Whether a pattern of a configuration means the tool; only ``*`` and ``?`` are special."""
    return fnmatchcase(tool_name, pattern.replace("[", "[[]"))


class Catalog:
    """The tools that a program may name, by server.

    Invariant: a server without tools is still known (it answered with none).
    """

    def __init__(self, servers: Mapping[str, Iterable[Tool]]) -> None:
        self.servers: Mapping[str, Mapping[str, Tool]] = MappingProxyType(
            {
                server: MappingProxyType({tool.name: tool for tool in tools})
                for server, tools in servers.items()
            }
        )

    def find(self, tool_id: str) -> Tool | None:
        """The tool with the id ``server:tool``, or None."""
        server, _, name = tool_id.partition(":")
        return self.servers.get(server, {}).get(name)

    def tools_of(self, server: str) -> Iterable[str]:
        """Names of the tools of ``server``; none where it is unknown."""
        return self.servers.get(server, {})
