"""What clients are told so that they have PML, and what doctor finds around it (OP-2)."""

import http.server
import json
import os
import shlex
import socket
import sys
import threading
from pathlib import Path

import pytest

from pml.cli.check import Verdict
from pml.cli.checks_around import check_clients, check_encoder, check_port
from pml.cli.client_config import pasteable, stdio_entry
from pml.cli.clients import Client, ClientFile, Machine, files_of, is_pml, servers_in
from pml.cli.exits import ExitCode
from pml.cli.ports import DEFAULT_PORT, LOOPBACK, bind_fault, holder, pml_at
from pml.serve.compose import Settings
from tests.cli.conftest import PML, RunPml

JSON_CLIENTS = [Client.CLAUDE_DESKTOP, Client.CURSOR, Client.VSCODE]


@pytest.mark.parametrize("client", JSON_CLIENTS)
def test_what_is_printed_is_a_file_that_starts_pml_from_anywhere(
    pml: RunPml, workspace: Path, client: Client
) -> None:
    done = pml("client-config", client, PML_ENCODER="some/model")
    path = workspace / "pasted.json"
    path.write_text(done.stdout)

    servers = servers_in(ClientFile(client=client, path=path, keys=(client.section,)))
    entry = servers["pml"]
    assert is_pml(entry, port=DEFAULT_PORT)
    assert entry["command"] == str(PML)
    options = dict(zip(entry["args"][1::2], entry["args"][2::2], strict=True))
    assert options["--config"] == str(workspace / "mcp.json")
    assert options["--permissions"] == str(workspace / "permissions.yaml")
    assert all(Path(value).is_absolute() for value in options.values())
    assert entry["env"] == {"PML_ENCODER": "some/model"}


@pytest.mark.parametrize("client", list(Client))
def test_it_says_into_which_file_that_goes(pml: RunPml, tmp_path: Path, client: Client) -> None:
    done = pml("client-config", client, HOME=str(tmp_path), XDG_CONFIG_HOME=str(tmp_path / "c"))

    machine = Machine(platform="linux", home=tmp_path, cwd=tmp_path, settings=tmp_path / "c")
    assert done.returncode == ExitCode.OK
    assert str(files_of(client, machine)[-1].path) in done.stderr


def test_claude_code_gets_a_command_line_that_survives_the_shell(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "a folder's", config=Path("/x y/mcp.json"))
    entry = stdio_entry(settings, Path("/opt/my pml/pml")) | {"env": {"PML_USER": "a b"}}

    words = shlex.split(pasteable(Client.CLAUDE_CODE, entry))

    assert words[:7] == ["claude", "mcp", "add", "--env", "PML_USER=a b", "--scope", "user"]
    assert words[7:10] == ["pml", "--", "/opt/my pml/pml"]
    assert words[10:] == entry["args"]


def test_a_client_connects_to_a_server_that_runs_or_starts_its_own(pml: RunPml) -> None:
    cursor = json.loads(pml("client-config", "cursor", "--http", "--port", "4000").stdout)
    vscode = json.loads(pml("client-config", "vscode", "--http").stdout)
    code = pml("client-config", "claude-code", "--http").stdout
    desktop = pml("client-config", "claude-desktop", "--http")

    assert cursor == {"mcpServers": {"pml": {"url": "http://127.0.0.1:4000/mcp"}}}
    url = f"http://127.0.0.1:{DEFAULT_PORT}/mcp"
    assert vscode == {"servers": {"pml": {"type": "http", "url": url}}}
    assert code == f"claude mcp add --transport http --scope user pml {url}\n"
    assert desktop.returncode == ExitCode.USAGE
    assert "leave --http out" in desktop.stderr


def test_a_variable_that_can_hold_a_secret_is_named_and_not_printed(pml: RunPml) -> None:
    url = "postgresql://me:hunter2@127.0.0.1/pml"
    done = pml("client-config", "cursor", PML_DATABASE_URL=url)

    assert "PML_DATABASE_URL" in done.stderr
    assert "hunter2" not in done.stdout + done.stderr


def test_a_variable_that_a_server_needs_is_named(pml: RunPml, workspace: Path) -> None:
    servers = {"x": {"command": "x", "env": {"A": "${MY_TOKEN}", "B": "${OTHER:-b}"}}}
    (workspace / "mcp.json").write_text(json.dumps({"mcpServers": servers}))

    done = pml("client-config", "claude-desktop")

    assert "the client has to set them: MY_TOKEN." in done.stderr


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ({"command": "bin/server"}, True),
        ({"command": "uvx", "cwd": "src"}, True),
        ({"command": "uvx", "cwd": "/src"}, False),
        ({"command": "/bin/server"}, False),
        ({"url": "https://x.example/mcp"}, False),
    ],
)
def test_a_path_that_holds_only_here_is_told(
    pml: RunPml, workspace: Path, entry: dict[str, str], told: bool
) -> None:
    (workspace / "mcp.json").write_text(json.dumps({"mcpServers": {"x": entry}}))

    done = pml("client-config", "claude-desktop")

    assert ("Make the path of server 'x' absolute" in done.stderr) is told


def test_a_folder_without_servers_is_told(pml: RunPml, workspace: Path) -> None:
    (workspace / "mcp.json").unlink()

    done = pml("client-config", "vscode")

    assert done.returncode == ExitCode.OK
    assert "PML reaches no servers" in done.stderr


def machine_with(root: Path, **files: object) -> Machine:
    machine = Machine(
        platform=sys.platform, home=root / "home", cwd=root / "here", settings=root / "settings"
    )
    for name, content in files.items():
        path = files_of(Client(name.replace("_", "-")), machine)[-1].path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    return machine


def test_doctor_tells_which_clients_have_pml_and_how_the_others_get_it(tmp_path: Path) -> None:
    machine = machine_with(
        tmp_path,
        cursor={"mcpServers": {"memory": {"command": sys.executable, "args": ["pml", "stdio"]}}},
        vscode={"servers": {"other": {"command": "x"}}},
        claude_code={"mcpServers": {"pml": {"command": "/gone/pml", "args": ["stdio"]}}},
        claude_desktop="{",
    )

    found = {check.name: check for check in check_clients(machine)}

    verdicts = {name.removeprefix("client "): check.verdict for name, check in found.items()}
    assert verdicts == {
        "cursor": Verdict.OK,
        "vscode": Verdict.NOTE,
        "claude-code": Verdict.FAILED,
        "claude-desktop": Verdict.FAILED,
    }
    assert "pml client-config vscode" in found["client vscode"].mend
    assert "/gone/pml, which is not there" in found["client claude-code"].found
    assert "claude_desktop_config.json:1" in found["client claude-desktop"].found


def test_a_machine_without_clients_is_in_order(tmp_path: Path) -> None:
    (check,) = check_clients(machine_with(tmp_path))

    assert check.verdict is Verdict.OK


def test_search_by_words_needs_no_encoder(tmp_path: Path) -> None:
    assert check_encoder(Settings(data_dir=tmp_path)).verdict is Verdict.OK


def test_an_encoder_that_is_not_there_is_mended_by_doing_without(tmp_path: Path) -> None:
    check = check_encoder(Settings(data_dir=tmp_path, encoder=str(tmp_path / "none")))

    assert check.verdict is Verdict.FAILED
    assert "unset PML_ENCODER" in check.mend


def test_a_taken_port_is_told_with_who_has_it() -> None:
    with socket.create_server((LOOPBACK, 0)) as server:
        port = server.getsockname()[1]

        assert bind_fault(LOOPBACK, port) is not None
        assert f"pid {os.getpid()} (" in holder(port)
    assert bind_fault(LOOPBACK, port) is None
    assert holder(port) == ""


def test_an_address_of_elsewhere_cannot_be_listened_at() -> None:
    assert bind_fault("192.0.2.1", 0) is not None


class _Answers(http.server.BaseHTTPRequestHandler):
    """Somebody who answers with what the test wants."""

    body = b""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.mark.parametrize(
    ("body", "version"),
    [
        (b'{"status": "ok", "version": "0.1.0", "servers": []}', "0.1.0"),
        (b'{"status": "ok"}', None),
        (b"[1]", None),
        (b"<html>", None),
    ],
)
def test_pml_is_known_by_its_answer(
    monkeypatch: pytest.MonkeyPatch, body: bytes, version: str | None
) -> None:
    monkeypatch.setattr(_Answers, "body", body)
    with http.server.HTTPServer((LOOPBACK, 0), _Answers) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()

        assert pml_at(server.server_port) == version
        thread.join()


def test_where_nobody_listens_is_no_pml() -> None:
    with socket.create_server((LOOPBACK, 0)) as server:
        port = server.getsockname()[1]
    assert pml_at(port) is None


def test_the_default_port_is_free_or_somebody_has_it() -> None:
    check = check_port()

    assert check.verdict is not Verdict.FAILED
    assert str(DEFAULT_PORT) in check.name
