"""`pml serve` and `pml stdio` as processes: where they listen, who is in the way, how they end.

What they answer is tested with the endpoint (MCP-5, OP-2, OP-3).
"""

import json
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pml.cli.exits import ExitCode
from tests.cli.conftest import PML, RunPml


@contextmanager
def serving(
    environment: dict[str, str], workspace: Path, *, command: tuple[str, ...] = (str(PML), "serve")
) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """A server on a free port, and its address."""
    with subprocess.Popen(
        [*command, "--port", "0"], cwd=workspace, env=environment, stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stderr is not None
        line = next((text for text in server.stderr if "listening at" in text), "")
        try:
            yield server, line.split("listening at ")[1].split(";")[0]
        finally:
            server.send_signal(signal.SIGINT)


def test_serve_says_where_it_listens_and_ctrl_c_ends_it_well(
    environment: dict[str, str], workspace: Path
) -> None:
    with serving(environment, workspace) as (server, url):
        with urllib.request.urlopen(url.replace("/mcp", "/health"), timeout=10) as answer:
            health = json.loads(answer.read())
        server.send_signal(signal.SIGINT)
        assert server.stderr is not None
        rest = server.stderr.read()

    assert health["status"] == "ok"
    port = url.removesuffix("/mcp").rpartition(":")[2]
    assert f"pml client-config CLIENT --http --port {port}" in rest
    assert "/health" not in rest
    assert server.returncode == ExitCode.OK


def test_pml_serve_is_pml_serve(environment: dict[str, str], workspace: Path) -> None:
    script = (
        "import sys; sys.argv[0] = 'pml-serve'; from pml.cli.main import serve_main; serve_main()"
    )
    with serving(environment, workspace, command=(sys.executable, "-c", script)) as (_, url):
        assert url.startswith("http://127.0.0.1:")


def test_a_taken_port_is_told_with_who_has_it_and_what_to_do(
    environment: dict[str, str], workspace: Path, pml: RunPml
) -> None:
    with serving(environment, workspace) as (server, url):
        port = url.removesuffix("/mcp").rpartition(":")[2]

        done = pml("serve", "--port", port)

    assert done.returncode == ExitCode.UNAVAILABLE
    assert f"port {port} is taken by pid {server.pid} (" in done.stderr
    assert "--port" in done.stderr


def test_an_address_that_others_reach_has_to_be_allowed(pml: RunPml) -> None:
    done = pml("serve", "--host", "0.0.0.0", "--port", "0")

    assert done.returncode == ExitCode.CONFIG
    assert "other machines" in done.stderr


@pytest.mark.parametrize("command", ["serve", "stdio"])
def test_a_wrong_file_ends_a_server_before_it_begins(
    pml: RunPml, workspace: Path, command: str
) -> None:
    (workspace / "permissions.yaml").write_text("version: 2\n")

    done = pml(command, *(("--port", "0") if command == "serve" else ()))

    assert done.returncode == ExitCode.CONFIG
    assert "permissions.yaml:1" in done.stderr
    assert done.stdout == ""


def test_stdio_ends_with_its_client_and_prints_nothing_of_its_own(pml: RunPml) -> None:
    done = pml("stdio", stdin="", PML_LOG="debug")

    assert (done.returncode, done.stdout) == (ExitCode.OK, "")


def test_what_the_client_config_says_is_what_a_client_can_start(
    pml: RunPml, environment: dict[str, str], tmp_path: Path
) -> None:
    entry = json.loads(pml("client-config", "cursor").stdout)["mcpServers"]["pml"]
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    agent = Path(__file__).parents[2] / "examples" / "demo" / "agent.py"
    asked = ["say something", "zzyzx", "{}"]

    done = subprocess.run(
        [sys.executable, str(agent), *asked, entry["command"], *entry["args"]],
        capture_output=True,
        text=True,
        check=False,
        cwd=elsewhere,
        env={name: text for name, text in environment.items() if name != "PML_DATA_DIR"},
        timeout=60,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("tools: pml_discover, pml_execute, pml_get_task_result, ")
    assert "suggestions, mode direct" in done.stdout
    assert list(elsewhere.iterdir()) == []
