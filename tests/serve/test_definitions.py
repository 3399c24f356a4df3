"""What agents read of the tools, and that it is true (MCP-1, MCP-2, MCP-3, MCP-5)."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from mcp_types import Tool

from pml.domain.limits import Limits
from pml.domain.response import ExecuteResponse
from pml.serve.arguments import NOT_YET
from pml.serve.definitions import INSTRUCTIONS, tool_definitions
from pml.serve.steering_tools import STEERING

TOOLS = {tool.name: tool for tool in tool_definitions(Limits())}
GOLDEN = Path(__file__).parents[1] / "domain" / "golden"
REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "mcp.md"
ANSWERS = sorted(GOLDEN.glob("execute-response.*.json"))


def objects(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if "properties" in schema:
        yield schema
        for inner in schema["properties"].values():
            yield from objects(inner)


def test_the_default_tools_are_cheap_to_know() -> None:
    told = [
        {"name": t.name, "description": t.description, "inputSchema": t.input_schema}
        for t in TOOLS.values()
    ]
    assert len(json.dumps(told)) < 6_000


@pytest.mark.parametrize(
    "said", ["`return`", "without Markdown fences", "console.log is not", "exact name"]
)
def test_the_tool_that_runs_programs_says_what_models_get_wrong(said: str) -> None:
    tool = TOOLS["pml_execute"]
    assert said in f"{tool.description} {tool.input_schema['properties']['code']['description']}"


def test_every_part_of_an_answer_is_announced() -> None:
    schema = TOOLS["pml_execute"].output_schema
    assert schema is not None
    assert set(schema["properties"]) == set(ExecuteResponse.__struct_encode_fields__)
    assert all(TOOLS[name].output_schema == schema for name in STEERING)


def test_the_instructions_name_the_tools_and_when_to_use_them() -> None:
    for name in TOOLS:
        assert name in INSTRUCTIONS if name in STEERING else f"Use {name}" in INSTRUCTIONS


@pytest.mark.parametrize("tool", TOOLS.values(), ids=list(TOOLS))
def test_nothing_that_is_not_declared_is_taken(tool: Tool) -> None:
    declared = list(objects(tool.input_schema))
    assert declared
    assert all(schema["additionalProperties"] is False for schema in declared)


@pytest.mark.parametrize("tool", TOOLS.values(), ids=list(TOOLS))
def test_only_tools_that_run_programs_change_anything(tool: Tool) -> None:
    assert tool.annotations is not None
    changes = tool.name in {"pml_execute", *STEERING}
    assert tool.annotations.read_only_hint is not changes
    assert bool(tool.annotations.destructive_hint) is changes


@pytest.mark.parametrize(
    "path", sorted(GOLDEN.glob("execute-response.*.json")), ids=lambda p: p.stem
)
def test_answers_are_what_the_output_schema_says(path: Path) -> None:
    schema = TOOLS["pml_execute"].output_schema
    assert schema is not None
    jsonschema_rs.validate(schema, json.loads(path.read_text()))


@pytest.mark.parametrize("tool", TOOLS.values(), ids=list(TOOLS))
def test_the_reference_names_every_argument(tool: Tool) -> None:
    (row,) = (line for line in REFERENCE.read_text().splitlines() if f"| `{tool.name}` |" in line)
    taken = row.split(" | ")[1]
    for schema in objects(tool.input_schema):
        for name in schema["properties"]:
            assert f"`{name}`" in taken


@pytest.mark.parametrize("field", sorted(NOT_YET))
def test_the_reference_says_what_is_not_there_yet(field: str) -> None:
    assert f"`{field}`" in REFERENCE.read_text()
