"""Declarations of tools in TypeScript (SA-7, MCP-1): what TypeScript itself says of them."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from pml.analysis.declarations import Callable, Declarations
from pml.analysis.typescript import quoted
from pml.domain.capability import CapabilityParameter
from pml.domain.tools import Tool
from tests.analysis.deno_check import problems
from tests.analysis.schema_cases import Schema, cases, whole
from tests.analysis.test_signature import roots, words

in_batches = settings(
    max_examples=4, suppress_health_check=list(HealthCheck), phases=[Phase.generate]
)
"""TypeScript takes most of a second to start: each example is a list of many, none is shrunk."""
BATCH = 60


def tool(name: str = "read", **fields: Any) -> Tool:  # noqa: ANN401
    return Tool(server="fs", name=name, **fields)


def assignments(batch: list[tuple[Schema, list[Any], list[Any]]]) -> str:
    """A module that passes if each good value fits its type, and each bad one does not."""
    tools = [tool(f"t{n}", input_schema=whole(schema)) for n, (schema, _, _) in enumerate(batch)]
    lines = [Declarations().file({"fs": tools})]
    for n, (_, good, bad) in enumerate(batch):
        lines.append(f"type T{n} = Parameters<typeof mcp.fs.t{n}>[0]['x'];")
        for m, value in enumerate(good):
            lines.append(f"const good_{n}_{m}: T{n} = {quoted(value)};")
        for m, value in enumerate(bad):
            lines.append("// @ts-expect-error")
            lines.append(f"const bad_{n}_{m}: T{n} = {quoted(value)};")
    return "\n".join([*lines, "export {};"])


@in_batches
@given(st.lists(cases(exact=False), min_size=BATCH, max_size=BATCH))
def test_what_a_schema_allows_can_be_assigned(
    tmp_path_factory: pytest.TempPathFactory, batch: list[tuple[Schema, list[Any], list[Any]]]
) -> None:
    """A law: the type is never narrower than the schema."""
    text = assignments(batch)
    assert problems(text, tmp_path_factory.mktemp("types")) == "", text


@in_batches
@given(st.lists(cases(exact=True), min_size=BATCH, max_size=BATCH))
def test_what_a_schema_refuses_can_not_be_assigned(
    tmp_path_factory: pytest.TempPathFactory, batch: list[tuple[Schema, list[Any], list[Any]]]
) -> None:
    """The same in the other direction, where TypeScript can say all that the schema says."""
    text = assignments(batch)
    assert problems(text, tmp_path_factory.mktemp("types")) == "", text


@in_batches
@given(
    st.lists(st.tuples(roots, st.none() | roots, words, st.text(max_size=20)), max_size=BATCH),
    st.lists(st.tuples(words, roots, st.booleans()), max_size=5),
    words,
    st.booleans(),
)
def test_whatever_a_server_sends_the_declarations_are_valid(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[Any],
    inputs: list[Any],
    server: str,
    lenient: bool,
) -> None:
    """A law."""
    tools = {
        name: Tool(
            server=server, name=name, description=about, input_schema=given, output_schema=result
        )
        for given, result, name, about in rows
    }
    parameters = {
        name: CapabilityParameter(name=name, schema=schema, required=needed)
        for name, schema, needed in inputs
    }
    known = Callable(name="run_it", description="*/", parameters=tuple(parameters.values()))
    text = Declarations(lenient=lenient).file({server: tools.values()}, [known])
    assert problems(text + "export {};", tmp_path_factory.mktemp("types")) == "", text


TREE: Schema = {
    "type": "object",
    "properties": {
        "root": {"$ref": "#/$defs/Node"},
        "kind": {"enum": ["a", 2], "description": "Of */ all.", "default": "a"},
        "size": {"type": "integer", "minimum": 1, "maximum": 9},
        "tags": {"type": "object", "additionalProperties": {"type": "string"}},
        "id": {"type": "string", "readOnly": True, "deprecated": True},
    },
    "required": ["root"],
    "$defs": {"Node": {"properties": {"kids": {"items": {"$ref": "#/$defs/Node"}}}}},
}


def test_a_tool_in_full() -> None:
    made = Declarations().tool(tool("get-tree", description="Gets.", input_schema=TREE))
    assert (
        made
        == """\
type Fs_GetTree_Node = { kids?: Fs_GetTree_Node[] };
/** Gets. */
mcp.fs["get-tree"](args: {
  root: Fs_GetTree_Node;
  /**
   * Of *\\/ all.
   * Default: "a".
   */
  kind?: "a" | 2;
  /** Minimum: 1. Maximum: 9. */
  size?: number;
  tags?: { [name: string]: string };
  /** @deprecated */
  readonly id?: string;
}): Promise<unknown>"""
    )


def test_a_capability_in_full() -> None:
    path = CapabilityParameter(name="path", schema={"type": "string"}, default="a")
    known = Callable(name="read_it", description="Reads it.", parameters=(path,))
    assert (
        Declarations().capability(known)
        == """\
/** Reads it. */
capabilities.read_it(args?: {
  /** Default: "a". */
  path?: string;
}): Promise<unknown>"""
    )


def test_what_was_observed_says_so_and_stays_open_for_the_check() -> None:
    """SA-10: a result may have fields that nobody has seen."""
    seen = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    learned = msgspec.structs.replace(tool(), observed_schema=seen)
    assert Declarations().tool(learned).startswith("/** @returns as observed in earlier results;")
    assert Declarations().tool(learned).endswith("Promise<{ n: number }>")
    assert "n: number; [name: string]: any" in Declarations(lenient=True).tool(learned)


def test_a_circle_without_anything_in_between_is_anything(tmp_path: Path) -> None:
    """`type A = A | string` is an error in TypeScript."""
    either = {"anyOf": [{"$ref": "#/$defs/B"}, {"type": "string"}]}
    listed = {"anyOf": [{"$ref": "#/$defs/A"}, {"items": {"$ref": "#/$defs/A"}}]}
    schema = {"properties": {"x": {"$ref": "#/$defs/A"}}, "$defs": {"A": either, "B": listed}}
    text = Declarations().file({"fs": [tool(input_schema=schema)]})
    assert "type Fs_Read_A = unknown;" in text or "x?: unknown" in text
    assert problems(text + "export {};", tmp_path) == ""


def test_a_hundred_definitions_that_use_each_other_twice_stay_small() -> None:
    defs = {
        f"D{n}": {"properties": {name: {"$ref": f"#/$defs/D{n + 1}"} for name in ("left", "right")}}
        for n in range(100)
    }
    schema = {"properties": {"x": {"$ref": "#/$defs/D0"}}, "$defs": defs}
    assert len(Declarations().tool(tool(input_schema=schema))) < 20_000
