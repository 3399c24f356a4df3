"""How long a user waits: import, and a whole `pml execute` from command to exit.

The one-call program uses a small stdio server and a database that is already running; the
named alternative is the bare official SDK client doing the same call in a fresh process,
so the rest is PML's own share.

Run:  .venv/bin/python experiments/bench/startup.py
"""

import asyncio
import compileall
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pml
from pml.serve.compose import open_store, settings_from_env

ROUNDS = 5
SERVER = [sys.executable, "-m", "mcp_server_time"]
CODE = "return await mcp.time.get_current_time({ timezone: 'UTC' });"
PERMISSIONS = """\
version: 1
servers:
  time:
    tools:
      get_current_time: {scope: minimal, effect: read, approval_mode: auto}
"""
BARE = f"""
import asyncio
from mcp import Client, StdioServerParameters
async def main():
    server = StdioServerParameters(command={SERVER[0]!r}, args={SERVER[1:]!r})
    async with Client(server) as client:
        await client.call_tool("get_current_time", {{"timezone": "UTC"}})
asyncio.run(main())
"""


def seconds(command: list[str], env: dict[str, str]) -> float:
    """Wall time of one command that must succeed."""
    started = time.perf_counter()
    subprocess.run(command, env=env, check=True, capture_output=True)  # noqa: S603
    return time.perf_counter() - started


def import_seconds(env: dict[str, str]) -> float:
    """Time of the import alone, without the interpreter's own start."""
    code = "import time; t = time.perf_counter(); import pml.cli.main; print(time.perf_counter()-t)"
    command = [sys.executable, "-c", code]
    out = subprocess.run(command, env=env, check=True, capture_output=True, text=True)  # noqa: S603
    return float(out.stdout)


async def main() -> None:
    """Measure and print; the last line is one JSON object."""
    compileall.compile_dir(Path(pml.__file__).parent, quiet=1)
    with tempfile.TemporaryDirectory(prefix="pml-bench-") as folder:
        home = Path(folder)
        (home / "mcp.json").write_text(
            json.dumps({"mcpServers": {"time": {"command": SERVER[0], "args": SERVER[1:]}}})
        )
        (home / "permissions.yaml").write_text(PERMISSIONS)
        (home / "program.ts").write_text(CODE)
        env = {**os.environ, "PML_DATA_DIR": str(home / "data")}
        execute = [
            *[str(Path(sys.executable).with_name("pml")), "execute", "--intent", "what time is it"],
            *["--code-file", str(home / "program.ts"), "--config", str(home / "mcp.json")],
            *["--permissions", str(home / "permissions.yaml"), "--json"],
        ]
        async with open_store(settings_from_env(env)):  # keeps the database warm
            seconds(execute, env)
            whole = [seconds(execute, env) for _ in range(ROUNDS)]
            bare = [seconds([sys.executable, "-c", BARE], env) for _ in range(ROUNDS)]
        imports = [import_seconds(env) for _ in range(ROUNDS)]
    execute_s, bare_s = statistics.median(whole), statistics.median(bare)
    peak_mb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"medians of {ROUNDS}; the bare SDK client makes the same call in a fresh process")
    print(
        json.dumps(
            {
                "import_cli_s": round(statistics.median(imports), 3),
                "execute_s": round(execute_s, 3),
                "bare_client_s": round(bare_s, 3),
                "own_share_s": round(execute_s - bare_s, 3),
                "ratio_to_bare_client": round(execute_s / bare_s, 2),
                "largest_process_mb": round(peak_mb),
            }
        )
    )


if __name__ == "__main__":
    asyncio.run(main())
