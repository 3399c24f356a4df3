"""The type check of programs (SA-7): what it finds, where, and what it can not reach."""

import json
from pathlib import Path

import psutil
import pytest

from pml.analysis.declarations import Declarations
from pml.domain.program import Diagnostic, Severity
from pml.domain.tools import Tool
from pml.runtime.type_check import type_check

READ = Tool(
    server="fs",
    name="read",
    input_schema={
        "type": "object",
        "properties": {"path": {"type": "string"}, "head": {"type": "integer"}},
        "required": ["path"],
    },
    output_schema={
        "type": "object",
        "properties": {"text": {"type": "string"}, "size": {"type": "integer"}},
        "required": ["text"],
    },
)
LIST = Tool(server="fs", name="list", input_schema={"type": "object", "properties": {}})
DECLARED = Declarations(lenient=True).file({"fs": [READ, LIST]})


async def check(source: str, *variables: str) -> tuple[Diagnostic, ...]:
    return await type_check(source, declarations=DECLARED, variables=variables)


async def places(source: str, *variables: str) -> list[tuple[int, int, str]]:
    return [(found.line, found.column, found.text) for found in await check(source, *variables)]


FINE = """\
const { fs } = mcp;
const names = [];
for (const each of await fs.list()) names.push(each.name);
const read = async (path) => (await fs.read({ path })).text.length;
try {
  const sizes = await Promise.all(names.map(read));
  if (args.strict && wanted.length > sizes.length) return { sizes };
} catch (error) {
  if (error instanceof ToolError) return error.code + error.message;
  return mcp[args.server][args.tool]({});
}
const kept = await mcp.fs.read(args);
return await kept.size ?? null;
"""


async def test_what_agents_write_passes() -> None:
    """What no schema tells fits every use, parameters need no types, and `return` stands alone."""
    assert await check(FINE, "wanted") == ()


async def test_what_contradicts_a_schema_is_a_warning_at_its_place() -> None:
    source = 'const r = await mcp.fs.read({ path: 1 });\nreturn r.text.lenght + "é😀".x + r.txet;'
    found = await check(source)
    assert [(one.line, one.column, one.text) for one in found] == [
        (1, 31, "path"),
        (2, 15, "lenght"),
        (2, 29, "x"),
        (2, 35, "txet"),
    ]
    assert {(one.severity, one.code) for one in found} == {(Severity.WARNING, "type")}
    assert found[0].message == "Type 'number' is not assignable to type 'string'."


@pytest.mark.parametrize(
    ("source", "place"),
    [
        ("mcp.fs.nope();", (1, 8, "nope")),
        ("await mcp.fs.read({});", (1, 19, "{}")),
        ('await mcp.fs.read({ path: "a", haed: 1 });', (1, 32, "haed")),
        ("\r\n\r\n  let n: number = 'x';", (3, 7, "n")),
        ("/* a\u2028b */\nlet n: number = 'x';", (3, 5, "n")),
        ("'use strict'; const { text } = mcp.fs.read({ path });", (1, 23, "text")),
    ],
)
async def test_places_are_those_of_the_submitted_source(
    source: str, place: tuple[int, int, str]
) -> None:
    assert await places(source, "path") == [place]


@pytest.mark.parametrize(
    "source",
    [
        'let x: import("{folder}/hidden.ts").T = 5;',
        'let x: typeof import("{folder}/hidden.json") = 5;',
        'let x: import("file://{folder}/hidden.ts").T = 5;',
        'let x: import("https://example.org/hidden.ts").T = 5;',
        'let x: import("npm:left-pad").T = 5;',
        'let x: import("jsr:@std/assert").T = 5;',
    ],
)
async def test_types_of_other_modules_are_out_of_reach(source: str, tmp_path: Path) -> None:
    (tmp_path / "hidden.ts").write_text('export type T = "hidden";')
    (tmp_path / "hidden.json").write_text(json.dumps({"hidden": "hidden"}))
    found = await check(source.replace("{folder}", str(tmp_path)))
    assert found
    assert "hidden" not in " ".join(one.message for one in found).replace("hidden.ts", "")


@pytest.mark.parametrize("comment", ['/// <reference path="{}" />', '/// <reference types="{}" />'])
async def test_a_comment_reads_no_file(comment: str, tmp_path: Path) -> None:
    """A reference would make `Hidden` known, and the mistake in its use would show its type."""
    hidden = tmp_path / "hidden.d.ts"
    hidden.write_text('declare const hidden: "hidden value";')
    source = f"{comment.format(hidden)}\nconst x: number = hidden;"
    (found,) = await check(source)
    assert found.message == "Cannot find name 'hidden'."


async def test_a_check_without_end_is_given_up_and_leaves_no_process() -> None:
    before = psutil.Process().children(recursive=True)  # of Python itself, say
    (found,) = await type_check("return 1;", declarations=DECLARED, variables=(), timeout_s=0.2)
    assert "given up" in found.message
    assert psutil.Process().children(recursive=True) == before


async def test_a_program_that_is_too_much_for_typescript_says_so() -> None:
    (found,) = await check("if (args.a) await mcp.fs.list();\n" * 6_000)
    assert "too intricate" in found.message


async def test_mistakes_of_the_declarations_are_told_apart() -> None:
    (found,) = await type_check(
        "return 1;", declarations="declare const mcp: Nowhere;", variables=()
    )
    assert "declarations of its tools are at fault: Cannot find name 'Nowhere'" in found.message
