"""What a server does while it answers already, and what it says of it (OP-2, EX-11)."""

import json
import sys
from pathlib import Path

from structlog.testing import capture_logs

from pml.runtime.upstream.status import ServerState
from pml.serve.compose import Settings, workbench
from pml.serve.ready import get_ready

UPSTREAM = Path(__file__).parents[1] / "fixtures" / "upstream_server.py"


async def test_a_server_that_cannot_start_is_logged_in_one_line(
    postgres_dir: Path, tmp_path: Path
) -> None:
    servers = {
        "good": {"command": sys.executable, "args": [str(UPSTREAM)]},
        "absent": {"command": "/no/such/program"},
        "ends": {"command": sys.executable, "args": ["-c", "1 / 0"]},
        "off": {"command": "/no/such/program", "disabled": True},
    }
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": servers}))
    settings = Settings(data_dir=postgres_dir, config=config, sandboxes=0)
    async with workbench(settings) as bench:
        with capture_logs() as logged:
            await get_ready(bench)
        states = {server.name: server.state for server in bench.upstreams.status()}
    assert (states["good"], states["off"]) == (ServerState.READY, ServerState.DISABLED)
    ours = [entry for entry in logged if entry["event"] == "server_not_connected"]
    assert sorted(entry["server"] for entry in ours) == ["absent", "ends"]
    for entry in ours:
        assert (entry["log_level"], "exc_info" in entry) == ("warning", False)
        assert len(entry["reason"].splitlines()) == 1
        assert entry["server"] in entry["reason"]
