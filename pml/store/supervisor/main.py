"""Entry point: one supervisor per data directory, the direct parent of `postgres`.

It runs as long as a client holds the lease.  If `postgres` dies it starts it again; if it
is told to end (SIGTERM) or no client is left, it shuts `postgres` down cleanly; if it is
killed, `postgres` shuts itself down (PDEATHSIG) and the next client starts both.

`launch` returns to the client once the database is ready; the supervisor lives on in a
session of its own.
"""

import json
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

from pml.errors import EmbeddedPostgresError
from pml.store.supervisor.account import choose
from pml.store.supervisor.binaries import reachable
from pml.store.supervisor.cluster import clear_stale, ensure_cluster, explain
from pml.store.supervisor.layout import Layout
from pml.store.supervisor.locks import FileLock, lock, try_lock
from pml.store.supervisor.server import Server

_POLL_S = 0.2  # how late the last client's leaving is noticed
_LOCK_WAIT_S = 20.0  # for a predecessor that is about to end
_ATTEMPTS = 8
_FIRST_DELAY_S, _LONGEST_DELAY_S = 0.05, 5.0
_STILL_ENDING = ("is still in use", "already exists")


def launch(base: str, install: str) -> int:
    """Start a supervisor and wait until its database is ready; an exit status.

    Prints a JSON object: ``{}``, or ``{"error": message}``.
    """
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.close(reader)
        _detach(writer)
        _supervise_and_exit(Layout(Path(base)), Path(install), writer)
    os.close(writer)
    with os.fdopen(reader, "r") as pipe:
        report = pipe.read()
    if not report:
        report = json.dumps({"error": "the supervisor of PostgreSQL died while starting it"})
    sys.stdout.write(report)
    return 0 if report == "{}" else 1


def _detach(keep: int) -> None:
    os.setsid()
    os.chdir("/")
    os.umask(0o077)
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(null, descriptor)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    os.set_inheritable(keep, False)


def _supervise_and_exit(layout: Layout, install: Path, writer: int) -> None:
    reporter = _Reporter(writer)
    status = 1
    try:
        _supervise(layout, install, reporter)
        status = 0
    except EmbeddedPostgresError as error:
        reporter.error(str(error))
    except OSError as error:
        reporter.error(f"the embedded PostgreSQL cannot use {layout.base}: {error}")
    finally:
        os._exit(status)


class _Reporter:
    """Tells the launching process once how the start went."""

    def __init__(self, writer: int) -> None:
        self._writer: int | None = writer

    def _report(self, message: dict[str, str]) -> None:
        if self._writer is not None:
            with suppress(BrokenPipeError):  # the launching process was killed meanwhile
                os.write(self._writer, json.dumps(message).encode())
            os.close(self._writer)
            self._writer = None

    @property
    def waiting(self) -> bool:
        """Whether the launching process still waits to hear."""
        return self._writer is not None

    def ready(self) -> None:
        self._report({})

    def error(self, message: str) -> None:
        self._report({"error": message})


class _Wanted:
    """Whether the database is still wanted: somebody holds the lease, and nobody said stop."""

    def __init__(self, layout: Layout, own: FileLock) -> None:
        self._layout = layout
        self._own = own
        self._stopped = False
        self.exclusive: FileLock | None = None
        self.wake, wake_writer = os.pipe()
        os.set_blocking(wake_writer, False)
        signal.set_wakeup_fd(wake_writer)
        signal.signal(signal.SIGTERM, self._on_signal)
        signal.signal(signal.SIGINT, self._on_signal)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # only to wake up

    def _on_signal(self, *_: object) -> None:
        self._stopped = True

    def __call__(self) -> bool:
        if self._stopped or not self._own.current():  # the data directory was removed or moved
            return False
        self.exclusive = self.exclusive or try_lock(self._layout.lease_lock)
        return self.exclusive is None


def _supervise(layout: Layout, install: Path, reporter: _Reporter) -> None:
    own = lock(layout.supervisor_lock, timeout_s=_LOCK_WAIT_S)
    account = choose(layout.cluster)
    install = reachable(install, account)
    ensure_cluster(layout, install, account)
    wanted = _Wanted(layout, own)
    failures = 0
    while wanted():
        clear_stale(layout)
        server = Server(layout, install, account)
        server.attend(wake=wanted.wake, poll_s=_POLL_S, on_ready=reporter.ready, wanted=wanted)
        failures = 0 if server.ready else failures + 1
        if not server.ready:
            _check_retry(server.said, failures, reporter)
            time.sleep(min(_FIRST_DELAY_S * 2**failures, _LONGEST_DELAY_S))
    # In this order: who gets the lease next must not take us for alive.
    own.release()
    if wanted.exclusive is not None:
        wanted.exclusive.release()


def _check_retry(said: str, failures: int, reporter: _Reporter) -> None:
    """Go on only with what may pass: the children of a killed server are still ending.

    Raises:
        EmbeddedPostgresError: another attempt would fail as well.
    """
    passing = any(sign in said for sign in _STILL_ENDING)
    if failures >= _ATTEMPTS or (reporter.waiting and not passing):
        raise EmbeddedPostgresError(explain("the database did not start", said))
