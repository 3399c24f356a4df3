"""A place for chaos: a real PostgreSQL, two `pml serve` over it, and counting upstream servers."""

import asyncio
import contextlib
import json
import os
import re
import secrets
import signal
import sys
import time
from base64 import b64encode
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import psutil

from pml.store.embedded import EmbeddedPostgres
from tests.chaos import processes
from tests.chaos.processes import lives

UPSTREAM = Path(__file__).with_name("upstream.py")
SERVERS = ("a", "b", "c")
"""Names of the counting servers; all offer the same tools."""
LEASE_S = 2.0
"""Shorter than the default, so that a stopped server is given up in a test's time."""
BOOT_S = 180.0
"""For a server that starts while all else wants the same cores; alone it needs about 1.5 s."""
END_S = 30.0
_PERMISSIONS = "version: 1\nservers:\n" + "".join(
    f"""  {name}:
    tools:
      read: {{scope: readonly, effect: read, approval_mode: auto}}
      put: {{scope: filesystem, effect: idempotent, approval_mode: auto}}
      guarded: {{scope: filesystem, effect: write, approval_mode: hil}}
      "*": {{scope: full, effect: write, approval_mode: auto}}
"""
    for name in SERVERS
)
_APPROVALS = "approvals:\n  agents: true\n"
_URL = re.compile(rb"listening at (http://\S+)/mcp")


@dataclass(frozen=True)
class Site:
    """The files of one place, and its database."""

    folder: Path
    database: EmbeddedPostgres

    @classmethod
    def make(cls, folder: Path) -> "Site":
        """Write the configuration; start nothing."""
        site = cls(folder, EmbeddedPostgres(folder))
        servers = {
            name: {
                "command": sys.executable,
                "args": ["-I", "-S", str(UPSTREAM.resolve()), str(site.counter(name))],
                "protocol": "legacy",
            }
            for name in SERVERS
        }
        (folder / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
        (folder / "permissions.yaml").write_text(_PERMISSIONS + _APPROVALS)
        (folder / "limits.yaml").write_text(f"lease_ttl_s: {LEASE_S}\n")
        (folder / "ledger.key").write_text(b64encode(secrets.token_bytes(32)).decode())
        return site

    def counter(self, server: str) -> Path:
        """The file that a server counts in."""
        return self.folder / f"{server}.requests"

    @property
    def url(self) -> str:
        """Of the database, as in PML_DATABASE_URL."""
        return f"postgresql://postgres@/postgres?host={self.database.layout.cluster}&port=5432"

    @property
    def postmaster(self) -> psutil.Process | None:
        """The first process of PostgreSQL, if it runs."""
        try:
            pid = int(self.database.layout.pid_file.read_text().split("\n", 1)[0])
            return psutil.Process(pid)
        except (FileNotFoundError, ValueError, psutil.NoSuchProcess):
            return None


@dataclass
class Served:
    """One `pml serve`, started anew whenever it was killed."""

    site: Site
    name: str
    url: str | None = None
    """Where it listens; None while it does not."""
    boot_s: float = 0.0
    """How long its latest start took: says how fast this machine is just now."""
    starts: int = 0
    stopped: bool = False
    """Whether it was told to stand still (SIGSTOP)."""
    _started: float = 0.0
    _process: asyncio.subprocess.Process | None = None
    _log: Path = field(init=False)

    def __post_init__(self) -> None:
        self._log = self.site.folder / f"server-{self.name}.log"

    @property
    def process(self) -> psutil.Process | None:
        """The process, if it lives."""
        if self._process is None or self._process.returncode is not None:
            return None
        with contextlib.suppress(psutil.NoSuchProcess):
            return psutil.Process(self._process.pid)
        return None

    @property
    def serves(self) -> bool:
        """Whether it takes requests."""
        process = self.process
        return not self.stopped and self.url is not None and bool(process and lives(process))

    @property
    def pid(self) -> int | None:
        """Of the process that was started last."""
        return None if self._process is None else self._process.pid

    async def run(self) -> None:
        """Keep it running until cancelled; then let it end in peace."""
        try:
            while True:
                await self._once()
        except asyncio.CancelledError:
            await self._end()
            raise

    async def _once(self) -> None:
        """One life."""
        self.starts += 1
        self.stopped = False
        self._started = time.monotonic()
        arguments = ["serve", "--port", "0", "--data-dir", str(self.site.folder)]
        arguments += ["--config", str(self.site.folder / "mcp.json")]
        arguments += ["--permissions", str(self.site.folder / "permissions.yaml")]
        self._process = await asyncio.create_subprocess_exec(
            *[sys.executable, "-c", "from pml.cli.main import main; main()", *arguments],
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            preexec_fn=processes.end_with_parent,
            env=os.environ
            | {
                "PML_DATABASE_URL": self.site.url,
                "PML_LIMITS": str(self.site.folder / "limits.yaml"),
                "PML_LOG": "info",
            },
        )
        processes.OURS.add(self._process.pid)
        try:
            await self._listen(self._process)
        finally:
            self.url = None
        await self._process.wait()

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        """Keep what it says, until it says no more."""
        assert process.stderr is not None
        with self._log.open("ab") as log:
            log.write(f"--- {datetime.now(UTC)}: start {self.starts}\n".encode())
            while line := await process.stderr.readline():
                log.write(line)
                log.flush()
                if found := _URL.search(line):
                    log.write(f"--- {datetime.now(UTC)}: serves\n".encode())
                    self.boot_s = time.monotonic() - self._started
                    self.url = found[1].decode()

    async def _end(self) -> None:
        """SIGTERM; what does not end then is killed, and counts as an orphan."""
        process = self._process
        if process is None or process.returncode is not None:
            return
        for number, within_s in ((signal.SIGTERM, END_S), (signal.SIGKILL, END_S)):
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)
                process.send_signal(number)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(within_s):
                    await process.wait()
                return
