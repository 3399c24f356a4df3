"""Warm sandboxes: started before they are needed, used once, then thrown away."""

import asyncio
import os
import shutil
import sys
import tempfile
from collections import deque
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import msgspec
import structlog

from pml.domain.limits import Limits
from pml.errors import SandboxError
from pml.runtime.outlast import outlast
from pml.runtime.reaper import Reaper
from pml.runtime.sandbox import command
from pml.runtime.sandbox.base import Base, clear_left
from pml.runtime.sandbox.channel import Listener
from pml.runtime.sandbox.child import END_TIMEOUT_S
from pml.runtime.sandbox.guards import ALL_GUARDS, Guards
from pml.runtime.sandbox.process import Sandbox, make_scratch
from pml.runtime.sandbox.tier import (
    LAUNCHER,
    Tier,
    find_deno,
    probe_own_uid,
    random_uid,
    reachable,
    scratch_root,
)

_HOST = Path(__file__).with_name("host.js")
_WORKER = Path(__file__).with_name("worker")
"""The parts of the worker in order; in the sandbox they are one module."""
_BOOT_TIMEOUT_S = 30.0
"""Warming up takes 0.1 s; on a machine that swaps, seconds."""
_SPAWNS_AT_ONCE = 4
"""More would only share the same cores, and all would be late."""
_FRAME_SLACK = 16_000_000
"""A turn's frame may hold a result (escaped once, hence doubled) and this much besides."""

_CLOSE_TIMEOUT_S = 2 * END_TIMEOUT_S
"""Tasks that end a sandbox themselves have their own bound, which comes first."""

T = TypeVar("T")
_log = structlog.get_logger()


class SandboxPool:
    """A pool of processes, each for one program.

    Invariant: ``size`` processes are warm or on their way, apart from the moment between a
    checkout and the first turn of its program, which is not disturbed by a start-up.

    ``guards``, ``environment`` (variables that sandboxes find besides ours) and ``own_uid``
    (what a pool before found out) are for the self-test alone.
    """

    def __init__(
        self,
        *,
        limits: Limits,
        reaper: Reaper,
        size: int = 2,
        deno: Path | None = None,
        scratch: Path | None = None,
        guards: Guards = ALL_GUARDS,
        environment: Mapping[str, str] | None = None,
        own_uid: bool | None = None,
    ) -> None:
        self._limits = limits
        self._reaper = reaper
        self._size = size
        self._deno = deno
        self._scratch_wanted = scratch
        self._guards = guards
        self._own_uid = own_uid
        self._environment = dict(environment or {})
        if not guards.environment:
            self._environment |= os.environ
        self._warm: deque[asyncio.Task[Sandbox]] = deque()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._sandboxes: set[Sandbox] = set()
        """All that were started and have not ended, whoever has them."""
        self._closed = False
        self._spawning = asyncio.Semaphore(_SPAWNS_AT_ONCE)
        self._listener = Listener(
            max_frame=2 * limits.result_bytes + _FRAME_SLACK, check_token=guards.token
        )
        self._kept: Base | None = None
        self._base = Path()
        self._deno_path = Path()
        self._worker = ""
        self.tier = Tier(own_uid=False, tmpfs=False)
        """Which layers hold on this machine; known once the pool is open."""

    @property
    def port(self) -> int:
        """Loopback port that the sandboxes connect to."""
        return self._listener.port

    @property
    def refused_connections(self) -> int:
        """Connections dropped because they showed no token of ours."""
        return self._listener.refused

    async def __aenter__(self) -> Self:
        self._deno_path = self._deno or find_deno()
        self._worker = "".join(part.read_text() for part in sorted(_WORKER.glob("*.js")))
        root, tmpfs = scratch_root(self._scratch_wanted, Path(tempfile.gettempdir()))
        clear_left(root)
        self._kept = Base(root)
        self._base = self._kept.path
        self._reaper.own(self._base)
        try:
            await self._open(tmpfs=tmpfs)
        except BaseException:
            await self._close()
            raise
        return self

    async def _open(self, *, tmpfs: bool) -> None:
        await self._listener.__aenter__()
        self._base.chmod(0o711)  # other users walk through, and list nothing
        host = self._base / _HOST.name
        host.write_bytes(_HOST.read_bytes())
        host.chmod(0o444)
        reason = await self._why_no_own_uid()
        self.tier = Tier(own_uid=not reason, tmpfs=tmpfs, reason=reason)
        self._refill()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._close()

    async def _close(self) -> None:
        """End every sandbox, also when cancelled meanwhile: the loop may be next."""
        self._closed = True
        self._size = 0
        for task in self._tasks:
            task.cancel()
        for sandbox in self._sandboxes:
            sandbox.stop()
        try:
            ends = (sandbox.ended for sandbox in self._sandboxes)
            await outlast([*self._tasks, *ends], timeout_s=_CLOSE_TIMEOUT_S)
        finally:
            for sandbox in self._sandboxes:  # a task may be cancelled before it begins
                sandbox.clean()
            self._sandboxes.clear()
            if self._kept is not None:
                self._kept.close()
            self._reaper.disown(self._base)
            await self._listener.__aexit__(None, None, None)

    @asynccontextmanager
    async def checkout(self) -> AsyncIterator[Sandbox]:
        """A warm sandbox for one run; killed on exit, where nobody waits for its last breath.

        The kernel takes some milliseconds to take a process apart; its files go then.

        Raises:
            SandboxError: no sandbox can be started; with what Deno printed.
        """
        sandbox = await self._take()
        self._begin(self._refill_after(sandbox))
        try:
            yield sandbox
        finally:
            sandbox.stop()
            if self._closed:  # nobody waits for endings any more, and the loop may be next
                await self._end(sandbox)
            else:
                self._begin(self._end(sandbox))

    async def warm(self) -> None:
        """Wait until all that is on its way is warm."""
        if self._warm:
            await asyncio.wait(self._warm)  # to cancel this must not cancel them

    async def _why_no_own_uid(self) -> str:
        if not self._guards.uid:
            return "switched off"
        if not reachable(self._base):
            return f"others cannot reach {self._base.parent}"
        if self._own_uid is None:
            return await probe_own_uid(self._deno_path)
        return "" if self._own_uid else "found out before"

    async def _take(self) -> Sandbox:
        while not self._closed:
            task = self._warm.popleft() if self._warm else self._spawn_soon()
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError:
                self._warm.appendleft(task)  # still good for the next, and closed with the pool
                raise
            if self._closed:
                break
            sandbox = task.result()
            if sandbox.alive:
                return sandbox
            output = sandbox.output[-500:]
            await self._finish(sandbox)
            await _log.awarning("a waiting sandbox died", output=output)
        msg = "the pool of sandboxes is closed"
        raise SandboxError(msg)

    async def _end(self, sandbox: Sandbox) -> None:
        await self._finish(sandbox)
        self._refill()

    async def _finish(self, sandbox: Sandbox) -> None:
        try:
            await sandbox.kill()
        except SandboxError as exc:
            await _log.awarning("a sandbox does not end", reason=str(exc))
        finally:
            self._sandboxes.discard(sandbox)

    async def _refill_after(self, sandbox: Sandbox) -> None:
        """Not before the run is over, as long as others wait: booting takes its processor time."""
        await sandbox.first_turn.wait()
        if not self._warm:
            self._refill()

    def _refill(self) -> None:
        while len(self._warm) < self._size:
            self._warm.append(self._spawn_soon())

    def _spawn_soon(self) -> "asyncio.Task[Sandbox]":
        task = self._begin(self._spawn())
        # an error is raised where the sandbox is taken; without a taker nobody misses it
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return task

    def _begin(self, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        """Do it in the background, at most until the pool is closed."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _spawn(self) -> Sandbox:
        async with self._spawning:
            sandbox = self._launch()
            try:
                await self._boot(sandbox)
            except BaseException:
                await self._finish(sandbox)
                raise
            return sandbox

    def _launch(self) -> Sandbox:
        uid = random_uid() if self.tier.own_uid else None
        scratch = make_scratch(self._base, uid)
        plan = {
            "deno": str(self._deno_path),
            "argv": command.deno_arguments(
                self.port, self._base / _HOST.name, limits=self._limits, guards=self._guards
            ),
            "env": self._environment | command.deno_environment(scratch),
            "limits": command.resource_limits(
                self._limits, self._guards, own_uid=self.tier.own_uid
            ),
            "uid": uid,
            "parent": os.getpid() if self._guards.parent_death else None,
        }
        text = msgspec.json.encode(plan).decode()
        try:
            sandbox = Sandbox(
                [sys.executable, "-I", "-S", str(LAUNCHER), text],
                limits=self._limits,
                guards=self._guards,
                scratch=scratch,
                reaper=self._reaper,
            )
        except OSError as error:
            shutil.rmtree(scratch, ignore_errors=True)
            msg = f"the sandbox cannot be started: {error}"
            raise SandboxError(msg) from error
        self._sandboxes.add(sandbox)
        return sandbox

    async def _boot(self, sandbox: Sandbox) -> None:
        token, channel = self._listener.expect()
        hello = command.hello(
            self.port, token, self._worker, limits=self._limits, guards=self._guards
        )
        try:
            async with asyncio.timeout(_BOOT_TIMEOUT_S):
                await sandbox.boot(hello, channel)
        except TimeoutError:
            msg = f"the sandbox was not warm after {_BOOT_TIMEOUT_S:.0f} s: {sandbox.output}"
            raise SandboxError(msg) from None
