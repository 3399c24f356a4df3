"""One life of the `postgres` process, from its start to the last of its children."""

import os
import select
import signal
import time
from collections.abc import Callable
from pathlib import Path

from pml.store.supervisor.account import Account, spawn
from pml.store.supervisor.layout import CLUSTER_PATH, SETTINGS, Layout

_READY = b"database system is ready to accept connections"
_TAIL_BYTES = 4_000
_READ_BYTES = 65_536
_FAST_S = 30.0  # a fast shutdown writes one checkpoint
_IMMEDIATE_S = 5.0
_LAST_WORDS_S = 5.0  # for children to notice that their server died


class BoundedLog:
    """A log file of at most two halves; the older one has the suffix ``.1``."""

    def __init__(self, path: Path, half_bytes: int = 1_000_000) -> None:
        self._path = path
        self._half_bytes = half_bytes

    def write(self, text: bytes) -> None:
        """Append; a log that cannot be written (disk full) must not stop the database."""
        try:
            if self._path.exists() and self._path.stat().st_size + len(text) > self._half_bytes:
                self._path.replace(self._path.with_name(f"{self._path.name}.1"))
            with self._path.open("ab") as file:
                file.write(text)
        except OSError:
            return


class Server:
    """A running `postgres`; `attend` returns when it is gone."""

    def __init__(self, layout: Layout, install: Path, account: Account) -> None:
        self.ready = False
        self._log = BoundedLog(layout.log)
        self._tail = b""
        self._on_ready: Callable[[], None] = lambda: None
        reader, writer = os.pipe()
        settings = [f"--{name}={value}" for name, value in SETTINGS.items()]
        self._pid = spawn(
            account,
            install / "bin" / "postgres",
            ["-D", CLUSTER_PATH, *settings],
            directory=layout.cluster,
            output=writer,
            death_signal=signal.SIGINT,  # a fast shutdown
        )
        os.close(writer)
        self._output = reader

    @property
    def said(self) -> str:
        """The end of what it wrote."""
        return self._tail.decode(errors="replace")

    def attend(
        self, *, wake: int, poll_s: float, on_ready: Callable[[], None], wanted: Callable[[], bool]
    ) -> None:
        """Log its output until it ends; stop it once ``wanted`` says no (asked every poll)."""
        self._on_ready = on_ready
        try:
            while self._wait(wake, poll_s):
                if os.waitpid(self._pid, os.WNOHANG)[0] != 0:
                    self._drain(_LAST_WORDS_S)
                    return
                if not wanted():
                    self._stop()
                    return
            os.waitpid(self._pid, 0)
        finally:
            os.close(self._output)

    def _wait(self, wake: int, poll_s: float) -> bool:
        """Let time pass until something happens; False once all who could write are gone."""
        readable, _, _ = select.select([self._output, wake], [], [], poll_s)
        if wake in readable:
            os.read(wake, _READ_BYTES)
        return self._output not in readable or self._listen()

    def _listen(self) -> bool:
        """Take in output; False once all who could write it are gone."""
        text = os.read(self._output, _READ_BYTES)
        self._log.write(text)
        self._tail = (self._tail + text)[-_TAIL_BYTES:]
        if not self.ready and _READY in self._tail:
            self.ready = True
            self._on_ready()
        return bool(text)

    def _drain(self, within_s: float) -> bool:
        """Listen until nobody is left; False if that takes longer."""
        deadline = time.monotonic() + within_s
        while (left := deadline - time.monotonic()) > 0:
            readable, _, _ = select.select([self._output], [], [], left)
            if readable and not self._listen():
                return True
        return False

    def _stop(self) -> None:
        for number, within_s in ((signal.SIGINT, _FAST_S), (signal.SIGQUIT, _IMMEDIATE_S)):
            os.kill(self._pid, number)
            if self._drain(within_s):
                break
        else:
            os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
