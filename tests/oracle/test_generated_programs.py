"""300 random programs equal the native oracle (EX-1, SA-5, SA-6).

Beside calls, arguments, order and result: every call carries a site of the structure with
the right tool, and what was decided agrees with the edges of the structure.
"""

import asyncio

import pytest

from tests.oracle.compare import problems
from tests.oracle.native import Native
from tests.oracle.programs import case
from tests.oracle.sandboxed import Reusing
from tests.oracle.scenario import Observed, play

pytestmark = pytest.mark.asyncio(loop_scope="module")

PROGRAMS = 300
AT_ONCE = 3


async def test_generated_programs_do_through_pml_what_they_do_natively(
    native: Native, reusing: Reusing
) -> None:
    turn = asyncio.Semaphore(AT_ONCE)

    async def one(seed: int) -> tuple[int, list[str]]:
        async with turn:
            return seed, await problems(case(seed), native, reusing)

    found = await asyncio.gather(*(one(seed) for seed in range(PROGRAMS)))
    wrong = sorted(
        ((seed, what) for seed, what in found if what), key=lambda f: len(case(f[0]).source)
    )
    report = "\n\n".join(
        f"--- seed {seed}\n{case(seed).source}\n" + "\n".join(what) for seed, what in wrong[:5]
    )
    assert not wrong, f"{len(wrong)} of {PROGRAMS} differ; the shortest:\n{report}"


async def test_generated_programs_are_worth_running(native: Native) -> None:
    """A control: they call, branch, race and fail; most return."""
    seen: list[Observed] = [await play(case(seed), native) for seed in range(PROGRAMS)]
    assert sum(observed.returned is not None for observed in seen) > PROGRAMS * 0.7
    assert sum(observed.threw is not None for observed in seen) > PROGRAMS * 0.05
    assert sum(bool(observed.undelivered) for observed in seen) > PROGRAMS * 0.05
    assert sum(len(observed.calls) for observed in seen) > PROGRAMS * 5
    assert not any(observed.stuck for observed in seen)
    errors = {observed.threw[0] for observed in seen if observed.threw}
    assert "SyntaxError" not in errors


async def test_the_same_seed_gives_the_same_program_and_the_same_world(native: Native) -> None:
    assert case(7) == case(7)
    assert await play(case(7), native) == await play(case(7), native)
