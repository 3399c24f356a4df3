"""Next tool and plans by what is learned, beside the simple methods, with intervals.

Run: python experiments/012-next-and-plans/next_and_plans.py --data FOLDER [SET/TASK/LABEL ...]
"""

import argparse
from pathlib import Path

from pml.evaluation.loading import load
from pml.evaluation.measuring import Round
from pml.evaluation.registry import find

ASKED = ("ultratool/next/test", "n8n/next/test", "sgd/next/seen", "ultratool/plans/test")
METHODS = {
    "next": ("markov1", "ppm3", "pool", "shgat evidence", "shgat"),
    "plans": (
        "kNN-1 plan copy",
        "bm25+kNN20 top voted k",
        "bm25+kNN20 top oracle k",
        "bm25 dr-dsp",
        "kNN20 consensus",
        "shgat consensus",
    ),
}


def main() -> None:
    """Print a row per method."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("asked", nargs="*", default=list(ASKED))
    given = parser.parse_args()
    registry = find()
    for asked in given.asked:
        name, task_name, label = asked.split("/")
        task = next(one for one in registry.tasks if one.name == task_name)
        problems = task.problems(load(given.data / name).dataset)
        problem = next(one for one in problems if one.label == label)
        round_ = Round(name, task, problem, seed=0)
        for method in registry.of_task(task_name):
            if method.name in METHODS[task_name]:
                round_.ask(method)
        result = round_.result()
        for row in () if result is None else result.methods:
            figures = " ".join(
                f"{m.name} {m.value:.3f} [{m.low:.3f}, {m.high:.3f}]"
                for m in row.metrics
                if m.value is not None and m.low is not None and m.high is not None
            )
            against = row.against
            told = (
                ""
                if against is None
                else (f" {against.difference:+.3f} to {against.other}, p {against.p_holm:.4f}")
            )
            print(f"{asked} {row.method}: {row.error or figures}{told} ({row.seconds:.0f} s)")


if __name__ == "__main__":
    main()
