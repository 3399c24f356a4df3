"""A run that pauses before each frontier does what one does that never pauses (EX-5; rule 9).

Pausing changes when calls go out, and so may change who wins a race.  What it must do is
therefore what the same program does in one go against servers that take a call no sooner than
all calls before it have been answered and the code waits.
"""

from collections import Counter
from functools import partial

import pytest

from pml.domain.ledger import Ledger
from pml.domain.run import Checkpoint, RunState
from tests.oracle.programs import case
from tests.oracle.sandboxed import Reusing
from tests.oracle.snippets import SNIPPETS
from tests.runtime.resuming.checking import Checked, check_all, difference
from tests.runtime.resuming.lives import Life, Prepared, live

pytestmark = pytest.mark.asyncio(loop_scope="module")

PROGRAMS = 60


async def by_layers(program: Prepared, pool: Reusing) -> tuple[list[Life], Ledger]:
    """Run the program pause by pause; every life of it, and its log."""
    ledger, lives = Ledger(), []
    while True:
        life = await live(program, pool, ledger, layered=True, per_layer=True)
        lives.append(life)
        if life.ending is None or life.ending.state is not RunState.PAUSED:
            return lives, ledger
        assert life.ending.checkpoint is not None
        ledger = Ledger(life.records)
        ledger.continue_(life.ending.checkpoint.checkpoint_id, ledger.last_ms)


async def problems_of(program: Prepared, pool: Reusing) -> Checked:
    """In what the run that pauses differs; how often it paused."""
    whole = await live(program, pool, layered=True)
    lives, ledger = await by_layers(program, pool)
    last, sent = lives[-1], sum((life.sent for life in lives), start=Counter[int]())
    layers = [record.layer for record in ledger.records if isinstance(record, Checkpoint)]
    found = {
        "end": (whole.outcome(), last.outcome()),
        "records": (whole.essence(), last.essence()),
        "path": (whole.path, last.path),
        "requests": (whole.sent, sent),
        "frontiers": (list(range(1, whole.frontiers)), layers),
    }
    return Checked(
        len(layers),
        tuple(
            f"{what}: {difference(wanted, got)}"
            for what, (wanted, got) in found.items()
            if wanted != got
        ),
    )


async def test_generated_programs_pause_and_come_to_the_same_end(reusing: Reusing) -> None:
    checked = partial(problems_of, pool=reusing)
    assert await check_all([case(seed) for seed in range(PROGRAMS)], checked) > PROGRAMS


async def test_tricky_programs_pause_and_come_to_the_same_end(reusing: Reusing) -> None:
    checked = partial(problems_of, pool=reusing)
    assert await check_all(list(SNIPPETS.values()), checked) > len(SNIPPETS) / 2
