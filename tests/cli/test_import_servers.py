"""The servers of other clients in mcp.json: translated, merged, nothing lost (OP-2, ST-5)."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.cli.clients import Client, ClientFile, Machine, files_of, is_pml, servers_in
from pml.cli.exits import ExitCode
from pml.cli.foreign_servers import Origin, translate, variable_of
from pml.cli.server_file import add_servers, servers_of
from pml.errors import ConfigError
from tests.cli.conftest import RunPml

PORT = 3333
USERS = Origin(home=Path("/home/me"), port=PORT)
EDITORS = Origin(
    home=Path("/home/me"),
    workspace=Path("/src/x"),
    inputs={"api-key": "the key of the service"},
    port=PORT,
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
KEYS = st.sampled_from(["command", "args", "env", "cwd", "url", "headers", "type", "disabled", "x"])
NAMES = st.text("abc :{}\"'\\/,[]", min_size=1, max_size=6)
SERVERS = st.dictionaries(NAMES, st.fixed_dictionaries({"command": NAMES}), max_size=4)


def machine(root: Path, platform: str = "linux") -> Machine:
    return Machine(
        platform=platform, home=root / "home", cwd=root / "here", settings=root / "settings"
    )


def entry(value: dict[str, Any], origin: Origin = EDITORS) -> dict[str, Any]:
    made = translate("s", value, origin).entry
    assert made is not None
    return made


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("${workspaceFolder}/data", "/src/x/data"),
        ("${userHome}${pathSeparator}notes", "/home/me/notes"),
        ("${workspaceFolderBasename}", "x"),
        ("Bearer ${input:api-key}", "Bearer ${API_KEY}"),
        ("${CLAUDE_PROJECT_DIR:-.}/bin", "/src/x/bin"),
        ("${env:TOKEN}", "${TOKEN}"),
        ("${TOKEN:-none}", "${TOKEN:-none}"),
        ("no $ placeholder {here}", "no $ placeholder {here}"),
    ],
)
def test_a_placeholder_is_said_in_the_words_of_mcp_json(written: str, read: str) -> None:
    made = entry({"type": "stdio", "command": "x", "args": [written], "env": {"A": written}})

    assert made == {"command": "x", "args": [read], "env": {"A": read}, "cwd": "/src/x"}


def test_a_folder_that_only_the_editor_knows_becomes_a_variable_to_set() -> None:
    made = translate("s", {"command": "x", "cwd": "${workspaceFolder}"}, USERS)

    assert made.entry == {"command": "x", "cwd": "${WORKSPACE_FOLDER}"}
    assert set(made.variables) == {"WORKSPACE_FOLDER"}


def test_what_the_editor_asks_for_is_told_with_its_purpose() -> None:
    made = translate("s", {"url": "https://x.example", "headers": {"K": "${input:api-key}"}}, USERS)
    asked = translate("s", {"command": "x", "env": {"K": "${input:api-key}"}}, EDITORS)

    assert made.variables == {"API_KEY": ""}
    assert asked.variables == {"API_KEY": "the key of the service"}


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({"type": "sse", "url": "https://x.example/sse"}, "speaks sse"),
        ({"command": "${command:pick}"}, "${command:pick}"),
        ({"command": "x", "url": "https://x.example"}, 'either "command" or "url"'),
        ({"url": "ftp://x.example"}, "https://"),
        ({"command": ["x"]}, "expected text"),
        ("x", "expected a mapping"),
        ({"command": "/opt/pml/bin/pml", "args": ["stdio"]}, "PML itself"),
    ],
)
def test_what_mcp_json_cannot_say_is_left_out_and_told(value: object, why: str) -> None:
    made = translate("s", value, EDITORS)

    assert made.entry is None
    assert why in " ".join(made.notes)


@pytest.mark.parametrize(
    "value",
    [
        {"command": "pml", "args": ["stdio", "--config", "mcp.json"]},
        {"command": "uvx", "args": ["pml", "stdio"]},
        {"url": "http://127.0.0.1:3333/mcp"},
        {"url": "http://localhost:3333"},
        {"command": "npx", "args": ["mcp-remote", "http://[::1]:3333/mcp"]},
    ],
)
def test_pml_knows_itself_however_it_is_started(value: dict[str, Any]) -> None:
    assert is_pml(value, port=PORT)


@pytest.mark.parametrize(
    "value",
    [
        {"command": "pmlx", "args": ["stdio"]},
        {"command": "x", "args": ["stdio", "pml"]},
        {"url": "http://127.0.0.1:33333/mcp"},
        {"url": "https://example.org:3333/mcp"},
        None,
    ],
)
def test_another_server_is_not_taken_for_pml(value: object) -> None:
    assert not is_pml(value, port=PORT)


def test_a_key_that_mcp_json_lacks_is_told_and_one_of_a_dialog_is_not() -> None:
    made = translate(
        "s", {"command": "x", "envFile": ".env", "autoApprove": ["a"], "gallery": True}, USERS
    )

    assert made.entry == {"command": "x"}
    assert made.notes == ("left out its 'envFile', which mcp.json does not have",)


def test_a_secret_in_plain_text_is_told_without_its_value() -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    made = translate("s", {"command": "x", "env": {"GITHUB_TOKEN": secret, "LANG": "C"}}, USERS)

    assert made.entry is not None
    assert made.entry["env"]["GITHUB_TOKEN"] == secret
    assert made.notes == ("env.GITHUB_TOKEN is a secret in plain text: keep the file private",)


def test_a_reference_to_a_variable_is_no_secret() -> None:
    assert translate("s", {"command": "x", "env": {"API_KEY": "${API_KEY}"}}, USERS).notes == ()


@given(name=st.text(max_size=6), value=JSON | st.dictionaries(KEYS, JSON))
def test_whatever_is_there_becomes_an_entry_that_can_be_read_or_a_reason(
    name: str, value: object
) -> None:
    made = translate(name, value, EDITORS)

    assert made.entry is not None or made.notes


@given(st.text())
def test_every_input_has_a_variable_that_can_be_set(input_id: str) -> None:
    assert variable_of(input_id).isidentifier() or variable_of(input_id) == "_"


@given(old=SERVERS, new=SERVERS, section=st.sampled_from(["mcpServers", "servers"]))
def test_what_was_in_the_file_stays_line_by_line(
    tmp_path_factory: pytest.TempPathFactory,
    old: dict[str, Any],
    new: dict[str, Any],
    section: str,
) -> None:
    path = tmp_path_factory.mktemp("f") / "mcp.json"
    inner = json.dumps(old, indent=2).replace("\n", "\n  ")
    text = f'// mine: {{"mcpServers": [\n{{"a": ["mcpServers", {{}}],\n  "{section}": {inner} }}\n'
    path.write_text(text)
    added = {name: value for name, value in new.items() if name not in old}

    add_servers(path, added)

    assert servers_of(path) == old | added
    lines = iter(path.read_text().splitlines())
    assert all(any(line in now for now in lines) for line in text.splitlines() if old)


@pytest.mark.parametrize("text", [None, '{"mcpServers": {}}', '{"mcpServers":{\n}}'])
def test_the_first_servers_need_no_file_and_no_server_before_them(
    tmp_path: Path, text: str | None
) -> None:
    path = tmp_path / "new" / "mcp.json"
    if text is not None:
        path.parent.mkdir()
        path.write_text(text)

    add_servers(path, {"a": {"command": "x", "args": ["1"]}})

    assert servers_of(path) == {"a": {"command": "x", "args": ["1"]}}


def test_a_new_file_is_private_and_an_old_one_keeps_its_mode(tmp_path: Path) -> None:
    new, old = tmp_path / "new.json", tmp_path / "old.json"
    old.write_text('{"mcpServers": {}}')
    old.chmod(0o640)

    for path in (new, old):
        add_servers(path, {"a": {"command": "x"}})

    assert [stat.S_IMODE(path.stat().st_mode) for path in (new, old)] == [0o600, 0o640]
    assert sorted(tmp_path.iterdir()) == [new, old]


def test_a_file_that_is_no_json_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text('{"mcpServers": {]}')

    with pytest.raises(ConfigError, match=r"mcp\.json:1"):
        add_servers(path, {"a": {"command": "x"}})

    assert path.read_text() == '{"mcpServers": {]}'


@pytest.mark.parametrize("client", list(Client))
def test_a_client_is_read_from_the_nearest_file_to_the_users(
    tmp_path: Path, client: Client
) -> None:
    files = files_of(client, machine(tmp_path))

    assert files[-1].workspace is None
    assert all(file.workspace == tmp_path / "here" for file in files[:-1])
    assert all(file.keys[-1] == client.section for file in files)


def test_claude_code_has_servers_by_project_inside_its_own_file(tmp_path: Path) -> None:
    here = machine(tmp_path)
    servers = {"a": {"command": "x"}}
    own = {"projects": {str(here.cwd): {"mcpServers": servers}}, "tips": "x" * 1_100_000}
    here.home.mkdir()
    (here.home / ".claude.json").write_text(json.dumps(own))
    local, _, users = files_of(Client.CLAUDE_CODE, here)

    assert (servers_in(local), servers_in(users)) == (servers, {})


def test_servers_that_are_no_mapping_are_named(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"mcpServers": [1]}')
    file = ClientFile(client=None, path=path, keys=("mcpServers",))

    with pytest.raises(ConfigError, match="mcpServers: expected a mapping"):
        servers_in(file)


@pytest.fixture
def vscode(workspace: Path) -> Path:
    """A workspace with servers of VS Code, one of them of a name that mcp.json has."""
    (workspace / ".vscode").mkdir()
    servers = {
        "fixture": {"command": "other"},
        "notes": {"type": "stdio", "command": "uvx", "args": ["notes", "${workspaceFolder}"]},
        "pml": {"type": "stdio", "command": "pml", "args": ["stdio"]},
    }
    path = workspace / ".vscode" / "mcp.json"
    path.write_text(json.dumps({"servers": servers}))
    return workspace


def test_import_adds_what_is_new_and_tells_of_the_rest(pml: RunPml, vscode: Path) -> None:
    before = servers_of(vscode / "mcp.json")

    done = pml("servers", "import", "vscode")

    assert done.returncode == ExitCode.OK, done.stderr
    notes = {"command": "uvx", "args": ["notes", str(vscode)], "cwd": str(vscode)}
    assert servers_of(vscode / "mcp.json") == before | {"notes": notes}
    assert "mcp.json: 1 server added" in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines()[1:])


def test_a_dry_run_writes_nothing_and_says_the_same(pml: RunPml, vscode: Path) -> None:
    before = (vscode / "mcp.json").read_text()

    dry = pml("servers", "import", ".vscode/mcp.json", "--dry-run", "--json")
    wet = pml("servers", "import", ".vscode/mcp.json", "--json")

    assert dry.stdout == wet.stdout
    outcomes = {server["name"]: server["outcome"] for server in json.loads(dry.stdout)}
    assert outcomes == {"fixture": "kept", "notes": "added", "pml": "left out"}
    assert (vscode / "mcp.json").read_text() != before


def test_a_second_import_adds_nothing(pml: RunPml, vscode: Path) -> None:
    pml("servers", "import", "vscode")
    once = (vscode / "mcp.json").read_text()

    again = pml("servers", "import", "vscode")

    assert (vscode / "mcp.json").read_text() == once
    assert "there already" in again.stdout


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("cursor", ".cursor/mcp.json"),
        ("cursr", "did you mean 'cursor'"),
        ("gone.json", "no such file"),
    ],
)
def test_where_nothing_is_to_be_imported_it_says_where_it_looked(
    pml: RunPml, tmp_path: Path, source: str, said: str
) -> None:
    done = pml("servers", "import", source, HOME=str(tmp_path))

    assert done.returncode == ExitCode.NOT_FOUND
    assert said in done.stderr


@pytest.mark.parametrize(
    "wrong", [{"command": 3}, {"command": "x", "args": 3}, {"url": 3}, {"command": "x", "cwd": 1.5}]
)
def test_a_number_in_place_of_a_text_is_refused_with_what_was_expected(
    wrong: dict[str, Any],
) -> None:
    made = translate("s", wrong, EDITORS)

    assert made.entry is None
    assert "expected" in made.notes[0]


def test_numbers_among_arguments_and_variables_become_text() -> None:
    told = entry({"command": "x", "args": ["--port", 80], "env": {"N": 1}}, USERS)

    assert told == {"command": "x", "args": ["--port", "80"], "env": {"N": "1"}}
