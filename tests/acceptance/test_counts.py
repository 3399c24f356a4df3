"""Every request that reaches a server has its intent in the log, whatever dies (EX-1, EX-3, OP-4).

PML runs as users run it: a process of its own, over a real database and a real stdio server
that counts what it is asked.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from pml.domain.ledger import Ledger
from pml.domain.run import Attempted, Run, RunState
from pml.serve.compose import open_store, settings_from_env
from pml.store.ports import Store

FIXTURE = Path(__file__).parents[1] / "fixtures" / "upstream_server.py"
BOUND_S = 30.0
PERMISSIONS = """\
version: 1
servers:
  up:
    tools:
      echo: {scope: readonly, effect: read, approval_mode: auto}
      hang: {scope: readonly, effect: read, approval_mode: auto}
      "*": {scope: full, effect: write, approval_mode: auto}
"""


@dataclass(frozen=True, slots=True)
class Site:
    """A place to run PML in: its files, its data directory, the server's counter."""

    folder: Path
    data_dir: Path

    @property
    def counter(self) -> Path:
        return self.folder / "counter.jsonl"

    def requests(self) -> list[dict[str, Any]]:
        if not self.counter.exists():
            return []
        return [json.loads(line) for line in self.counter.read_text().splitlines()]

    async def pml(self, code: str) -> asyncio.subprocess.Process:
        """`pml execute` on its way, in a process group of its own."""
        program = self.folder / "program.ts"
        program.write_text(code)
        return await asyncio.create_subprocess_exec(
            *[str(Path(sys.executable).with_name("pml")), "execute", "--intent", "count", "--json"],
            *["--code-file", str(program), "--config", str(self.folder / "mcp.json")],
            *["--permissions", str(self.folder / "permissions.yaml")],
            *["--data-dir", str(self.data_dir)],
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={**os.environ, "PML_DATABASE_URL": ""},
        )

    @asynccontextmanager
    async def store(self) -> AsyncIterator[Store]:
        settings = settings_from_env({}, data_dir=self.data_dir)
        async with open_store(settings) as store:
            yield store

    async def last_run(self) -> tuple[Run, Ledger]:
        """The latest run, as the next PML process finds it."""
        async with self.store() as store:
            (run,) = await store.runs.recent(1)
            return run, Ledger(await store.run_log.read(run.id))


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture
def site(tmp_path: Path, data_dir: Path) -> Site:
    here = Site(tmp_path, data_dir)
    server = {"command": sys.executable, "args": [str(FIXTURE), "--counter", str(here.counter)]}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"up": server}}))
    (tmp_path / "permissions.yaml").write_text(PERMISSIONS)
    return here


async def until_requests(site: Site, count: int) -> None:
    """Return when the server has counted that many; a new line wakes nobody, so look again."""
    async with asyncio.timeout(BOUND_S):
        while len(site.requests()) < count:  # noqa: ASYNC110  # a file of another process
            await asyncio.sleep(0.005)


def attempts(ledger: Ledger) -> int:
    return sum(isinstance(record, Attempted) for record in ledger.records)


async def test_requests_equal_attempts_in_a_run_that_ends(site: Site) -> None:
    code = """
      const texts = await Promise.all(["a", "b", "c"].map((text) => mcp.up.echo({ text })));
      for (const text of texts) await mcp.up.write({ text });
      try { await mcp.up.fail({ message: "no" }); } catch {}
      return texts;
    """
    process = await site.pml(code)
    out, _ = await process.communicate()
    answer = json.loads(out)
    assert (answer["status"], answer["result"]) == ("success", ["a", "b", "c"])
    run, ledger = await site.last_run()
    assert run.state is RunState.SUCCESS
    assert len(site.requests()) == attempts(ledger) == 7
    assert [r["tool"] for r in site.requests()][3:] == ["write", "write", "write", "fail"]


async def test_a_kill_during_a_write_leaves_it_in_doubt_and_nothing_running(site: Site) -> None:
    code = """
      for (const text of ["a", "b"]) await mcp.up.write({ text });
      await mcp.up.hang_write({});
    """
    process = await site.pml(code)
    await until_requests(site, 3)
    server = psutil.Process(site.requests()[0]["pid"])
    process.send_signal(signal.SIGKILL)
    await process.wait()
    run, ledger = await site.last_run()
    assert run.state is RunState.IN_DOUBT
    assert "hang_write" in run.reason
    assert len(site.requests()) == attempts(ledger) == 3
    _, alive = await asyncio.to_thread(psutil.wait_procs, [server], BOUND_S)
    assert not alive


async def test_a_kill_during_a_read_leaves_the_run_interrupted(site: Site) -> None:
    process = await site.pml("await mcp.up.write({ text: 'a' }); await mcp.up.hang({});")
    await until_requests(site, 2)
    process.send_signal(signal.SIGKILL)
    await process.wait()
    run, ledger = await site.last_run()
    assert run.state is RunState.INTERRUPTED
    assert len(site.requests()) == attempts(ledger) == 2


@pytest.mark.parametrize("moment", [1, 4, 9, 17])
async def test_at_any_moment_of_a_kill_no_request_is_without_its_intent(
    site: Site, moment: int
) -> None:
    code = """
      for (let i = 0; i < 200; i++) {
        await Promise.all([mcp.up.echo({ text: `${i}` }), mcp.up.write({ text: `${i}` })]);
      }
    """
    process = await site.pml(code)
    await until_requests(site, moment)
    process.send_signal(signal.SIGKILL)
    await process.wait()
    run, ledger = await site.last_run()
    assert run.state in (RunState.INTERRUPTED, RunState.IN_DOUBT)
    under_way = len(ledger.open_calls)
    assert attempts(ledger) - under_way <= len(site.requests()) <= attempts(ledger)
    asked = [(r["tool"], json.dumps(r["arguments"])) for r in site.requests()]
    assert len(asked) == len(set(asked)), "a request was repeated"
