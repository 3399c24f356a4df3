"""The self-test: hostile programs against this machine's sandbox, each with its control.

A probe passes when the attack is refused with all guards on, is refused by its guard alone
(where others would stop it too), succeeds with that guard off, and the next run works.
Every refusal says what stopped it.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from pml.domain.limits import Limits
from pml.domain.record import Record
from pml.errors import SandboxDiedError
from pml.runtime.reaper import Reaper
from pml.runtime.sandbox.canary import Canary, canary
from pml.runtime.sandbox.channel import Listener
from pml.runtime.sandbox.guards import ALL_GUARDS, Guards
from pml.runtime.sandbox.module import module_text
from pml.runtime.sandbox.pool import SandboxPool
from pml.runtime.sandbox.probe import Judge, Probe
from pml.runtime.sandbox.probes import PROBES
from pml.runtime.sandbox.process import Sandbox
from pml.runtime.sandbox.protocol import (
    CallIssued,
    DeliverInput,
    FireInput,
    ProgramReturned,
    ProgramThrew,
    StartInput,
    TimerSet,
)
from pml.runtime.sandbox.tier import Tier

_LIMITS = Limits(heap_mb=64, cpu_s=1)
"""Small enough that an exhausted limit takes a second and not a minute."""
_AT_ONCE = 3
"""More only share two cores, and deadlines would come before programs got to run."""
_DEADLINE_S = 15.0
_DEADLINES_S = {"deadline": 0.7}
"""By guard: a loop needs no time to loop."""
_CONTROL_DEADLINES_S = {"deadline": 0.7, "cpu": 4.0}
"""With the processor limit off a loop outlives that limit, 1 s, by far."""
_STILL_ALIVE_S = 0.3
_NOW_MS = 1_700_000_000_000
_SEED = 20_251_121
_DRAWN = {
    "uuid": "return crypto.randomUUID();",
    "random": "return Math.random();",
    "bytes": "return crypto.getRandomValues(new Uint8Array(8)).join();",
}
"""What hostile programs are told of an honest run's chance, to find another one."""
_MODEST = "return await mcp.a.b({n: 1});"


Facts = dict[str, int | float | str | None]
"""What hostile programs find in ``args``."""


class ProbeResult(Record, frozen=True, kw_only=True):
    """How one attack ended."""

    name: str
    guard: str
    refused: bool
    detail: str
    """What stopped the attack, in one line; of a breach, how it showed."""
    control_succeeded: bool
    """The same attack with its guard off went through: so it was the guard."""
    next_run: bool
    """An ordinary program ran in the same pool afterwards."""

    @property
    def passed(self) -> bool:
        """Refused, proven by the control, and without harm to the next run."""
        return self.refused and self.control_succeeded and self.next_run


class _Evidence(Record, frozen=True, kw_only=True):
    """What is left of one attack."""

    value: str | None = None
    error: str = ""
    end: str = ""
    """A `SandboxEnd`, or empty."""
    survived: bool = False
    forged: bool = False
    output: str = ""
    files: int = 0
    hits: int = 0

    def breach(self, judge: Judge) -> bool:
        """Whether the attack worked."""
        shown = {
            Judge.VALUE: self.value == "breached",
            Judge.KILLED: bool(self.end),
            Judge.HIT: self.hits > 0,
            Judge.OUTPUT: "forged-frame" in self.output,
            Judge.FORGED: self.forged,
            Judge.SURVIVED: self.survived,
            Judge.FILES: self.files > 0,
        }
        return shown[judge]

    def describe(self) -> str:
        """One line."""
        said = "it still runs" if self.survived else f"it returned {self.value!r}"
        return " ".join((self.error or said).split())[:200]


async def selftest(reaper: Reaper, probes: Sequence[Probe] = PROBES) -> AsyncIterator[ProbeResult]:
    """Run the probes that this machine's tier allows; results come as they are ready."""
    async with SandboxPool(limits=_LIMITS, reaper=reaper, size=1) as pool:
        tier = pool.tier
        drawn = {name: await _honest(pool, program) for name, program in _DRAWN.items()}
    gate = asyncio.Semaphore(_AT_ONCE)
    with canary() as bait:
        bench = _Bench(reaper, tier, bait, {"now": _NOW_MS, **drawn})

        async def one(probe: Probe) -> ProbeResult:
            async with gate:
                return await bench.try_out(probe)

        tasks = [asyncio.create_task(one(probe)) for probe in probes if applies(probe, tier)]
        try:
            yield await _stranger()
            for done in asyncio.as_completed(tasks):
                yield await done
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _honest(pool: SandboxPool, program: str) -> str | float | None:
    async with pool.checkout() as sandbox:
        value = (await _follow(sandbox, program, {})).value
    return value if value is None or not value.startswith("0.") else float(value)


def applies(probe: Probe, tier: Tier) -> bool:
    """Whether the machine has the layer that the probe tries."""
    return tier.own_uid or not {"uid", "processes"} & {probe.guard}


def summary(results: Sequence[ProbeResult], tier: Tier) -> str:
    """Two lines for people."""
    passed = sum(result.passed for result in results)
    left_out = sum(not applies(probe, tier) for probe in PROBES)
    gap = f"; {left_out} probes left out, their layer is missing here" if left_out else ""
    return f"{passed} of {len(results)} attacks refused and proven{gap}\n{tier.summary()}"


class _Bench:
    """Tries probes out, each in pools of its own."""

    def __init__(self, reaper: Reaper, tier: Tier, bait: Canary, facts: Facts) -> None:
        self._reaper = reaper
        self._tier = tier
        self._bait = bait
        self._facts = facts

    async def try_out(self, probe: Probe) -> ProbeResult:
        """Attack, attack with the guard alone, control."""
        full, next_run = await self._attack(probe, ALL_GUARDS, control=False)
        refused = not full.breach(probe.judge)
        shown = full
        off = dict.fromkeys(probe.beside, False)
        if refused and off:
            shown, _ = await self._attack(probe, _with(off), control=False)
            refused = not shown.breach(probe.judge)
        control, _ = await self._attack(probe, _with(off | {probe.guard: False}), control=True)
        succeeded = control.breach(probe.judge)
        missed = "" if succeeded else f"; without the guard: {control.describe()}"
        return ProbeResult(
            name=probe.name,
            guard=probe.guard,
            refused=refused,
            detail=shown.describe() + missed,
            control_succeeded=succeeded,
            next_run=next_run,
        )

    async def _attack(
        self, probe: Probe, guards: Guards, *, control: bool
    ) -> tuple[_Evidence, bool]:
        async with self._bait.listen() as door:
            pool = SandboxPool(
                limits=_LIMITS,
                reaper=self._reaper,
                size=0,
                guards=guards,
                environment=door.registries(),
                own_uid=self._tier.own_uid,
            )
            async with pool:
                args = self._facts | self._bait.facts()
                args |= {"port": door.port, "broker": pool.port}
                if probe.first is not None and guards.single_use:
                    async with pool.checkout() as sandbox:
                        await _follow(sandbox, probe.first, args)
                async with pool.checkout() as sandbox:
                    if probe.first is not None and not guards.single_use:
                        await _follow(sandbox, probe.first, args)
                    evidence = await _watch(sandbox, probe, args, guards, control=control)
                if control:
                    return _with_hits(evidence, door.hits), True
                async with pool.checkout() as sandbox:
                    after = await _follow(sandbox, _MODEST, {})
                return _with_hits(evidence, door.hits), after.value == "honest"


def _with(switches: dict[str, bool]) -> Guards:
    return msgspec.structs.replace(ALL_GUARDS, **switches)


def _with_hits(evidence: _Evidence, hits: int) -> _Evidence:
    return msgspec.structs.replace(evidence, hits=hits)


async def _watch(
    sandbox: Sandbox,
    probe: Probe,
    args: Facts,
    guards: Guards,
    *,
    control: bool,
) -> _Evidence:
    """Run an attack and end it at its deadline, where that guard is on."""
    deadlines = _CONTROL_DEADLINES_S if control else _DEADLINES_S
    deadline_s = deadlines.get(probe.guard, _DEADLINE_S)
    try:
        async with asyncio.timeout(deadline_s):
            evidence = await _follow(sandbox, probe.program, args)
        await sandbox.kill()  # only then has everything arrived that it wrote
        return msgspec.structs.replace(evidence, output=sandbox.output)
    except TimeoutError:
        if guards.deadline:
            reached = sandbox.alive and probe.guard != "deadline"
            await sandbox.kill()
            return _Evidence(
                error=f"killed at the deadline of {deadline_s} s",
                survived=reached,
                output=sandbox.output,
            )
        await asyncio.sleep(_STILL_ALIVE_S)
        return _Evidence(survived=sandbox.alive)


async def _follow(sandbox: Sandbox, program: str, args: Facts) -> _Evidence:
    """Run a program, answer its calls and fire its timers, until it settles or dies."""
    forged = False
    new_files = _FileCount(sandbox)
    try:
        sandbox.start(
            StartInput(
                module=module_text(program, ()),
                arguments=msgspec.json.encode(args).decode(),
                seed=_SEED,
                now_ms=_NOW_MS,
            )
        )
        while True:
            turn = await sandbox.turn()
            sandbox.freeze()
            new_files.begin()
            for item in turn.items:
                match item:
                    case CallIssued(call=call, tool=tool):
                        forged = forged or tool == "forged"
                        answer = msgspec.Raw(b'"honest"')
                        sandbox.deliver(DeliverInput(call=call, now_ms=_NOW_MS, value=answer))
                    case TimerSet(timer=timer):
                        sandbox.fire(FireInput(timer=timer, now_ms=_NOW_MS))
                    case ProgramReturned(value=text):
                        value = str(msgspec.json.decode(text))
                        return _Evidence(
                            value=value,
                            forged=forged,
                            files=new_files.end(),
                        )
                    case ProgramThrew(name=name, message=message):
                        return _Evidence(
                            error=f"{name}: {message}",
                            forged=forged,
                            files=new_files.end(),
                        )
    except SandboxDiedError as error:
        return _Evidence(error=str(error), end=error.reason, forged=forged)


class _FileCount:
    """Files with content that appear in a sandbox's directory after its program began."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._before: frozenset[Path] | None = None

    def begin(self) -> None:
        if self._before is None:  # also what is still empty: the program's own, being written
            self._before = frozenset(self._modules())

    def end(self) -> int:
        new = set(self._modules()) - (self._before or frozenset())
        return sum(path.stat().st_size > 0 for path in new)

    def _modules(self) -> Iterator[Path]:
        return (self._sandbox.scratch / "gen").rglob("*.js")


async def _stranger() -> ProbeResult:
    """A local process that does not know the token connects where a sandbox is expected."""

    async def connect(*, check_token: bool) -> tuple[bool, int]:
        async with Listener(max_frame=1_000, check_token=check_token) as listener:
            _, channel = listener.expect()
            reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
            writer.write(b"\0\0\0\5guess")
            dropped = asyncio.ensure_future(reader.read())
            either: set[asyncio.Future[Any]] = {channel, dropped}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            taken = channel.done()
            dropped.cancel()
            writer.close()
            channel.cancel()
            return taken, listener.refused

    async with asyncio.timeout(_DEADLINE_S):
        taken, refused = await connect(check_token=True)
        control, _ = await connect(check_token=False)
    return ProbeResult(
        name="connect with a guessed token",
        guard="token",
        refused=not taken,
        detail=f"{refused} connection dropped: its first frame was no token of ours",
        control_succeeded=control,
        next_run=True,
    )
