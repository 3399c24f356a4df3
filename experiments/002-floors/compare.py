"""Does `pml evaluate` reach the figures of floors.md?  Prints every row that differs.

Run:  .venv/bin/python experiments/002-floors/compare.py --data FOLDER [--report report.json]
FOLDER holds the data sets and floors.md.  Without a report of `pml evaluate`, the sets that the
floors name are evaluated first, which takes some minutes.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rows import Row, found_as, rows_of

from pml.domain.evaluation import Evaluation
from pml.domain.record import decode
from pml.evaluation.run import evaluate
from pml.evaluation.work import Order

TOLERANCE = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One row of floors.md beside what was reached."""

    row: Row
    differing: Mapping[str, tuple[float, float | None]]
    """By metric: what floors.md says, and what was reached; empty where all is within reach."""
    missing: bool
    """Nothing like it was evaluated."""


def judged(rows: list[Row], report: Evaluation) -> Iterator[Verdict]:
    """Each row held against the report."""
    for row in rows:
        reached = found_as(row, report)
        differing = {}
        for metric, floor in row.metrics.items():
            value = None if reached is None else reached.get(metric)
            if value is None or abs(value - floor) > TOLERANCE:
                differing[metric] = (floor, value)
        yield Verdict(row=row, differing=differing, missing=reached is None)


def evaluated(data: Path, names: set[str]) -> Evaluation:
    """What `pml evaluate` says of these sets."""
    order = Order(folders=tuple(data / name for name in sorted(names)), tasks=None, methods=None)
    return evaluate(order, processes=2, on_progress=lambda now: print(now.what, file=sys.stderr))


def main() -> int:
    """Print what differs; 1 where anything does."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--report", type=Path)
    arguments = parser.parse_args()
    rows = rows_of((arguments.data / "floors.md").read_text(encoding="utf-8"))
    report = (
        decode(Evaluation, arguments.report.read_bytes())
        if arguments.report
        else evaluated(arguments.data, {row.dataset for row in rows})
    )
    verdicts = list(judged(rows, report))
    for verdict in verdicts:
        row = verdict.row
        if verdict.missing:
            print(f"{row.section} | {row.named} | {row.method} | not evaluated")
        for metric, (floor, value) in verdict.differing.items():
            if not verdict.missing:
                print(f"{row.section} | {row.named} | {row.method} | {metric} {floor} -> {value}")
    alike = sum(not verdict.differing for verdict in verdicts)
    print(f"{alike} of {len(verdicts)} rows are within {TOLERANCE}")
    return 0 if alike == len(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
