"""Warm sandboxes: started before they are needed, used once, then thrown away."""

import asyncio
import os
import shutil
import sys
import tempfile
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec
import structlog

from pml.domain.limits import Limits
from pml.errors import SandboxError
from pml.runtime.reaper import Reaper
from pml.runtime.sandbox import command
from pml.runtime.sandbox.channel import Listener
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
        self._refills: set[asyncio.Task[None]] = set()
        self._endings: set[asyncio.Task[None]] = set()
        self._closed = False
        self._spawning = asyncio.Semaphore(_SPAWNS_AT_ONCE)
        self._listener = Listener(
            max_frame=2 * limits.result_bytes + _FRAME_SLACK, check_token=guards.token
        )
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
        await self._listener.__aenter__()
        root, tmpfs = scratch_root(self._scratch_wanted, Path(tempfile.gettempdir()))
        self._base = Path(tempfile.mkdtemp(prefix="pml-sandbox-", dir=root))
        self._reaper.own(self._base)
        self._base.chmod(0o711)  # other users walk through, and list nothing
        host = self._base / _HOST.name
        host.write_bytes(_HOST.read_bytes())
        host.chmod(0o444)
        reason = await self._why_no_own_uid()
        self.tier = Tier(own_uid=not reason, tmpfs=tmpfs, reason=reason)
        self._refill()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._closed = True
        self._size = 0
        for refill in self._refills:
            refill.cancel()
        for task in self._warm:
            task.cancel()
        results = await asyncio.gather(
            *self._warm, *self._refills, *self._endings, return_exceptions=True
        )
        for result in results:
            if isinstance(result, Sandbox):
                await result.kill()
        await self._listener.__aexit__(kind, error, traceback)
        shutil.rmtree(self._base, ignore_errors=True)
        self._reaper.disown(self._base)

    @asynccontextmanager
    async def checkout(self) -> AsyncIterator[Sandbox]:
        """A warm sandbox for one run; killed on exit, where nobody waits for its last breath.

        The kernel takes some milliseconds to take a process apart; its files go then.

        Raises:
            SandboxError: no sandbox can be started; with what Deno printed.
        """
        sandbox = await self._take()
        refill = asyncio.create_task(self._refill_after(sandbox))
        self._refills.add(refill)
        refill.add_done_callback(self._refills.discard)
        try:
            yield sandbox
        finally:
            sandbox.stop()
            if self._closed:  # nobody waits for endings any more, and the loop may be next
                await self._end(sandbox)
            else:
                ending = asyncio.create_task(self._end(sandbox))
                self._endings.add(ending)
                ending.add_done_callback(self._endings.discard)

    async def warm(self) -> None:
        """Wait until all that is on its way is warm."""
        await asyncio.gather(*self._warm, return_exceptions=True)

    async def _why_no_own_uid(self) -> str:
        if not self._guards.uid:
            return "switched off"
        if not reachable(self._base):
            return f"others cannot reach {self._base.parent}"
        if self._own_uid is None:
            return await probe_own_uid(self._deno_path)
        return "" if self._own_uid else "found out before"

    async def _take(self) -> Sandbox:
        while True:
            task = self._warm.popleft() if self._warm else self._spawn_soon()
            try:
                sandbox = await asyncio.shield(task)
            except asyncio.CancelledError:
                self._warm.appendleft(task)  # still good for the next, and closed with the pool
                raise
            if sandbox.alive:
                return sandbox
            await _log.awarning("a waiting sandbox died", output=sandbox.output[-500:])
            await sandbox.kill()

    async def _end(self, sandbox: Sandbox) -> None:
        try:
            await sandbox.kill()
        except SandboxError as exc:
            await _log.awarning("a sandbox does not end", reason=str(exc))
        self._refill()

    async def _refill_after(self, sandbox: Sandbox) -> None:
        """Not before the run is over, as long as others wait: booting takes its processor time."""
        await sandbox.first_turn.wait()
        if not self._warm:
            self._refill()

    def _refill(self) -> None:
        while len(self._warm) < self._size:
            self._warm.append(self._spawn_soon())

    def _spawn_soon(self) -> "asyncio.Task[Sandbox]":
        task = asyncio.create_task(self._spawn())
        # an error is raised where the sandbox is taken; without a taker nobody misses it
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return task

    async def _spawn(self) -> Sandbox:
        async with self._spawning:
            sandbox = await self._launch()
            try:
                await self._boot(sandbox)
            except BaseException:
                await sandbox.kill()
                raise
            return sandbox

    async def _launch(self) -> Sandbox:
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
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-I", "-S", str(LAUNCHER), msgspec.json.encode(plan).decode(),
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT, env={}, cwd="/", start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            shutil.rmtree(scratch, ignore_errors=True)
            msg = f"the sandbox cannot be started: {error}"
            raise SandboxError(msg) from error
        self._reaper.register(process.pid)
        return Sandbox(
            process,
            limits=self._limits,
            guards=self._guards,
            scratch=scratch,
            reaper=self._reaper,
        )

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
