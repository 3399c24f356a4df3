"""One process per run: limits, ends, and what is left afterwards (EX-2; D3; OP-5)."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import psutil
import pytest

from pml.domain.limits import Limits
from pml.errors import SandboxDiedError, SandboxError
from pml.runtime.reaper import Reaper
from pml.runtime.sandbox.guards import Guards
from pml.runtime.sandbox.pool import SandboxPool
from pml.runtime.sandbox.process import Sandbox
from pml.runtime.sandbox.protocol import SandboxEnd
from tests.runtime.sandbox.driver import drive, run_program, start_input

pytestmark = pytest.mark.asyncio(loop_scope="module")

_SMALL = Limits(heap_mb=64, cpu_s=1, output_bytes=100_000)
_MODEST = "return await mcp.a.b({n: 1});"


async def _death(sandbox: Sandbox, source: str) -> SandboxDiedError:
    with pytest.raises(SandboxDiedError) as caught:
        await drive(sandbox, source)
    return caught.value


@pytest.mark.parametrize(
    ("source", "end", "words"),
    [
        ("const a = []; for (;;) a.push(new Array(1e5).fill(0.5));", SandboxEnd.MEMORY, "heap_mb"),
        ("for (;;);", SandboxEnd.CPU, "cpu_s"),
        ("for (;;) console.log('x'.repeat(1000));", SandboxEnd.OUTPUT, "output_bytes"),
    ],
)
async def test_a_program_that_exhausts_a_limit_ends_with_its_name(
    reaper: Reaper, source: str, end: SandboxEnd, words: str
) -> None:
    async with SandboxPool(limits=_SMALL, reaper=reaper, size=0) as pool:
        async with pool.checkout() as sandbox:
            died = await _death(sandbox, source)
            assert (died.reason, words in str(died)) == (end, True)
            assert len(sandbox.output) <= _SMALL.output_bytes
            assert not sandbox.alive
        assert (await run_program(pool, _MODEST)).value == {"n": 1}


async def test_kill_leaves_no_process_and_no_file(pool: SandboxPool) -> None:
    async with pool.checkout() as sandbox, asyncio.timeout(20):
        sandbox.start(start_input("for (;;);"))
        assert sandbox.scratch.is_dir()
        await sandbox.kill()
        await sandbox.kill()
        assert not psutil.pid_exists(sandbox.pid)
        assert not sandbox.scratch.exists()
        with pytest.raises(SandboxDiedError) as caught:
            await sandbox.turn()
    assert caught.value.reason == SandboxEnd.KILLED


async def test_a_sandbox_killed_from_outside_says_so(pool: SandboxPool) -> None:
    async with pool.checkout() as sandbox, asyncio.timeout(20):
        sandbox.start(start_input("await mcp.a.b();"))
        await sandbox.turn()
        os.kill(sandbox.pid, signal.SIGKILL)
        with pytest.raises(SandboxDiedError) as caught:
            await sandbox.turn()
    assert caught.value.reason == SandboxEnd.KILLED


_CALL_5 = (
    '{"consumed":1,"items":[{"type":"issue","call":5,"site":"","server":"a","tool":"b",'
    '"arguments":"{}"}]}'
)


async def test_a_frame_that_is_no_turn_ends_the_run(reaper: Reaper) -> None:
    """With the private port switched off the program can write frames of its own."""
    guards = Guards(private_port=False, stamp=False, globals=False)
    for garbage, words in [
        ("no json", "malformed"),
        ('{"consumed":1,"items":[],"more":1}', "unknown field"),
        ('{"consumed":1,"items":[{"type":"magic"}]}', "magic"),
        ('{"consumed":9,"items":[]}', "9 of 1"),
        (_CALL_5, "call 5"),
    ]:  # fmt: skip
        async with (
            SandboxPool(limits=_SMALL, reaper=reaper, size=0, guards=guards) as pool,
            pool.checkout() as sandbox,
        ):
            died = await _death(sandbox, f"self.postMessage({garbage!r}); await mcp.a.b();")
            assert died.reason == SandboxEnd.PROTOCOL
            assert words in str(died)
            assert not psutil.pid_exists(sandbox.pid)


def _limits(pid: int) -> dict[str, list[str]]:
    """Soft and hard limit by name."""
    lines = Path(f"/proc/{pid}/limits").read_text().splitlines()
    return {line[:26].strip(): line[26:].split()[:2] for line in lines}


async def test_the_process_has_its_limits_and_nothing_of_ours(pool: SandboxPool) -> None:
    async with pool.checkout() as sandbox:
        process = psutil.Process(sandbox.pid)
        assert os.getsid(sandbox.pid) == sandbox.pid == os.getpgid(sandbox.pid)
        assert process.cwd() == "/"
        if sys.platform == "linux":
            rows = _limits(sandbox.pid)
            assert rows["Max core file size"] == ["0", "0"]
            assert rows["Max data size"] == ["1500000000"] * 2
            assert rows["Max cpu time"] == ["60", "62"]
            assert rows["Max open files"] == ["64", "64"]
        names = set(process.environ())
        assert names == {"DENO_DIR", "DENO_NO_UPDATE_CHECK", "LANG", "NO_COLOR", "TZ"}
        assert sandbox.scratch.stat().st_mode & 0o077 == 0
        if pool.tier.own_uid:
            assert process.uids().real == process.uids().saved == sandbox.scratch.stat().st_uid
            assert process.uids().real != os.getuid()
            assert process.gids().real != os.getgid()


async def test_two_sandboxes_share_nothing(pool: SandboxPool) -> None:
    async with pool.checkout() as one, pool.checkout() as two:
        assert one.pid != two.pid
        assert one.scratch != two.scratch


async def test_a_deno_that_does_not_start_is_an_error_with_its_reason(
    reaper: Reaper, tmp_path: Path
) -> None:
    broken = tmp_path / "deno"
    broken.write_text("#!/bin/sh\necho broken >&2; exit 3\n")
    broken.chmod(0o755)
    guards = Guards(uid=False)
    for deno, words in ((broken, "broken"), (tmp_path / "none", "No such file")):
        async with SandboxPool(
            limits=Limits(), reaper=reaper, size=1, deno=deno, guards=guards
        ) as pool:
            with pytest.raises(SandboxError, match=words):
                async with pool.checkout():
                    pass
