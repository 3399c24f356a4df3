"""What was learned: found, shown, renamed, run by intent alone (OP-2, MCP-2, ST-8).

Every program here is one of its own, since all tests share one database.
"""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from pml.cli.exits import ExitCode
from pml.domain.capability import Capability
from pml.domain.discovery import DiscoverResponse
from pml.domain.record import decode
from pml.domain.response import ExecuteResponse
from tests.cli.conftest import RunPml
from tests.cli.test_commands import calls


def learn(pml: RunPml, intent: str, code: str, args: dict[str, Any]) -> Capability:
    """Run a program that nobody has run before, and what became of it."""
    options = ("--args", json.dumps(args), "--json")
    done = pml("execute", "--intent", intent, "--code-file", "-", *options, stdin=code)
    response = decode(ExecuteResponse, done.stdout)
    assert response.status == "success", done.stdout
    assert response.capability_id is not None
    return shown(pml, response.capability_id)


def shown(pml: RunPml, wanted: str) -> Capability:
    done = pml("capabilities", "show", wanted, "--json")
    assert done.returncode == ExitCode.OK, done.stderr
    return decode(Capability, json.dumps(json.loads(done.stdout)["capability"]))


def test_a_run_says_as_what_it_was_learned(pml: RunPml) -> None:
    code = "const a = await mcp.fixture.echo({ text: 'up' });\nreturn a + args.unit;"

    done = pml(
        *("execute", "--intent", "measure the tide", "--code-file", "-", "--args"),
        '{"unit": "m"}',
        stdin=code,
    )

    assert "learned as capabilities.measure_tide" in " ".join(done.stdout.split())
    assert '2 parameters: unit, text = "up"' in " ".join(done.stdout.split())


def test_the_same_procedure_again_is_known(pml: RunPml) -> None:
    code = "return [await mcp.fixture.echo({ text: 'NAME' })];"
    options = ("execute", "--intent", "wrap a word", "--code-file", "-")
    pml(*options, stdin=code)

    done = pml(*options, stdin=code.replace("NAME", "other"))

    assert "known as capabilities.wrap_word: 2 runs, 100% succeeded" in done.stdout


def test_an_intent_alone_runs_what_is_known_with_other_arguments(
    pml: RunPml, workspace: Path
) -> None:
    code = "return { heard: await mcp.fixture.echo({ text: `${args.name}!` }) };"
    learned = learn(pml, "greet somebody by name", code, {"name": "Ada"})
    before = calls(workspace)

    done = pml("execute", "--intent", "Greet somebody by name.", "--args", '{"name": "Bo"}')
    as_json = pml("execute", "--intent", learned.name, "--args", '{"name": "Cy"}', "--json")

    assert done.returncode == ExitCode.OK
    assert '"heard": "Bo!"' in done.stdout
    assert f"ran what was known as capabilities.{learned.name}: 2 runs" in done.stdout
    response = decode(ExecuteResponse, as_json.stdout)
    assert (response.mode, response.capability_id) == ("speculation", learned.id)
    assert calls(workspace) == before + 2


def test_an_intent_alone_without_an_argument_suggests_and_runs_nothing(
    pml: RunPml, workspace: Path
) -> None:
    code = "return (await mcp.fixture.echo({ text: args.verse })).length;"
    learned = learn(pml, "count the letters of a verse", code, {"verse": "rosa"})
    before = calls(workspace)

    done = pml("execute", "--intent", "count the letters of a verse")

    assert done.returncode == ExitCode.SUGGESTIONS
    assert "nothing ran" in done.stdout
    assert "missing: verse" in done.stdout
    assert f'pml execute --intent {learned.name} --args \'{{"verse": "..."}}\'' in done.stdout
    assert calls(workspace) == before


def test_an_intent_that_nobody_has_had_suggests(pml: RunPml) -> None:
    done = pml("execute", "--intent", "zzyzx quux", "--json")

    assert done.returncode == ExitCode.SUGGESTIONS
    assert decode(ExecuteResponse, done.stdout).suggestions is not None


def test_discover_finds_tools_and_what_was_learned(pml: RunPml) -> None:
    code = "return `<${await mcp.fixture.echo({ text: args.page })}>`;"
    learned = learn(pml, "fold the newspaper", code, {"page": "1"})

    found = pml("discover", "fold a newspaper", "--json")
    tools = pml("discover", "echo a text", "--type", "tool", "--limit", "1", "--brief", "--json")
    for_people = pml("discover", "fold a newspaper", "--limit", "1")

    best = decode(DiscoverResponse, found.stdout).results[0]
    assert (best.type, best.id) == ("capability", learned.id)
    (tool,) = decode(DiscoverResponse, tools.stdout).results
    assert (tool.id, tool.tool_schemas) == ("fixture:echo", None)
    assert for_people.stdout.startswith(f" 1  capability {learned.name}")
    assert max(map(len, for_people.stdout.splitlines())) <= 80


@pytest.mark.parametrize("command", [("discover",), ("execute", "--intent")])
def test_an_empty_intent_is_refused(pml: RunPml, command: tuple[str, ...]) -> None:
    done = pml(*command, " ")

    assert done.returncode == ExitCode.USAGE
    assert "intent: expected a few words" in done.stderr


def test_words_that_fit_nothing_are_told_from_having_nothing(pml: RunPml) -> None:
    unheard = pml("discover", "zzyzx", "--type", "tool")

    assert "Nothing fits these words; " in unheard.stdout
    assert "tools are known" in unheard.stdout


def test_the_command_that_would_run_keeps_the_options(pml: RunPml) -> None:
    code = "return (await mcp.fixture.echo({ text: args.song })).repeat(args.times);"
    learn(pml, "sing a song", code, {"song": "la", "times": 2})

    done = pml(
        "execute", "--intent", "sing a song", "--args", '{"times": 3}', "--config", "mcp.json"
    )

    command = shlex.split(done.stdout.partition("to run the first\n")[2])
    assert json.loads(command[command.index("--args") + 1]) == {"song": "...", "times": 3}
    assert command[command.index("--config") + 1] == "mcp.json"


def test_capabilities_are_listed_shown_and_renamed(pml: RunPml) -> None:
    code = "return await mcp.fixture.echo({ text: args.tree + ' leaf' });"
    learned = learn(pml, "describe the tree", code, {"tree": "oak"})

    renamed = pml("capabilities", "rename", learned.id[:14], "describe_oak")
    listed = pml("capabilities")
    page = pml("capabilities", "show", "describe_oak")

    assert renamed.stdout == f"{learned.id} is now capabilities.describe_oak\n"
    assert any(
        line.startswith("describe_oak") and line.endswith("describe the tree")
        for line in listed.stdout.splitlines()
    )
    for part in ("call\n  capabilities.describe_oak(", "parameter", "paths", "intents", code):
        assert part in page.stdout


def test_a_capability_that_code_calls_is_told_within_its_run(pml: RunPml) -> None:
    code = "return 'bark: ' + await mcp.fixture.echo({ text: args.dog });"
    learned = learn(pml, "let the dog bark", code, {"dog": "Rex"})
    outer = f"return (await capabilities.{learned.name}({{ dog: 'Bo' }})).toUpperCase();"

    done = pml("execute", "--intent", "bark loudly", "--code-file", "-", stdin=outer)
    latest = pml("trace")
    listed = pml("runs", "--limit", "2")

    assert '"BARK: BO"' in done.stdout
    assert "intent: bark loudly" in latest.stdout
    parent = latest.stdout.split()[1]
    assert f"in {parent[:8]}: " in listed.stdout


def test_a_capability_that_never_succeeded_is_listed_only_with_all(pml: RunPml) -> None:
    code = "await mcp.fixture.echo({ text: 'x' }); throw new Error('never');"
    pml("execute", "--intent", "fail on purpose", "--code-file", "-", stdin=code)

    shown_ = {one["name"] for one in json.loads(pml("capabilities", "--json").stdout)}
    every = {one["name"] for one in json.loads(pml("capabilities", "--all", "--json").stdout)}

    assert "fail_on_purpose" in every - shown_


def test_a_name_that_cannot_be_is_told_with_the_reason(pml: RunPml) -> None:
    learn(pml, "lift the anchor", "return 'l' + await mcp.fixture.echo({ text: 'up' });", {})
    learn(pml, "drop the anchor", "return 'd' + await mcp.fixture.echo({ text: 'up' });", {})

    misspelt = pml("capabilities", "show", "lift_the_anchr")
    several = pml("capabilities", "show", "cap_")
    no_name = pml("capabilities", "rename", "lift_anchor", "Not a name")
    taken = pml("capabilities", "rename", "lift_anchor", "drop_anchor")

    assert misspelt.returncode == several.returncode == ExitCode.NOT_FOUND
    assert "did you mean lift_anchor" in misspelt.stderr
    assert "several ids begin so" in several.stderr
    assert no_name.returncode == taken.returncode == ExitCode.USAGE
    assert "'Not a name' is no name" in no_name.stderr
    assert "another capability is named 'drop_anchor'" in taken.stderr
