"""How fast is the sandbox?  Dispatch, calls, memory, runs per second, and two alternatives.

The last line is a JSON object.  The named alternatives run in the same minutes on the same
machine: a new worker per program inside one Deno process (what the peer system does per task;
it cannot be killed), and a fresh ``deno run`` per program.

Run:  .venv/bin/python experiments/bench/sandbox.py
"""

import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import psutil

from pml.domain.limits import Limits
from pml.runtime.reaper import Reaper
from pml.runtime.sandbox.module import module_text
from pml.runtime.sandbox.pool import SandboxPool
from pml.runtime.sandbox.protocol import CallIssued, DeliverInput, ProgramReturned, StartInput
from pml.runtime.sandbox.tier import find_deno

_NOW_MS = 1_700_000_000_000
_CALLS = 500
_ROUNDS = 40
_LINES = """
interface Entry { name: string; size: number }
const wanted: string[] = ["a", "b", "c"];
const sizes = new Map<string, number>();
for (const name of wanted) sizes.set(name, name.length);
const total = [...sizes.values()].reduce((sum, size) => sum + size, 0);
const entry: Entry = { name: "x", size: total };
"""
_ONE_CALL = _LINES + 'return await mcp.fs["read\u22a5n1"]({ path: entry.name });'
_MANY_CALLS = (
    f"for (let i = 0; i < {_CALLS}; i++) await mcp.fs['read\u22a5n1']({{ path: `f${{i}}` }});"
)
_WORKER_HOST = """
const source = %s;
for await (const _ of Deno.stdin.readable) {
  const url = URL.createObjectURL(new Blob([source], { type: "application/typescript" }));
  const worker = new Worker(url, { type: "module", deno: { permissions: "none" } });
  await new Promise((resolve) => { worker.onmessage = resolve; });
  Deno.stdout.writeSync(new Uint8Array([10]));
  worker.terminate();
}
"""
_FLAGS = ("--quiet", "--unstable-worker-options", "--no-prompt", "--no-remote", "--no-npm",
          "--no-config", "--no-lock")  # fmt: skip


def _start(source: str) -> StartInput:
    return StartInput(module=module_text(source, ()), arguments="{}", seed=1, now_ms=_NOW_MS)


async def _dispatch(pool: SandboxPool) -> float:
    """Milliseconds from the hand-over of the code to the arrival of its first call."""
    await pool.warm()
    async with pool.checkout() as sandbox:
        program = _start(_ONE_CALL)
        started = time.perf_counter()
        sandbox.start(program)
        while not any(isinstance(item, CallIssued) for item in (await sandbox.turn()).items):
            pass
        return (time.perf_counter() - started) * 1e3


async def _calls(pool: SandboxPool) -> list[float]:
    """Milliseconds from an answer to the next call, in a loop."""
    await pool.warm()
    taken: list[float] = []
    async with pool.checkout() as sandbox:
        sandbox.start(_start(_MANY_CALLS))
        answered = None
        while True:
            for item in (await sandbox.turn()).items:
                if isinstance(item, ProgramReturned):
                    return taken
                assert isinstance(item, CallIssued)
                now = time.perf_counter()
                if answered is not None:
                    taken.append((now - answered) * 1e3)
                answered = now
                value = msgspec.Raw(b'{"text":"hello"}')
                sandbox.deliver(DeliverInput(call=item.call, now_ms=_NOW_MS, value=value))


async def _run(pool: SandboxPool) -> None:
    async with pool.checkout() as sandbox:
        sandbox.start(_start("return 1;"))
        while not (await sandbox.turn()).items:
            pass


async def _runs_per_s(pool: SandboxPool) -> float:
    """Whole runs, two at a time, each in a process of its own."""
    gate = asyncio.Semaphore(2)

    async def one() -> None:
        async with gate:
            await _run(pool)

    await pool.warm()
    started = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(_ROUNDS)))
    return _ROUNDS / (time.perf_counter() - started)


async def _memory(pool: SandboxPool) -> float:
    """Megabytes that one warm sandbox adds (PSS: shared pages are shared out)."""
    await pool.warm()
    async with pool.checkout() as one, pool.checkout() as two:
        sizes = [psutil.Process(sandbox.pid).memory_full_info().pss for sandbox in (one, two)]
    return statistics.mean(sizes) / 1e6


async def _fresh_worker(scratch: Path) -> list[float]:
    host = scratch / "worker_host.js"
    host.write_text(_WORKER_HOST % json.dumps(_LINES + "postMessage(entry);"))
    process = await _deno(host)
    assert process.stdin is not None
    assert process.stdout is not None
    stdin, stdout = process.stdin, process.stdout

    async def one() -> None:
        stdin.write(b"\n")
        await stdout.readline()

    try:
        return await _timed(one)
    finally:
        process.kill()
        await process.wait()


async def _subprocess(scratch: Path) -> list[float]:
    program = scratch / "program.ts"
    program.write_text(_LINES + "console.log(entry.name);")

    async def one() -> None:
        process = await _deno(program)
        assert process.stdout is not None
        await process.stdout.readline()
        await process.wait()

    return await _timed(one)


async def _timed(work: Callable[[], Awaitable[None]]) -> list[float]:
    await work()  # the first pays for caches
    taken = []
    for _ in range(_ROUNDS):
        started = time.perf_counter()
        await work()
        taken.append((time.perf_counter() - started) * 1e3)
    return taken


async def _deno(script: Path) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        str(find_deno()), "run", *_FLAGS, str(script),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        env={"DENO_DIR": str(script.parent), "NO_COLOR": "1"},
    )  # fmt: skip


async def measure(scratch: Path) -> dict[str, float | str]:
    """All figures."""
    with Reaper.start() as reaper:
        async with SandboxPool(limits=Limits(), reaper=reaper, size=2) as pool:
            await _dispatch(pool)
            dispatch = [await _dispatch(pool) for _ in range(_ROUNDS)]
            calls = await _calls(pool)
            memory_mb = await _memory(pool)
            runs_per_s = await _runs_per_s(pool)
            tier = pool.tier.summary()
    worker = statistics.median(await _fresh_worker(scratch))
    process = statistics.median(await _subprocess(scratch))
    dispatch_p50 = statistics.median(dispatch)
    return {
        "dispatch_p50_ms": dispatch_p50,
        "dispatch_p95_ms": statistics.quantiles(dispatch, n=20)[-1],
        "call_p50_ms": statistics.median(calls),
        "call_p95_ms": statistics.quantiles(calls, n=20)[-1],
        "fresh_worker_p50_ms": worker,
        "subprocess_p50_ms": process,
        "fresh_worker_ratio": worker / dispatch_p50,
        "subprocess_ratio": process / dispatch_p50,
        "memory_mb_per_warm_sandbox": memory_mb,
        "runs_per_s": runs_per_s,
        "tier": tier,
    }


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as name:
        figures = asyncio.run(measure(Path(name)))
    rounded = {k: round(v, 3) if isinstance(v, float) else v for k, v in figures.items()}
    print(json.dumps(rounded))


if __name__ == "__main__":
    main()
