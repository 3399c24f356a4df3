"""The golden structure of epic 10 is what analysis makes of the seed's program (SA-3)."""

import json
from pathlib import Path

from pml.analysis.analyse import analyse
from pml.domain.record import encode
from pml.domain.tools import Catalog, Tool

GOLDEN = Path(__file__).with_name("golden") / "static-structure.epic-10.json"
PROGRAM = """\
const file = await mcp.fs.stat({ path });
if (file.exists) {
  const content = await mcp.fs.read({ path });
  return content;
} else {
  await mcp.fs.create({ path });
  await mcp.fs.write({ path, content: "" });
}
"""
TEXT, FLAG = {"type": "string"}, {"type": "boolean"}
STAT = {"type": "object", "properties": {"exists": FLAG, "encoding": TEXT}}


def tool(name: str, *required: str, optional: str = "", output: object = None) -> Tool:
    """A tool of ``fs`` whose inputs are texts."""
    names = [*required, *([optional] if optional else [])]
    schema = {"type": "object", "properties": dict.fromkeys(names, TEXT), "required": [*required]}
    return Tool(
        server="fs",
        name=name,
        input_schema=schema,
        output_schema=output if isinstance(output, dict) else None,
    )


def test_the_example_of_epic_10_comes_out_as_committed() -> None:
    catalog = Catalog(
        {
            "fs": [
                tool("stat", "path", output=STAT),
                tool("read", "path", optional="encoding"),
                tool("create", "path"),
                tool("write", "path", "content"),
            ]
        }
    )
    made = json.loads(encode(analyse(PROGRAM, catalog).structure))
    assert made == json.loads(GOLDEN.read_text(encoding="utf-8"))
