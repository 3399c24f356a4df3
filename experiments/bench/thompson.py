"""What a threshold and a record cost, over 10,000 tools of 200 servers.

Each figure is the median of single calls, the timer's own cost taken off.  Beside it, in the same
run: mabwiser's Thompson sampling (a draw of all arms, and `partial_fit` with one outcome, over
100 arms, since it has no way to ask for one), and a plain numpy sampler (two arrays of counts; a
draw of one arm's Beta, and an addition), which has neither decay nor prior nor modes.

Run:  .venv/bin/python experiments/bench/thompson.py
"""

import json
import statistics
import time
from collections.abc import Callable, Sequence

import numpy as np
from mabwiser.mab import MAB, LearningPolicy

from pml.learning.probit import ProbitModel
from pml.learning.risk import Risk
from pml.learning.thompson import ThompsonSampler
from pml.learning.thompson_state import export_state, import_state
from pml.learning.thresholds import Mode
from pml.learning.verdicts import Verdict

TOOLS = 10_000
SERVERS = 200
HISTORY = 100_000
CALLS = 50_000
SUCCESS_RATE = 0.8
MABWISER_ARMS = 100
MABWISER_CALLS = 300


def p50_us(work: Callable[[int], object], keys: Sequence[int]) -> float:
    """Median of single calls without the timer."""
    clock = time.perf_counter_ns

    def median(done: Callable[[int], object]) -> float:
        taken = []
        for key in keys:
            started = clock()
            done(key)
            taken.append(clock() - started)
        return statistics.median(taken) / 1_000

    return median(work) - median(lambda _: None)


def main() -> None:
    """Measure and print; the last line is one JSON object."""
    rng = np.random.default_rng(0)
    names = [f"server{number % SERVERS}:tool_{number}" for number in range(TOOLS)]
    ranks = 1 / np.arange(1, TOOLS + 1)
    popular = [int(key) for key in rng.choice(TOOLS, size=HISTORY, p=ranks / ranks.sum())]
    sampler = ThompsonSampler()
    for key in popular:
        sampler.record(
            names[key], Verdict.SUCCESS if rng.random() < SUCCESS_RATE else Verdict.FAILURE
        )
    keys = [int(key) for key in rng.integers(TOOLS, size=CALLS)]
    kinds = [(risk, mode) for risk in Risk for mode in Mode]
    figures = {
        "threshold_p50_us": p50_us(
            lambda key: sampler.get_threshold(names[key], *kinds[key % len(kinds)]), keys
        ),
        "sample_p50_us": p50_us(lambda key: sampler.sample(names[key], rng), keys),
        "record_p50_us": p50_us(lambda key: sampler.record(names[key], Verdict.SUCCESS), keys),
    }
    counts = np.ones((2, TOOLS))

    def add(key: int) -> None:
        counts[0, key] += 1

    figures["numpy_draw_p50_us"] = p50_us(
        lambda key: rng.beta(counts[0, key], counts[1, key]), keys
    )
    figures["numpy_add_p50_us"] = p50_us(add, keys)
    mab = MAB(list(range(MABWISER_ARMS)), LearningPolicy.ThompsonSampling(), seed=0)
    mab.fit(list(range(MABWISER_ARMS)), [1] * MABWISER_ARMS)
    few = [key % MABWISER_ARMS for key in keys[:MABWISER_CALLS]]
    figures["mabwiser_draw_100_p50_us"] = p50_us(lambda _: mab.predict_expectations(), few)
    figures["mabwiser_fit_p50_us"] = p50_us(lambda key: mab.partial_fit([key], [1]), few)
    model = ProbitModel()
    contexts = [[f"tool:{key}", f"server:{key % SERVERS}", *"abcdefgh"] for key in keys[:5_000]]
    each = range(len(contexts))
    figures["context_learn_p50_us"] = p50_us(lambda n: model.learn(contexts[n], success=True), each)
    figures["context_chance_p50_us"] = p50_us(lambda n: model.chance(contexts[n]), each)
    started = time.perf_counter()
    state = export_state(sampler)
    import_state(state)
    figures["export_import_ms"] = (time.perf_counter() - started) * 1_000
    figures["state_kb"] = len(state) / 1_000
    figures["record_ratio_to_mabwiser"] = figures["record_p50_us"] / figures["mabwiser_fit_p50_us"]
    figures["threshold_ratio_to_numpy_draw"] = (
        figures["threshold_p50_us"] / figures["numpy_draw_p50_us"]
    )
    print(f"{TOOLS} tools of {SERVERS} servers, {HISTORY} outcomes")
    print(json.dumps({name: round(value, 3) for name, value in figures.items()}))


if __name__ == "__main__":
    main()
