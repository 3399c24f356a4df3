"""A capability with other arguments does what its code does with those literals (SA-9, SA-6).

The oracle is a native run of the source in which somebody wrote the other values by hand.
"""

import asyncio
import json
import random
from dataclasses import replace

import pytest

from pml.analysis.analyse import analyse
from pml.analysis.parameters import bind_capability
from pml.domain.program import Program
from pml.runtime.sandbox.module import module_text
from pml.runtime.sandbox.pool import SandboxPool
from tests.analysis.rewriting import Parsed
from tests.oracle.compare import CATALOG, unlike
from tests.oracle.laws import broken_laws
from tests.oracle.native import Native
from tests.oracle.programs import case
from tests.oracle.sandboxed import sandboxed
from tests.oracle.scenario import Case, play

pytestmark = pytest.mark.asyncio(loop_scope="module")

PROGRAMS = 60
AT_ONCE = 3
OTHERS: tuple[object, ...] = (
    "other",
    "größe \N{ROCKET} '\"`\\",
    -7.5,
    0,
    True,
    None,
    ["a", 1],
    {"deep": [{}, None]},
)


def with_others(original: Case) -> tuple[Case, dict[str, object]]:
    """The case with other values written in, on as many lines, and those values by name."""
    dice = random.Random(original.seed)
    parsed = Parsed(original.source)
    chosen: dict[str, object] = {}
    for lifted in parsed.lifted:
        if dice.random() < 0.7:
            value = chosen[lifted.name] = dice.choice(OTHERS)
            text = parsed.text(lifted.node)
            written = f"({json.dumps(value)})" if isinstance(value, dict) else json.dumps(value)
            lines = sum(map(text.count, "\n\u2028\u2029"))
            parsed.put(lifted.node, written + "\n" * lines)
    return replace(original, source=parsed.done()), chosen


async def problems(seed: int, native: Native, pool: SandboxPool) -> list[str]:
    original = case(seed)
    written, chosen = with_others(original)
    program: Program = analyse(original.source, CATALOG)
    assert program.errors == ()
    literals = {p.name for p in program.parameters if p.lifted}
    args = {name: value for name, value in original.args.items() if name not in literals}
    bound = bind_capability(program.parameters, {**args, **chosen})
    unknown = [p for p in bound.problems if not p.startswith("there is no parameter")]
    assert (bound.missing, unknown, set(bound.lifted)) == ((), [], set(chosen))
    text = module_text(program.instrumented, program.structure.variables)
    async with native.one_at_a_time:
        wanted = await play(written, native)
    async with sandboxed(pool, text, bound.arguments, bound.lifted) as runner:
        got = await play(original, runner)
    return [*unlike(wanted, got), *broken_laws(program, got)]


async def test_other_arguments_do_what_other_literals_do(native: Native, pool: SandboxPool) -> None:
    turn = asyncio.Semaphore(AT_ONCE)

    async def one(seed: int) -> tuple[int, list[str]]:
        async with turn:
            return seed, await problems(seed, native, pool)

    found = await asyncio.gather(*(one(seed) for seed in range(PROGRAMS)))
    wrong = [(seed, what) for seed, what in found if what]
    report = "\n\n".join(
        f"--- seed {seed}\n{with_others(case(seed))[0].source}\n" + "\n".join(what)
        for seed, what in wrong[:3]
    )
    assert not wrong, f"{len(wrong)} of {PROGRAMS} differ:\n{report}"


async def test_other_arguments_matter(native: Native) -> None:
    """A control: most programs do something else with the other literals."""
    differing = 0
    for seed in range(PROGRAMS):
        before, after = await play(case(seed), native), with_others(case(seed))[0]
        differing += bool(unlike(before, await play(after, native)))
    assert differing > PROGRAMS * 0.5
