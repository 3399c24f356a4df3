"""`pml tools`: lists, one tool in full, and declarations for an editor (SA-7, OP-2)."""

import json
from pathlib import Path

from tests.analysis.deno_check import problems
from tests.cli.conftest import RunPml


def test_declarations_go_to_stdout_and_are_valid(pml: RunPml, tmp_path: Path) -> None:
    done = pml("tools", "--dts")
    assert done.returncode == 0, done.stderr
    assert "declare const mcp: {\n  readonly fixture: {\n" in done.stdout
    assert "declare class ToolError extends Error {" in done.stdout
    use = 'const said: string = await mcp.fixture.echo({ text: "a" }) as string; export { said };'
    assert problems(done.stdout + use, tmp_path) == ""
    assert "does not exist" in problems(done.stdout + "mcp.fixture.ecco; export {};", tmp_path)


def test_declarations_of_a_tool_alone(pml: RunPml) -> None:
    done = pml("tools", "--dts", "fixture:echo")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("): Promise<") == 1


def test_the_tools_of_one_server(pml: RunPml) -> None:
    every = json.loads(pml("tools", "--json").stdout)
    assert json.loads(pml("tools", "fixture", "--json").stdout) == every
    assert json.loads(pml("tools", "fixture:echo", "--json").stdout)["name"] == "echo"


def test_a_file_is_either_declarations_or_json(pml: RunPml) -> None:
    done = pml("tools", "--dts", "--json")
    assert done.returncode == 2
    assert "give either --dts or --json" in done.stderr


def test_a_program_is_checked_against_the_declarations(pml: RunPml, workspace: Path) -> None:
    """SA-7: warnings, beside what analysis says."""
    (workspace / "p.ts").write_text(
        "const n: number = 'x';\nreturn await mcp.fixture.echo({ text: args.text });\n"
    )
    assert "[type]" not in pml("analyse", "p.ts").stderr
    done = pml("analyse", "p.ts", "--types")
    assert done.returncode == 0, done.stderr
    assert "p.ts:1:7: warning: Type 'string' is not assignable to type 'number'." in done.stderr
    (workspace / "mcp.json").unlink()
    alone = pml("analyse", "p.ts", "--types")
    assert "p.ts:1:7: warning: Type 'string' is not assignable" in alone.stderr


def test_what_a_run_showed_of_a_tool_that_declares_nothing(pml: RunPml, workspace: Path) -> None:
    """SA-10: the tool `plain` gives text, and says nothing of it."""
    (workspace / "permissions.yaml").write_text(
        "version: 1\nservers:\n  fixture:\n    tools:\n"
        "      plain: {scope: minimal, effect: read, approval_mode: auto}\n"
    )
    assert "plain(args: { text: string }): Promise<unknown>;" in pml("tools", "--dts").stdout
    program = 'return await mcp.fixture.plain({ text: "hello" });'
    done = pml("execute", "--intent", "say hello", "--code-file", "-", stdin=program)
    assert done.returncode == 0, done.stderr
    shown = json.loads(pml("tools", "fixture:plain", "--json").stdout)
    assert shown["observedSchema"] == {"type": "string"}
    assert "output, as observed in results" in pml("tools", "fixture:plain").stdout
    declared = pml("tools", "--dts").stdout
    assert "as observed in earlier results" in declared
    assert "plain(args: { text: string }): Promise<string>;" in declared
