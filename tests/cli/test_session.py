"""A server that does not answer costs a search seconds, and is named (OP-2, MCP-1)."""

import json
from pathlib import Path

import pytest

from pml.cli import session
from pml.serve.compose import Settings, workbench


async def test_a_server_that_hangs_is_waited_for_a_while_and_named(
    tmp_path: Path,
    postgres_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"slow": {"command": "sleep", "args": ["600"]}}}))
    monkeypatch.setattr(session, "TELL_AFTER_S", 0.0)
    monkeypatch.setattr(session, "LISTING_S", 0.5)

    async with workbench(Settings(data_dir=postgres_dir, config=config, sandboxes=0)) as bench:
        await session.list_servers(bench)

    said = capsys.readouterr().err
    assert "waiting for server 'slow' to list its tools (0.5 s at most)" in said
    assert "server 'slow' has not listed its tools: going on without them" in said


async def test_without_servers_to_ask_nothing_is_said(
    postgres_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with workbench(Settings(data_dir=postgres_dir, sandboxes=0)) as bench:
        await session.list_servers(bench)

    assert capsys.readouterr().err == ""
