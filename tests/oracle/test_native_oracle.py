"""Programs through PML do what they do natively (issue 2, item 5; EX-1, SA-5, SA-6; D1).

Compared are calls, arguments, order of issue, order of outcomes and timers, calls that nobody
waited for, unhandled rejections, and the result or error.
"""

from itertools import pairwise

import pytest

from pml.runtime.sandbox.pool import SandboxPool
from tests.oracle.compare import problems, sandbox_problems, unlike
from tests.oracle.native import Native
from tests.oracle.scenario import play
from tests.oracle.snippets import REFUSED, SNIPPETS

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize("name", [name for name in SNIPPETS if name not in REFUSED])
async def test_a_program_through_pml_does_what_it_does_natively(
    name: str, native: Native, pool: SandboxPool
) -> None:
    assert await problems(SNIPPETS[name], native, pool) == []


@pytest.mark.parametrize("name", REFUSED)
async def test_what_pml_does_not_run_it_refuses_with_a_reason(
    name: str, native: Native, pool: SandboxPool
) -> None:
    (problem,) = await problems(SNIPPETS[name], native, pool)
    assert problem.startswith(f"refused: {REFUSED[name]} at line 1: ")


@pytest.mark.parametrize("name", SNIPPETS)
async def test_the_sandbox_alone_runs_a_program_as_it_is(
    name: str, native: Native, pool: SandboxPool
) -> None:
    assert await sandbox_problems(SNIPPETS[name], native, pool) == []


async def test_the_oracle_notices_when_programs_differ(native: Native) -> None:
    """A control: each program beside the next one, which nearly always does something else."""
    seen = [await play(case, native) for case in SNIPPETS.values()]
    differing = [unlike(one, other) for one, other in pairwise(seen)]
    assert sum(bool(what) for what in differing) > len(SNIPPETS) * 0.9
    assert sum(bool(observed.calls) for observed in seen) > len(SNIPPETS) * 0.8


async def test_a_finished_program_is_forgotten(native: Native) -> None:
    """What a program leaves behind does not reach the next one."""
    first = await play(SNIPPETS["loser goes on after the race"], native)
    await play(SNIPPETS["interval"], native)
    again = await play(SNIPPETS["loser goes on after the race"], native)
    assert first == again
