"""Random runs over the tools and capabilities of `tests.features.graphs`."""

import numpy as np

from pml.features.activity import Activity, CallSeen, RunSeen
from tests.features.graphs import TOOLS

NOW_MS = 10**12
_ARGUMENTS: tuple[object, ...] = ({"path": "/a.json"}, {"channel": "#prod", "n": 3}, {}, None)


def random_runs(seed: int, most: int = 12) -> list[RunSeen]:
    rng = np.random.default_rng(seed)
    return [_run(rng) for _ in range(rng.integers(most + 1))]


def activity_of(runs: list[RunSeen]) -> Activity:
    activity = Activity()
    for run in runs:
        activity.add(run)
    return activity


def _run(rng: np.random.Generator) -> RunSeen:
    calls = tuple(
        CallSeen(
            tool=str(rng.choice(TOOLS)),
            arguments=_ARGUMENTS[rng.integers(len(_ARGUMENTS))],
            success=(True, False, None)[rng.integers(3)],
        )
        for _ in range(rng.integers(5))
    )
    return RunSeen(
        at_ms=NOW_MS - int(rng.integers(10**10)),
        calls=calls,
        capability=(None, "c0", "c1", "c2")[rng.integers(4)],
        arguments=_ARGUMENTS[rng.integers(len(_ARGUMENTS))],
        success=(True, False)[rng.integers(2)],
    )
