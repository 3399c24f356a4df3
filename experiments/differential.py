"""Many generated programs, natively and through PML: 50,000 once (issue 4, EX-1, SA-5, SA-6).

    .venv/bin/python experiments/differential.py --programs 50000 --seed 1 --workers 2

The programs are those of the differential test (`tests.oracle.programs`), here chosen by seed;
each is held against the native run and against the laws of `tests.oracle.laws`.  A progress line
per thousand goes to stderr; failures are shrunk and written as a case file that
``tests/oracle/snippets.txt`` can take in; the last line of stdout is JSON.
"""

import argparse
import asyncio
import json
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.oracle.compare import problems
from tests.oracle.dice import Replayed, Seeded
from tests.oracle.native import Native, native_runner
from tests.oracle.programs import written
from tests.oracle.sandboxed import Reusing, reusing_sandboxes
from tests.oracle.scenario import Case

T = TypeVar("T")

AT_ONCE = 2
"""Programs in flight per worker: one waits for processes while the other is analysed."""
ATTEMPTS = 250
"""Runs spent on making one failure smaller."""
SHRUNK_PER_KIND = 6
"""Further failures of one kind are counted, and not made smaller; nor what takes for ever."""


class Worker:
    """One event loop with a native process and a few sandboxes."""

    def __init__(self, native: Native, sandboxes: Reusing, task: "Task") -> None:
        self._native = native
        self._sandboxes = sandboxes
        self._file = task.failures
        self._deadline = task.deadline
        self.failures: Counter[str] = Counter()

    async def check(self, seed: int) -> bool:
        """Whether the program of the seed keeps all laws; if not, it is shrunk and kept."""
        dice = Seeded(seed)
        source = written(dice, seed).source
        found = await self._problems(written(Replayed(dice.made), seed))
        if not found:
            return True
        kind = _kind(found[0])
        self.failures[kind] += 1
        few = self.failures[kind] <= SHRUNK_PER_KIND and kind != TimeoutError.__name__
        if few and time.monotonic() < self._deadline:
            choices = await self._smaller(dice.made, seed, found)
            source = await self._shorter(written(Replayed(choices), seed), found)
            case = replace(written(dice, seed), source=source)
            found = await self._problems(case)
        with self._file.open("a", encoding="utf-8") as file:
            file.write(_as_case(seed, kind, source, found))
        return False

    async def _problems(self, case: Case) -> list[str]:
        try:
            return await problems(case, self._native, self._sandboxes)
        except Exception as error:  # noqa: BLE001  # whatever it is, it is a failure of the program
            return [f"{type(error).__name__}: {error}"]

    async def _smaller(self, choices: list[int], seed: int, first: list[str]) -> list[int]:
        """Fewer and lower choices whose program fails in the same way."""

        async def fails(tried: list[int]) -> bool:
            found = await self._problems(written(Replayed(tried), seed))
            return _alike(found, first)

        return await _shrink(choices, fails, zero=True)

    async def _shorter(self, case: Case, first: list[str]) -> str:
        """The source without lines that the failure does not need."""

        async def fails(lines: list[str]) -> bool:
            found = await self._problems(replace(case, source="\n".join(lines)))
            return _alike(found, first)

        return "\n".join(await _shrink(case.source.split("\n"), fails, zero=False))


def _alike(found: list[str], wanted: list[str]) -> bool:
    """Whether a failure is of the same kind: the same law, or the same diagnostic, and no other."""
    kinds = {_kind(problem) for problem in found}
    return _kind(wanted[0]) in kinds and kinds <= {_kind(problem) for problem in wanted}


def _kind(problem: str) -> str:
    law, _, rest = problem.partition(":")
    if law in {"refused", "unbound"}:
        return f"{law}:{rest.partition(' at ')[0]}"
    return f"path to {rest.strip()[:1]}" if law == "path" else law


async def _shrink(
    parts: list[T], fails: Callable[[list[T]], Awaitable[bool]], *, zero: bool
) -> list[T]:
    """Leave out ever smaller runs of parts (or make them 0) as long as it still fails."""
    left = ATTEMPTS
    size = max(1, len(parts) // 2)
    while size > 0 and left > 0:
        start = 0
        while start < len(parts) and left > 0:
            for tried in _simpler(parts, start, size, zero=zero):
                left -= 1
                if await fails(tried):
                    parts = tried
                    break
            else:
                start += size
        size //= 2
    return parts


def _simpler(parts: list[T], start: int, size: int, *, zero: bool) -> list[list[T]]:
    part = parts[start : start + size]
    tries = [parts[:start] + parts[start + size :]]
    if zero and any(part):
        simplest: list[Any] = [0] * len(part)
        tries.append([*parts[:start], *simplest, *parts[start + size :]])
    return tries


def _as_case(seed: int, kind: str, source: str, found: Sequence[str]) -> str:
    shown = "\n".join(found[:4])
    return f"\n##### {shown}\n\n=== seed {seed}: {kind}\n{source}\n"


@dataclass(frozen=True, slots=True)
class Task:
    """What one worker does."""

    first: int
    count: int
    deadline: float
    """On the monotonic clock: no program begins after it."""
    failures: Path


async def _run(task: Task) -> tuple[int, Counter[str]]:
    async with native_runner() as native, reusing_sandboxes(AT_ONCE) as sandboxes:
        worker = Worker(native, sandboxes, task)
        seeds = iter(range(task.first, task.first + task.count))
        done = 0

        async def some() -> None:
            nonlocal done
            for seed in seeds:
                if time.monotonic() > task.deadline:
                    return
                await worker.check(seed)
                done += 1
                if done % 500 == 0:
                    failed = worker.failures.total()
                    print(f"from {task.first}: {done}, {failed} fail", file=sys.stderr, flush=True)

        await asyncio.gather(*(some() for _ in range(AT_ONCE)))
        return done, worker.failures


def _work(task: Task) -> tuple[int, Counter[str]]:
    return asyncio.run(_run(task))


def main() -> None:
    """Run the programs and say what came of them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--programs", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=24 * 60.0, help="stop after that long")
    parser.add_argument("--failures", type=Path, default=Path("differential-failures.txt"))
    options = parser.parse_args()
    share = -(-options.programs // options.workers)
    deadline = time.monotonic() + options.minutes * 60
    options.failures.write_text("", encoding="utf-8")
    firsts = [options.seed + n * share for n in range(options.workers)]
    tasks = [Task(first, share, deadline, options.failures) for first in firsts]
    started = time.monotonic()
    with multiprocessing.get_context("spawn").Pool(options.workers) as pool:
        results = pool.map(_work, tasks)
    by_kind = sum((failed for _, failed in results), Counter())
    said = {
        "programs": sum(done for done, _ in results),
        "first_seed": options.seed,
        "violations": by_kind.total(),
        "by_kind": by_kind,
        "seconds": round(time.monotonic() - started, 1),
    }
    print(json.dumps(said))


if __name__ == "__main__":
    main()
