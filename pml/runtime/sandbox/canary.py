"""What the self-test's attacks reach for: files, a process and a server that count as ours."""

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

_MODULE = b"export default 'canary';"
_ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/javascript\r\nConnection: close\r\n"
    b"Content-Length: %d\r\n\r\n%b" % (len(_MODULE), _MODULE)
)
_REQUEST_TIMEOUT_S = 2.0


class Door:
    """A server on loopback that counts who comes.  Every request is answered with a module."""

    def __init__(self) -> None:
        self.port = 0
        self.hits = 0

    def registries(self) -> dict[str, str]:
        """Where Deno looks for npm and JSR packages when it may: here."""
        here = f"http://127.0.0.1:{self.port}"
        return {"NPM_CONFIG_REGISTRY": f"{here}/", "JSR_URL": here}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Count one request and answer it."""
        try:
            async with asyncio.timeout(_REQUEST_TIMEOUT_S):
                if await reader.readline():
                    self.hits += 1
                    writer.write(_ANSWER)
                    await writer.drain()
        except (TimeoutError, ConnectionError):
            pass  # whoever knocked is gone: what counts was counted
        finally:
            writer.close()


class Canary:
    """The bait of one self-test."""

    def __init__(self, directory: Path, pid: int) -> None:
        self._directory = directory
        self._pid = pid

    def facts(self) -> dict[str, int | str | None]:
        """What hostile programs are told: where the bait is."""
        return {
            "file": str(self._directory / "canary.txt"),
            "code": str(self._directory / "canary.js"),
            "secret": str(self._directory / "secret.txt"),
            "pid": self._pid,
        }

    @asynccontextmanager
    async def listen(self) -> AsyncIterator[Door]:
        """A door of its own for one attack, so that a hit is its hit."""
        door = Door()
        server = await asyncio.start_server(door.serve, "127.0.0.1", 0)
        door.port = server.sockets[0].getsockname()[1]
        try:
            yield door
        finally:
            server.close()
            await server.wait_closed()


@contextmanager
def canary() -> Iterator[Canary]:
    """Put out files, a variable and a process, and take them away again."""
    os.environ["PML_CANARY"] = "canary"
    with tempfile.TemporaryDirectory(prefix="pml-canary-") as name:
        directory = Path(name)
        directory.chmod(0o755)  # everybody may read: only the sandbox is to stop it
        for file, text, mode in (
            ("canary.txt", "canary", 0o644),
            ("canary.js", "export default 'breached';", 0o644),
            ("secret.txt", "secret", 0o600),
        ):
            (directory / file).write_text(text)
            (directory / file).chmod(mode)
        process = subprocess.Popen(  # our interpreter; ends with its stdin
            [sys.executable, "-I", "-S", "-c", "input()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            yield Canary(directory, process.pid)
        finally:
            process.kill()
            process.communicate()
            del os.environ["PML_CANARY"]
