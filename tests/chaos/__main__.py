"""``make chaos``: kill everything again and again, then judge.

    python -m tests.chaos --kills 500 --seed 7

Prints what was struck and how it went; exit status 1, and the folder with all logs is kept, if
anything did not hold.  The seed fixes programs, faults and answers; what meets what is up to
the machine, so that a failure shows again with the same seed often, not always.
"""

import argparse
import asyncio
import json
import secrets
import shutil
import signal
import statistics
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.chaos.chaos import Chaos, Outcome
from tests.chaos.evidence import Recovery
from tests.chaos.faults import KINDS
from tests.chaos.site import Site
from tests.chaos.verdict import answered_by_server, violations

SHOWN = 10
"""Violations of one kind that are printed; the others are counted."""


def main() -> int:
    """Make one chaos and judge it."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # whoever ends us: leave nothing
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", default=None, help="of a run before; else a new one")
    parser.add_argument("--keep", action="store_true", help="keep the folder in any case")
    parser.add_argument("--only", nargs="+", default=(), choices=KINDS, help="kinds of faults")
    options = parser.parse_args()
    seed = options.seed or secrets.token_hex(4)
    folder = Path(tempfile.mkdtemp(prefix="pml-chaos-"))
    say(f"seed {seed}, {options.kills} kills, in {folder}")
    began = time.monotonic()
    chaos = Chaos(Site.make(folder), seed, options.kills, say, options.only)
    outcome = asyncio.run(chaos.run())
    found = violations(outcome.evidence)
    report(outcome, time.monotonic() - began)
    for name, sentences in found.items():
        say(f"{'FAILED' if sentences else 'held'}: {name}")
        for sentence in sentences[:SHOWN]:
            say(f"    {sentence}")
        if len(sentences) > SHOWN:
            say(f"    and {len(sentences) - SHOWN} more")
    failed = any(found.values())
    if failed or options.keep:
        say(f"everything is in {folder}; again with: python -m tests.chaos --seed {seed}")
    else:
        shutil.rmtree(folder, ignore_errors=True)
    say(json.dumps(summary(outcome, time.monotonic() - began, ok=not failed)))
    return int(failed)


def report(outcome: Outcome, took_s: float) -> None:
    """What happened."""
    evidence, load = outcome.evidence, outcome.load
    states = Counter(kept.run.state.value for kept in evidence.kept.values())
    hits = sum(one.under_way > 0 for one in outcome.struck)
    say(f"{len(outcome.struck)} kills in {took_s:.0f} s, {hits} with a request under way:")
    for kind, count in Counter(one.fault.kind for one in outcome.struck).most_common():
        say(f"    {count:4} {kind}")
    say(f"servers were started {outcome.starts} times")
    say(f"{len(evidence.kept)} runs: {_counts(states)}")
    epochs = [kept.run.epoch for kept in evidence.kept.values()]
    say(f"taken over or resumed {sum(epochs)} times, one of them {max(epochs)} times")
    calls = [
        call
        for kept in evidence.kept.values()
        for call in kept.ledger.calls
        if not call.issued.of_capability
    ]
    attempts = sum(call.attempts for call in calls)
    cut_off = attempts - sum(map(answered_by_server, calls))
    say(
        f"{len(calls)} calls in {attempts} attempts, {cut_off} of them cut off; "
        f" the servers counted {len(evidence.requests)}"
    )
    say(f"{len(evidence.told)} answers told, {len(evidence.retried)} retries asked for")
    say(f"requests: {_counts(load.outcomes)}")
    for what, calm in (("between bursts", True), ("amid more kills", False)):
        say(f"recovery {what}: {_spread([r for r in evidence.recoveries if r.calm is calm])}")


def _spread(recoveries: list[Recovery]) -> str:
    """How long they took, in words."""
    if not recoveries:
        return "no run needed any"
    times = sorted(one.took_s for one in recoveries)
    at = [times[min(len(times) - 1, len(times) * percent // 100)] for percent in (50, 95)]
    return (
        f"{len(times)}; median {at[0]:.2f} s, 95 % {at[1]:.2f} s, longest {times[-1]:.2f} s "
        f"(servers started in {statistics.median(one.boot_s for one in recoveries):.1f} s)"
    )


def summary(outcome: Outcome, took_s: float, *, ok: bool) -> dict[str, object]:
    """The same for programs."""
    calm = [one.took_s for one in outcome.evidence.recoveries if one.calm]
    return {
        "ok": ok,
        "kills": len(outcome.struck),
        "under_way": sum(one.under_way > 0 for one in outcome.struck),
        "runs": len(outcome.evidence.kept),
        "resumed": sum(kept.run.epoch for kept in outcome.evidence.kept.values()),
        "longest_recovery_s": round(max(calm, default=0.0), 2),
        "took_s": round(took_s, 1),
    }


def _counts(counter: Counter[str]) -> str:
    return ", ".join(f"{count} {what}" for what, count in counter.most_common())


def say(line: str) -> None:
    """One line on stdout, now."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
