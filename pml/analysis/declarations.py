"""TypeScript declarations of everything that a program can use: ``pml.d.ts``.  Pure.

What `pml.analysis.signature` says in a line, this says in full, with comments: for editors,
for the type check of a program, and for an agent that asks for more than a signature.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from pml.analysis.schema_types import (
    Detail,
    Names,
    SchemaTypes,
    identifier,
    mapping,
    notes_of,
    required,
)
from pml.analysis.signature import callee, result_of
from pml.analysis.typescript import (
    UNKNOWN,
    Member,
    ObjectOf,
    Spelling,
    Type,
    access,
    comment,
    key,
    quoted,
)
from pml.domain.capability import CAPABILITY_SERVER, CapabilityParameter
from pml.domain.structure import SPREAD
from pml.domain.tools import Tool

_STEP = "  "
_CONSTRUCTORS = frozenset({"new", "constructor"})
"""Names that mean something else where a type lists a method."""
_CAPABILITIES = f"declare const {CAPABILITY_SERVER}: "
_OBSERVED = "@returns as observed in earlier results; the server declares nothing"
_BUILT_IN = """\
// Written by `pml tools --dts`: everything that a program which PML runs can use.

/** What a tool call throws where the tool fails or may not be called. */
declare class ToolError extends Error {
  /** `server:tool`. */
  readonly tool: string;
  /** `tool_error`, `unknown_tool`, `not_permitted`, `unavailable`, `timeout`... */
  readonly code: string;
  /** What the server said beside the message. */
  readonly data: any;
}
/** Arguments of the run. */
declare const args: any;"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Callable:
    """A capability as `capabilities` offers it."""

    name: str
    description: str = ""
    parameters: tuple[CapabilityParameter, ...] = ()


@dataclass(slots=True)
class Declarations:
    """Writes declarations; every name of a type is used once in all of them.

    Args:
        lenient: for the check of programs: what nobody knows is ``any``, which every use fits,
            and an observed object may have more than was seen so far.
    """

    lenient: bool = False
    _names: Names = field(default_factory=lambda: Names(set()))

    def file(
        self, servers: Mapping[str, Iterable[Tool]], capabilities: Iterable[Callable] = ()
    ) -> str:
        """All of ``pml.d.ts``."""
        tools = [line for server, each in servers.items() for line in self._server(server, each)]
        known = [
            line
            for capability in sorted(capabilities, key=lambda one: one.name)
            for line in self._capability(capability)
        ]
        types = "\n".join(self._definitions())
        parts = [_BUILT_IN, types, _block("declare const mcp: ", tools)]
        return "\n\n".join(filter(None, [*parts, _block(_CAPABILITIES, known)])) + "\n"

    def tool(self, tool: Tool) -> str:
        """One tool: the types that it needs, its comment, and its signature in full."""
        lines = self._tool(tool, "", callee(tool))
        return "\n".join([*self._definitions(), *lines]).rstrip(";")

    def capability(self, capability: Callable) -> str:
        """One capability, likewise."""
        where = CAPABILITY_SERVER + access(capability.name)
        return "\n".join(self._capability(capability, "", where)).rstrip(";")

    def _server(self, name: str, tools: Iterable[Tool]) -> list[str]:
        within = [line for tool in tools for line in self._tool(tool, _STEP * 2)]
        return [_block(f"{_STEP}readonly {key(name)}: ", within, _STEP)]

    def _definitions(self) -> list[str]:
        spelling = self._spelling()
        made = [
            f"type {name} = {spelling.of(one)};" for name, one in self._names.definitions.items()
        ]
        self._names.definitions.clear()
        return made

    def _spelling(self) -> Spelling:
        return Spelling(anything="any" if self.lenient else "unknown", several_lines=True)

    def _tool(self, tool: Tool, indent: str, name: str | None = None) -> list[str]:
        self._names.prefix = f"{identifier(tool.server)}_{identifier(tool.name)}"
        given = self._arguments(tool.input_schema, indent)
        root, schema = result_of(tool)
        seen = tool.output_schema is None and tool.observed_schema is not None
        detail = Detail(stay_open=self.lenient and seen)
        result = SchemaTypes(root, detail, names=self._names).of(schema)
        notes = [tool.description, *([_OBSERVED] if seen else [])]
        return self._call(notes, name or _method(tool.name), given, result, indent)

    def _call(
        self, notes: Iterable[str], name: str, given: str, result: Type, indent: str
    ) -> list[str]:
        made = self._spelling().of(result, indent)
        return [*comment(notes, indent), f"{indent}{name}({given}): Promise<{made}>;"]

    def _arguments(self, schema: Mapping[str, Any], indent: str) -> str:
        """The parameter list: a tool takes one object, which may be left out if nothing is needed.

        Names that the schema does not list are refused unless it speaks of them: they are
        mostly misspelt.
        """
        types = SchemaTypes(schema, Detail(), names=self._names)
        made = types.of({"type": "object", **schema})
        if made == ObjectOf((), UNKNOWN) and "properties" in schema:
            made = ObjectOf((), None)
        question = "" if required(schema) else "?"
        return f"args{question}: {self._spelling().of(made, indent)}"

    def _capability(
        self, capability: Callable, indent: str = _STEP, name: str | None = None
    ) -> list[str]:
        given = ""
        if capability.parameters:
            members = tuple(self._parameter(p) for p in capability.parameters if p.name != SPREAD)
            is_open = len(members) < len(capability.parameters)
            made = ObjectOf(members, UNKNOWN if is_open else None)
            question = "?" if all(member.optional for member in members) else ""
            given = f"args{question}: {self._spelling().of(made, indent)}"
        written = _method(capability.name) if name is None else name
        return self._call([capability.description], written, given, UNKNOWN, indent)

    def _parameter(self, parameter: CapabilityParameter) -> Member:
        schema = {key: value for key, value in parameter.schema.items() if key != "default"}
        notes = notes_of(mapping(schema))
        if parameter.default is not msgspec.UNSET:
            notes = (*notes, f"Default: {quoted(parameter.default)}.")
        made = SchemaTypes(parameter.schema, Detail()).of(parameter.schema)
        return Member(parameter.name, made, not parameter.required, notes=notes)


def _block(head: str, within: list[str], indent: str = "") -> str:
    return "\n".join([head + "{", *within, indent + "};"]) if within else head + "{};"


def _method(name: str) -> str:
    return quoted(name) if name in _CONSTRUCTORS else key(name)
