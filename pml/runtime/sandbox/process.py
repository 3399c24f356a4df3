"""One sandbox process: how it is started, spoken to, and ended."""

import asyncio
import contextlib
import os
import resource
import secrets
import shutil
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from pml.domain.json_text import flaw
from pml.domain.limits import Limits
from pml.domain.record import JsonText, encode
from pml.errors import SandboxDiedError, SandboxError
from pml.runtime.outlast import outlast
from pml.runtime.reaper import Reaper
from pml.runtime.sandbox.channel import Channel, ChannelClosedError, FrameError
from pml.runtime.sandbox.child import END_TIMEOUT_S, Child
from pml.runtime.sandbox.guards import Guards
from pml.runtime.sandbox.protocol import (
    CallIssued,
    DeliverInput,
    FireInput,
    ProgramReturned,
    ProgramThrew,
    SandboxEnd,
    SandboxInput,
    StartInput,
    Turn,
)

_CRASH_SIGNALS = {signal.SIGTRAP, signal.SIGABRT, signal.SIGILL, signal.SIGSEGV, signal.SIGBUS}
"""How V8 and Deno end when memory cannot be had."""
_TURN = msgspec.json.Decoder(Turn)
_LOOSE_TURN = msgspec.json.Decoder(Turn, strict=False)


class Sandbox:
    """A warm process that runs one program.

    Invariant: after `kill` no process of the group and no file of its own is left.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        limits: Limits,
        guards: Guards,
        scratch: Path,
        reaper: Reaper,
    ) -> None:
        """Start it.

        Raises:
            OSError: it cannot be started.
        """
        self._child = Child(argv, self._hear)
        self.pid = self._child.pid
        reaper.register(self.pid)
        self.first_turn = asyncio.Event()
        """Set when the program has run for the first time, or never will."""
        self._limits = limits
        self._guards = guards
        self.scratch = scratch
        """Its DENO_DIR, the one place where it finds files of its own."""
        self._reaper = reaper
        self._channel: Channel | None = None
        self._output = bytearray()
        self._ended: tuple[SandboxEnd, str] | None = None
        self._clean = False
        self._inputs = 0
        self._consumed = 0
        self._calls = 0
        self._settled = False
        self._frozen = False

    @property
    def output(self) -> str:
        """What the process wrote to stdout and stderr so far: untrusted text, capped."""
        return self._output.decode(errors="replace")

    @property
    def alive(self) -> bool:
        """Whether the process still runs; asks the system, which knows before the event loop."""
        if self._child.returncode is not None or self._ended is not None:
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        return True

    def start(self, program: StartInput) -> None:
        """Put the program in; what it does arrives as turns."""
        self._settled = False
        self._send(program)

    def deliver(self, outcome: DeliverInput) -> None:
        """Put the outcome of a call in."""
        self._send(outcome)

    def fire(self, timer: FireInput) -> None:
        """Say that a timer fired."""
        self._send(timer)

    def _send(self, message: SandboxInput) -> None:
        assert self._channel is not None
        if self.first_turn.is_set():
            self.freeze()  # done long ago, unless the answer came at once
        self._inputs += 1
        self._channel.send(encode(message))

    async def turn(self) -> Turn:
        """The next turn.  May be cancelled and called again.

        Raises:
            SandboxDiedError: the process is gone, or was killed for what it sent.
        """
        assert self._channel is not None
        try:
            frame = await self._channel.receive()
        except FrameError as error:
            raise await self._violation(str(error)) from error
        except ChannelClosedError as error:
            raise await self._died() from error
        try:
            turn = (_TURN if self._guards.frames else _LOOSE_TURN).decode(frame)
            if self._guards.frames:
                self._check(turn)
        except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
            raise await self._violation(str(error)) from error
        if not self.first_turn.is_set():
            self.first_turn.set()
            # only now: Deno keeps the program's own translation, and retries for 150 ms where
            # it cannot; and not before the first call is on its way, which it would hold up
            asyncio.get_running_loop().call_soon(self.freeze)
        return turn

    def freeze(self) -> None:
        """From now on the program can write no file; idempotent, after the first turn by itself."""
        if self._guards.frozen_files and not self._frozen:
            self._frozen = True
            freeze_files(self.pid, self.scratch)

    def _check(self, turn: Turn) -> None:
        if not self._consumed <= turn.consumed <= self._inputs:
            msg = f"it claims to have worked off {turn.consumed} of {self._inputs} inputs"
            raise ValueError(msg)
        self._consumed = turn.consumed
        for item in turn.items:
            if isinstance(item, CallIssued):
                if item.call != self._calls:
                    msg = f"call {item.call} came where call {self._calls} was expected"
                    raise ValueError(msg)
                self._calls += 1
                self._check_value("the arguments", item.arguments)
            elif isinstance(item, ProgramReturned | ProgramThrew):
                if self._settled:
                    msg = "the program settled twice"
                    raise ValueError(msg)
                self._settled = True
                if isinstance(item, ProgramReturned):
                    self._check_value("the result", item.value)

    def _check_value(self, what: str, text: JsonText) -> None:
        reason = flaw(text, self._limits)
        if reason is not None:
            msg = f"{what} {reason}"
            raise ValueError(msg)

    def stop(self) -> None:
        """SIGKILL the process group: no code of it runs any more.  Idempotent."""
        self._signal(SandboxEnd.KILLED, "it was killed")

    async def kill(self) -> None:
        """Stop it, wait for its end, remove its files, also when cancelled.  Idempotent.

        Raises:
            SandboxError: the kernel does not end it.
        """
        self.stop()
        await self._end()

    def _signal(self, end: SandboxEnd, detail: str) -> None:
        if self._ended is None:
            self._ended = (end, detail)
        self._child.kill()

    @property
    def ended(self) -> "asyncio.Future[int]":
        """Done once no process is left; to be waited for, never awaited itself."""
        return self._child.ended

    async def _end(self) -> None:
        try:
            await outlast([self.ended], timeout_s=END_TIMEOUT_S)
        finally:
            self.clean()
        if not self.ended.done():
            msg = f"process {self.pid} did not end {END_TIMEOUT_S:.0f} s after SIGKILL"
            raise SandboxError(msg)

    def clean(self) -> None:
        """Give back what it had, once it has ended.  Idempotent.

        One that does not end stays with the reaper, and so do its files.
        """
        if self._clean:
            return
        self._clean = True
        if self._channel is not None:
            self._channel.close()
        self._child.let_go()
        if self.ended.done():
            self._reaper.release(self.pid)
            shutil.rmtree(self.scratch, ignore_errors=True)
        self.first_turn.set()

    async def _violation(self, detail: str) -> SandboxDiedError:
        if self._ended is None:
            self._ended = (SandboxEnd.PROTOCOL, f"it broke the protocol: {detail}")
        return await self._died()

    async def _died(self) -> SandboxDiedError:
        """End what is left of it and say why."""
        if self._ended is None:
            # the socket closes a moment before the process is gone: its own end tells why
            await asyncio.wait([self.ended], timeout=1.0)
        if self._ended is None and self.ended.done():
            self._ended = explain_end(self.ended.result(), self.output, self._limits)
        self._signal(SandboxEnd.PROTOCOL, "it closed its connection")
        await self._end()
        assert self._ended is not None
        end, detail = self._ended
        return SandboxDiedError(end, f"the sandbox ended: {detail}")

    def _hear(self, data: bytes) -> None:
        cap = self._limits.output_bytes
        self._output += data[: max(0, cap + 1 - len(self._output))]
        if len(self._output) > cap and self._guards.output:
            del self._output[cap:]
            self._signal(
                SandboxEnd.OUTPUT,
                f"it wrote more than {cap} bytes to stdout and stderr (output_bytes): print less",
            )

    async def boot(self, hello: dict[str, Any], channel: "asyncio.Future[Channel]") -> None:
        """Hand over the token and wait until the process is warm.

        Raises:
            SandboxError: it ended, or is not warm in time; with what it printed.
        """
        self._child.send(msgspec.json.encode(hello))
        try:
            either: set[asyncio.Future[Any]] = {channel, self.ended}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not channel.cancel():  # it has come, and is ours to close whatever else happens
                self._channel = channel.result()
        if self._channel is None:
            raise self._stillborn()
        try:
            await self._channel.receive()  # "ready"
        except ChannelClosedError as error:
            await asyncio.wait([self.ended])
            raise self._stillborn() from error

    def _stillborn(self) -> SandboxError:
        printed = self.output.strip() or f"exit status {self.ended.result()}"
        return SandboxError(f"the sandbox did not start: {printed}")


def explain_end(status: int, output: str, limits: Limits) -> tuple[SandboxEnd, str]:
    """Why a process ended by itself, from its exit status and what it printed."""
    number = -status
    if number == signal.SIGXCPU:
        return (
            SandboxEnd.CPU,
            f"it used more than {limits.cpu_s} s of processor time (cpu_s): compute less",
        )
    if number in _CRASH_SIGNALS or "out of memory" in output:
        sizes = f"heap_mb {limits.heap_mb}, data_mb {limits.data_mb}"
        return SandboxEnd.MEMORY, f"it ran out of memory ({sizes}): hold less at once"
    if number > 0:
        return SandboxEnd.KILLED, f"signal {number} from outside"
    last = output.strip().splitlines()[-1:] or ["nothing printed"]
    return SandboxEnd.EXITED, f"exit status {status}: {last[0][:200]}"


def make_scratch(base: Path, uid: int | None) -> Path:
    """A fresh directory for one process, which only it may enter."""
    scratch = base / secrets.token_hex(8)
    scratch.mkdir(mode=0o700)
    if uid is not None:
        os.chown(scratch, uid, uid)
    return scratch


def freeze_files(pid: int, scratch: Path) -> None:
    """From now on the process can create no file, and none of its files can grow much."""
    with contextlib.suppress(ProcessLookupError, FileNotFoundError):  # it is gone already
        if scratch.stat().st_uid != os.geteuid():
            while _freeze_directories(scratch):
                pass
        elif sys.platform == "linux":
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, 0))


def _freeze_directories(scratch: Path) -> bool:
    """Take every directory from the process; whether one was still its own.

    A directory that it made while we walked shows in the next walk: nothing can be made in
    those that are taken, so the walks come to an end.
    """
    found = False
    # by descriptor, never by name: Deno puts links in there, to its own program too
    for *_, directory in os.fwalk(scratch, follow_symlinks=False):
        if os.fstat(directory).st_uid != os.geteuid():
            os.fchown(directory, os.geteuid(), -1)
            os.fchmod(directory, 0o555)
            found = True
    return found
