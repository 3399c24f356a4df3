"""A call as a line of TypeScript (MCP-2): readable, bounded, always parseable."""

# ruff: noqa: E501  # schemas and their types, a row each

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.analysis.signature import callee, capability_signature, signature
from pml.analysis.syntax import Source
from pml.domain.capability import CapabilityParameter
from pml.domain.tools import Tool

TYPES: dict[str, tuple[Any, str]] = {
    "scalars": ({"type": ["string", "null"]}, "string | null"),
    "integer": ({"type": "integer", "minimum": 1}, "number"),
    "enum": ({"enum": ["a", 1, None, True]}, '"a" | 1 | null | true'),
    "many values": ({"enum": list(range(50))}, "number"),
    "const": ({"const": "x"}, '"x"'),
    "array": ({"type": "array", "items": {"type": ["string", "number"]}}, "(string | number)[]"),
    "array of anything": ({"type": "array"}, "unknown[]"),
    "tuple": ({"prefixItems": [{"type": "string"}, {}], "items": False}, "[string?, unknown?]"),
    "whole tuple": ({"prefixItems": [{"type": "string"}, {}], "items": False, "minItems": 2}, "[string, unknown]"),
    "tuple of draft 7": ({"items": [{"type": "string"}], "additionalItems": {"type": "number"}}, "[string?, ...number[]]"),
    "open tuple": ({"type": "array", "prefixItems": [{"type": "string"}]}, "[string?, ...unknown[]]"),
    "record": ({"type": "object", "additionalProperties": {"type": "number"}}, "Record<string, number>"),
    "patterns": ({"type": "object", "patternProperties": {"^a": {"type": "number"}}}, "Record<string, number>"),
    "nothing": ({"type": "object", "additionalProperties": False}, "Record<string, never>"),
    "object": (
        {"properties": {"a": {"type": "string"}, "b-c": {}}, "required": ["a"]},
        '{ a: string; "b-c"?: unknown }',
    ),
    "alternatives": ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "string | null"),
    "alternatives that only require": (
        {"type": "object", "properties": {"a": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        "{ a?: unknown }",
    ),
    "both": ({"allOf": [{"properties": {"a": True}}, {"properties": {"b": False}}]}, "{ a?: unknown } & { b?: never }"),
    "nullable": ({"type": "string", "nullable": True}, "string | null"),
    "reference": ({"$ref": "#/$defs/Name"}, "string"),
    "draft 7 reference": ({"$ref": "#/definitions/Flag"}, "boolean"),
    "recursive": (
        {"$ref": "#/$defs/Tree"},
        "{ kids?: { kids?: Record<string, unknown>[] }[] }",
    ),
    "endless": ({"$ref": "#/$defs/Loop"}, "unknown"),
    "elsewhere": ({"$ref": "https://example.org/schema"}, "unknown"),
    "true": (True, "unknown"),
    "false": (False, "never"),
    "nonsense": ("string", "unknown"),
}  # fmt: skip
DEFINED = {
    "$defs": {
        "Name": {"type": "string"},
        "Tree": {"properties": {"kids": {"items": {"$ref": "#/$defs/Tree"}}}},
        "Loop": {"$ref": "#/$defs/Loop"},
    },
    "definitions": {"Flag": {"type": "boolean"}},
}


def tool(input_schema: Any = None, output_schema: Any = None, **fields: str) -> Tool:  # noqa: ANN401
    named: dict[str, Any] = {"server": "fs", "name": "read", **fields}
    return Tool(input_schema=input_schema or {}, output_schema=output_schema, **named)


@pytest.mark.parametrize("name", TYPES)
def test_the_type_of_a_schema(name: str) -> None:
    schema, expected = TYPES[name]
    made = signature(tool({"properties": {"x": schema}, "required": ["x"], **DEFINED}))
    assert made == f"mcp.fs.read(args: {{ x: {expected} }}): Promise<unknown>"


def test_a_tool_with_arguments_and_a_result() -> None:
    text, number = {"type": "string"}, {"type": "number"}
    schema = {"type": "object", "properties": {"path": text, "head": number}, "required": ["path"]}
    result = {"type": "object", "properties": {"content": text}, "required": ["content"]}
    assert signature(tool(schema, result)) == (
        "mcp.fs.read(args: { path: string; head?: number }): Promise<{ content: string }>"
    )


def test_a_result_that_the_sdk_wrapped_is_unwrapped() -> None:
    wrapped = {
        "properties": {"result": {"type": "array", "items": {"type": "string"}}},
        "x-fastmcp-wrap-result": True,
    }
    assert signature(tool(None, wrapped)).endswith("): Promise<string[]>")


def test_what_was_learned_of_results_is_marked() -> None:
    """SA-10: no server promised it."""
    seen = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    learned = msgspec.structs.replace(tool(), observed_schema=seen)
    assert signature(learned).endswith("): Promise<{ n: number } /* observed */>")
    declared = msgspec.structs.replace(learned, output_schema={"type": "object"})
    assert signature(declared).endswith("): Promise<Record<string, unknown>>")


@pytest.mark.parametrize(
    ("schema", "given"),
    [
        ({"type": "object", "properties": {}}, ""),
        ({"type": "object", "additionalProperties": False}, ""),
        ({"type": "object"}, "args?: Record<string, unknown>"),
        ({"properties": {"a": {"type": "string"}}}, "args?: { a?: string }"),
    ],
)
def test_arguments_that_nobody_needs_may_be_left_out(schema: Any, given: str) -> None:  # noqa: ANN401
    assert signature(tool(schema)) == f"mcp.fs.read({given}): Promise<unknown>"


def test_names_that_are_no_identifiers_are_quoted() -> None:
    assert callee(tool(server="my-server", name='a."b')) == 'mcp["my-server"]["a.\\"b"]'
    assert callee(tool(server="fs", name="delete")) == "mcp.fs.delete"


def test_what_is_too_long_is_cut_to_what_is_needed() -> None:
    properties = {f"optional_{n}": {"type": "string"} for n in range(40)}
    schema = {"properties": {**properties, "needed": {"type": "number"}}, "required": ["needed"]}
    made = signature(tool(schema))
    assert made.startswith("mcp.fs.read(args: { needed: number; optional_0?: string; ")
    assert made.endswith("; [name: string]: unknown }): Promise<unknown>")
    assert len(made) <= 330


def test_a_capability_shows_its_defaults() -> None:
    """SA-9."""
    parameters = (
        CapabilityParameter(name="repo", schema={"type": "string"}, required=True),
        CapabilityParameter(name="path", schema={"type": "string"}, default="n.txt", lifted=True),
        CapabilityParameter(name="odd", default="*/ x", lifted=True),
        CapabilityParameter(name="long", default=["x" * 100], lifted=True),
        CapabilityParameter(name="..."),
    )
    assert capability_signature("read_notes", parameters) == (
        'capabilities.read_notes(args: { repo: string; path?: string /* "n.txt" */; odd?: unknown /* "* / x" */; '
        f'long?: unknown /* ["{"x" * 37}… */; [name: string]: unknown }}): Promise<unknown>'
    )
    assert capability_signature("now", ()) == "capabilities.now(): Promise<unknown>"
    optional = capability_signature("f", parameters[1:2])
    assert optional == 'capabilities.f(args?: { path?: string /* "n.txt" */ }): Promise<unknown>'


words = st.sampled_from(["get", "set", "new", "async", "static", "readonly", "constructor", "in", "a-b", "1", "type", "is"]) | st.text(max_size=6)  # fmt: skip
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=60)
kinds = st.sampled_from(
    ["string", "number", "integer", "boolean", "null", "array", "object", "odd"]
)
references = st.sampled_from(
    ["#", "#/$defs/a", "#/$defs/b", "#/properties/x", "https://x", "#/%zz"]
)


def _schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    named = st.dictionaries(words, inner, max_size=4)
    listed = st.lists(inner, max_size=4)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": kinds | st.lists(kinds, max_size=3) | scalars,
            "properties": named | scalars,
            "required": st.lists(words, max_size=3) | scalars,
            "additionalProperties": inner,
            "patternProperties": named,
            "items": inner | listed,
            "prefixItems": listed | scalars,
            "additionalItems": inner,
            "anyOf": listed,
            "oneOf": listed | scalars,
            "allOf": listed,
            "enum": st.lists(scalars, max_size=15) | scalars,
            "const": scalars,
            "nullable": scalars,
            "$ref": references | scalars,
            "title": st.just("readOutput"),
        },
    )


schemas: st.SearchStrategy[Any] = st.recursive(
    st.booleans() | scalars | st.just({}), _schemas, max_leaves=12
)
roots = st.tuples(_schemas(schemas), st.dictionaries(st.sampled_from("ab"), schemas)).map(
    lambda both: {**both[0], "$defs": both[1]}
)


def check_parses(made: str, called: str) -> None:
    assert made.startswith(called)
    assert "\n" not in made
    assert len(made) - len(called) <= 440
    source = Source(f"declare function f{made.removeprefix(called)};\n{called};")
    assert not list(source.problems()), made


@given(roots, st.none() | roots, words, words)
def test_every_signature_of_a_tool_parses(
    given_schema: Any, result: Any, server: str, name: str  # noqa: ANN401
) -> None:  # fmt: skip
    """A law: whatever a server sends."""
    made = tool(given_schema, result, server=server, name=name)
    check_parses(signature(made), callee(made))


@given(st.lists(st.tuples(words, roots, scalars, st.booleans()), max_size=5))
def test_every_signature_of_a_capability_parses(rows: list[Any]) -> None:
    parameters = tuple(
        CapabilityParameter(name=name, schema=schema, default=default, required=required)
        for name, schema, default, required in rows
    )
    check_parses(capability_signature("run_it", parameters), "capabilities.run_it")
