"""A run that is cut off anywhere goes on to the same end, and calls nothing again (EX-3).

Real programs in real sandboxes, with the real broker.  Time is virtual, so races, timers and
parallel calls meet after the cut what they would have met without it: not only the end, every
record of what the code did and was given must be the same, to the millisecond.
"""

import random
from collections.abc import Sequence
from functools import partial

import pytest

from pml.domain.ledger import Ledger
from pml.domain.run import LogRecord
from tests.oracle.programs import case
from tests.oracle.sandboxed import Reusing
from tests.oracle.snippets import SNIPPETS
from tests.runtime.resuming.checking import Checked, check_all, difference
from tests.runtime.resuming.lives import Life, Prepared, live

pytestmark = pytest.mark.asyncio(loop_scope="module")

PROGRAMS = 100
CUTS = 6


def resumable(records: Sequence[LogRecord]) -> Ledger:
    """A log as somebody hands it on who lets writes in doubt be tried again."""
    ledger = Ledger(records)
    for call in ledger.in_doubt:
        ledger.allow_retry(call.issued.call, ledger.last_ms)
    return ledger


async def check_cut(program: Prepared, whole: Life, cut: int, pool: Reusing) -> list[str]:
    """In what the run that was cut off there differs."""
    prefix = whole.records[:cut]
    before = Ledger(prefix)
    ledger = resumable(prefix)
    resumed = await live(program, pool, ledger)
    calls = range(len(resumed.ledger.calls))
    again = [c for c in resumed.sent if not before.calls[c : c + 1] or before.calls[c].open]
    found = {
        "end": (whole.outcome(), resumed.outcome()),
        "records": (whole.essence(), resumed.essence()),
        "path": (whole.path, resumed.path),
        "warnings": (() if before.settled else whole.warnings, resumed.warnings),
        "calls that had their outcome": ([], sorted(set(resumed.sent) - set(again))),
        "calls sent twice in one life": ([], [c for c, n in resumed.sent.items() if n > 1]),
        "attempts": (
            [attempts_of(before, call) + resumed.sent[call] for call in calls],
            [resumed.ledger.calls[call].attempts for call in calls],
        ),
    }
    return [
        f"cut at {cut} of {len(whole.records)}: {what}: {difference(wanted, got)}"
        for what, (wanted, got) in found.items()
        if wanted != got
    ]


def attempts_of(ledger: Ledger, call: int) -> int:
    """Requests of a call that the log knows of."""
    return ledger.calls[call].attempts if call < len(ledger.calls) else 0


async def problems_of(program: Prepared, pool: Reusing, cuts: int) -> Checked:
    """How many cuts were tried, and what was wrong."""
    whole = await live(program, pool)
    if whole.ending is None:
        return Checked(0, ())
    dice = random.Random(program.case.seed)
    places = sorted(dice.sample(range(len(whole.records) + 1), min(cuts, len(whole.records) + 1)))
    found = [text for cut in places for text in await check_cut(program, whole, cut, pool)]
    return Checked(len(places), tuple(found))


async def test_generated_programs_go_on_where_they_were_cut_off(reusing: Reusing) -> None:
    checked = partial(problems_of, pool=reusing, cuts=CUTS)
    cuts = await check_all([case(seed) for seed in range(PROGRAMS)], checked)
    assert cuts > PROGRAMS * CUTS * 0.9


async def test_tricky_programs_go_on_where_they_were_cut_off(reusing: Reusing) -> None:
    checked = partial(problems_of, pool=reusing, cuts=3)
    cuts = await check_all(list(SNIPPETS.values()), checked)
    assert cuts > len(SNIPPETS)
