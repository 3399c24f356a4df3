"""Checking many programs side by side, and saying of the shortest what is wrong with it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from tests.oracle.scenario import Case
from tests.runtime.resuming.lives import Prepared, prepared

AT_ONCE = 3


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found out about one program."""

    checks: int
    problems: tuple[str, ...]


async def check_all(cases: Sequence[Case], check: Callable[[Prepared], Awaitable[Checked]]) -> int:
    """Check every program that analysis lets pass; how many checks there were."""
    turn = asyncio.Semaphore(AT_ONCE)

    async def one(case: Case) -> Checked:
        async with turn:
            program = prepared(case)
            return Checked(0, ()) if program is None else await check(program)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(case)) for case in cases]
    results = [task.result() for task in tasks]
    wrong = sorted(
        (len(case.source), case.source, checked.problems)
        for case, checked in zip(cases, results, strict=True)
        if checked.problems
    )
    report = "\n\n".join(source + "\n" + "\n".join(problems) for _, source, problems in wrong[:3])
    assert not wrong, f"{len(wrong)} of {len(cases)} programs differ; the shortest:\n{report}"
    return sum(checked.checks for checked in results)


def difference(wanted: object, got: object) -> str:
    """The first place at which two sequences differ, or both values."""
    if isinstance(wanted, list) and isinstance(got, list):
        for place, (one, other) in enumerate(zip_longest(wanted, got)):
            if one != other:
                return f"at {place} of {len(wanted)}, {len(got)}: {one!s:.300} != {other!s:.300}"
    return f"{wanted!s:.300} != {got!s:.300}"
