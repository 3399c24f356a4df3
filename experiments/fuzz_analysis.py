"""Fuzz the analysis: random and mutated sources, none of which may crash or hang it (SA-11).

    .venv/bin/python experiments/fuzz_analysis.py --sources 100000 --seed 1

Every source is checked in a worker process, which is replaced when it takes too long.  The last
line is JSON: how many sources, what went wrong with the source that did it, and the slowest.
"""

import argparse
import heapq
import json
import multiprocessing
import random
import re
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pml.domain.tools import Catalog, Tool
from tests.analysis.invariants import check
from tests.analysis.programs import CATALOG, EPIC_10, ONE_OF_EACH
from tests.analysis.test_never_raises import SNIPPETS as TOKENS
from tests.oracle.compare import TOOLS as ORACLE_TOOLS
from tests.oracle.programs import case
from tests.oracle.snippets import SNIPPETS

NAMES = {
    **{server: tuple(tools) for server, tools in CATALOG.servers.items()},
    **ORACLE_TOOLS,
    "fs": (*CATALOG.servers["fs"], *ORACLE_TOOLS["fs"]),
}
TOOLS = Catalog(
    {server: [Tool(server=server, name=name) for name in names] for server, names in NAMES.items()}
)
"""Of all programs in the corpus; without schemas, which would refuse most of the mutated ones."""
CPU_LIMIT_S = 10.0
"""Of processor time for one source: a thousand times what it takes."""
WALL_LIMIT_S = 300.0
"""Until the worker counts as hanging; the machine may be busy with other work."""
_SLOWEST = 5
_SHOWN_CHARS = 2_000
_MAX_CHARS = 20_000
_NAME = re.compile(r"\b[A-Za-z_$][\w$]*")
_NESTING = ("(", ")"), ("[", "]"), ("{", "}"), ("`${", "}`"), ("(() => ", ")"), ("f(", ")")
_REPEATED = (
    "x.",
    "x => ",
    "!",
    "a ? b : ",
    "if (a) b; else ",
    "await ",
    "a + ",
    "const { a: ",
    "[",
)


@dataclass(slots=True)
class Report:
    """What the run found."""

    sources: int = 0
    refused: int = 0
    faults: list[dict[str, str]] = field(default_factory=list)
    slowest: list[tuple[float, str]] = field(default_factory=list)


def corpus(dice: random.Random) -> str:
    """A source to begin with."""
    kind = dice.randrange(4)
    if kind == 0:
        return dice.choice([EPIC_10, ONE_OF_EACH])
    if kind == 1:
        text: str = dice.choice(list(SNIPPETS.values())).source
        return text
    return case(dice.randrange(1_000_000)).source if kind == 2 else _words(dice)  # noqa: PLR2004


def _words(dice: random.Random) -> str:
    return " ".join(dice.choice(TOKENS) for _ in range(dice.randrange(30)))


def _cut(dice: random.Random, text: str) -> str:
    start, end = _range(dice, text)
    return text[:start] + text[end:]


def _double(dice: random.Random, text: str) -> str:
    start, end = _range(dice, text)
    return text[:end] + text[start:end] * dice.randint(1, 3) + text[end:]


def _splice(dice: random.Random, text: str) -> str:
    start, end = _range(dice, text)
    return text[:start] + dice.choice(TOKENS) + text[end:]


def _cross(dice: random.Random, text: str) -> str:
    other = corpus(dice)
    start, end = _range(dice, text)
    first, last = _range(dice, other)
    return text[:start] + other[first:last] + text[end:]


def _nest(dice: random.Random, text: str) -> str:
    start, end = _range(dice, text)
    before, after = dice.choice(_NESTING)
    times = dice.choice([1, 2, 20, 150])
    return text[:start] + before * times + text[start:end] + after * times + text[end:]


def _repeat(dice: random.Random, text: str) -> str:
    start, _end = _range(dice, text)
    return text[:start] + dice.choice(_REPEATED) * dice.choice([2, 30, 300]) + text[start:]


def _noise(dice: random.Random, text: str) -> str:
    data = bytearray(text.encode("utf-8", "surrogatepass"))
    for _ in range(dice.randint(1, 8) if data else 0):
        data[dice.randrange(len(data))] = dice.randrange(256)
    return data.decode("utf-8", dice.choice(["replace", "surrogateescape"]))


def _line(dice: random.Random, text: str) -> str:
    """Whole lines in other places: often still a program."""
    lines = text.split("\n")
    first, second = dice.randrange(len(lines)), dice.randrange(len(lines))
    way = dice.randrange(3)
    if way == 0:
        lines[first], lines[second] = lines[second], lines[first]
    elif way == 1:
        lines.insert(first, lines[second])
    else:
        del lines[first]
    return "\n".join(lines)


def _rename(dice: random.Random, text: str) -> str:
    """A name in the place of another: other bindings, often still a program."""
    names = list(_NAME.finditer(text))
    if not names:
        return text
    one, other = dice.choice(names), dice.choice(names)
    return text[: one.start()] + other[0] + text[one.end() :]


def _range(dice: random.Random, text: str) -> tuple[int, int]:
    start = dice.randrange(len(text) + 1)
    return start, min(len(text), start + dice.choice([0, 1, 3, 10, 40, 200]))


MUTATIONS: tuple[Callable[[random.Random, str], str], ...] = (
    *[_line, _rename] * 8,
    *(_cut, _double, _splice, _splice, _cross, _nest, _repeat, _noise),
)


def source(seed: int) -> str:
    """The source of a seed."""
    dice = random.Random(seed)  # noqa: S311  # no cryptography
    text = corpus(dice)
    for _ in range(dice.choice([1, 1, 2, 2, 3, 5, 8])):
        text = dice.choice(MUTATIONS)(dice, text)[:_MAX_CHARS]
    return text


def _work(link: Connection) -> None:
    """Check what comes in; answer with the time it took, or with what went wrong."""
    while True:
        seed = link.recv()
        started = time.process_time()
        try:
            refused = bool(check(source(seed), TOOLS).errors)
            seconds = time.process_time() - started
            slow = f"took {seconds:.1f} s" if seconds > CPU_LIMIT_S else ""
            link.send((seconds, refused, slow))
        except BaseException:  # noqa: BLE001  # whatever it is, it is what is looked for
            link.send((time.process_time() - started, False, traceback.format_exc()))


class Worker:
    """A process that checks; a new one after each hang."""

    def __init__(self) -> None:
        self._process: Any = None
        self._start()

    def _start(self) -> None:
        self._link, theirs = multiprocessing.Pipe()
        self._process = multiprocessing.Process(target=_work, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()

    def check(self, seed: int) -> tuple[float, bool, str]:
        """Seconds, whether the source was refused, and what went wrong, if anything did."""
        try:
            self._link.send(seed)
            if self._link.poll(WALL_LIMIT_S):
                answer: tuple[float, bool, str] = self._link.recv()
                return answer
            fault = f"hangs: no answer in {WALL_LIMIT_S} s"
        except (EOFError, OSError):
            fault = "the process died"
        self.stop()
        self._start()
        return WALL_LIMIT_S, False, fault

    def stop(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()


def fuzz(seeds: Iterator[int]) -> Report:
    """Check the sources of all seeds."""
    worker, report = Worker(), Report()
    try:
        for seed in seeds:
            seconds, refused, fault = worker.check(seed)
            report.sources += 1
            report.refused += refused
            heapq.heappush(report.slowest, (seconds, str(seed)))
            if len(report.slowest) > _SLOWEST:
                heapq.heappop(report.slowest)
            if fault:
                text = source(seed)[:_SHOWN_CHARS]
                report.faults.append({"seed": str(seed), "fault": fault, "source": text})
                print(f"seed {seed}: {fault.strip().splitlines()[-1]}", file=sys.stderr, flush=True)
            if report.sources % 5_000 == 0:
                print(f"{report.sources} sources", file=sys.stderr, flush=True)
    finally:
        worker.stop()
    return report


def main() -> int:
    """Fuzz, and print what was found; 1 if anything was."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sources", type=int, default=3_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    started = time.perf_counter()
    report = fuzz(iter(range(given.seed, given.seed + given.sources)))
    slowest = [
        {"seed": seed, "ms": round(seconds * 1e3, 1), "chars": len(source(int(seed)))}
        for seconds, seed in sorted(report.slowest, reverse=True)
    ]
    found = {
        "sources": report.sources,
        "refused": report.refused,
        "faults": len(report.faults),
        "found": report.faults[:20],
        "slowest": slowest,
        "wall_s": round(time.perf_counter() - started, 1),
    }
    print(json.dumps(found))
    return 1 if report.faults else 0


if __name__ == "__main__":
    sys.exit(main())
