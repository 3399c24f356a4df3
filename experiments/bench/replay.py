"""What drawing and refreshing 256 of 1,000,000 experiences costs, and how it grows.

The named alternatives are torchrl's prioritised sampler (C++ segment trees) and what one would
write without a tree, ``rng.choice(p=...)`` over all weights, in the same run.  All draw 256, get
their importance weights, and take 256 new errors.  torchrl deals in numbers of slots; ours in
keys, so looking keys up is part of its time.

Run:  .venv/bin/python experiments/bench/replay.py
"""

import json
import logging
import math
import statistics
import time
from collections.abc import Callable

import numpy as np
import torch

from pml.learning.replay import ReplayBuffer, ReplayConfig
from pml.learning.sum_tree import SumTree
from tests.learning.torchrl_samplers import load

SIZES = (1_000, 10_000, 100_000, 1_000_000)
BATCH = 256
BETA = 0.4
ROUNDS = 300
NUMPY_ROUNDS = 20


def times_ms(work: Callable[[], object], rounds: int) -> list[float]:
    """Of each round, after some to warm up."""
    for _ in range(3):
        work()
    taken = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        taken.append((time.perf_counter() - started) * 1000)
    return taken


def tree_rounds(size: int, rng: np.random.Generator) -> list[float]:
    """Of the sum tree alone."""
    tree = SumTree(size)
    tree.update(np.arange(size), rng.random(size))

    def work() -> None:
        tree.update(tree.draw(BATCH, rng), rng.random(BATCH))

    return times_ms(work, ROUNDS)


def buffer_rounds(size: int, rng: np.random.Generator) -> tuple[list[float], float]:
    """Of the buffer, and what filling it takes."""
    buffer: ReplayBuffer[str] = ReplayBuffer(ReplayConfig(capacity=size))
    keys = [f"trace_{number}" for number in range(size)]
    started = time.perf_counter()
    buffer.add(keys, rng.random(size))
    filled_s = time.perf_counter() - started

    def work() -> None:
        batch = buffer.draw(BATCH, beta=BETA, rng=rng)
        buffer.refresh(batch.keys, rng.random(BATCH))

    return times_ms(work, ROUNDS), filled_s


def torchrl_rounds(size: int) -> list[float]:
    """Of torchrl's sampler."""
    data = load()
    storage = data.LazyTensorStorage(size)
    storage.set(range(size), torch.arange(size))
    sampler = data.PrioritizedSampler(size, alpha=0.6, beta=BETA)
    sampler.update_priority(torch.arange(size), torch.rand(size))

    def work() -> None:
        index, _ = sampler.sample(storage, BATCH)
        sampler.update_priority(index, torch.rand(BATCH))

    return times_ms(work, ROUNDS)


def numpy_rounds(size: int, rng: np.random.Generator) -> list[float]:
    """Of drawing by probabilities over all weights."""
    weights = rng.random(size) ** 0.6

    def work() -> None:
        chances = weights / weights.sum()
        index = rng.choice(size, BATCH, p=chances)
        _ = (chances[index] / chances.min()) ** -BETA
        weights[index] = rng.random(BATCH) ** 0.6

    return times_ms(work, NUMPY_ROUNDS)


def main() -> None:
    """Measure and print; the last line is one JSON object."""
    torch.set_num_threads(1)
    logging.getLogger("torchrl").setLevel(logging.WARNING)  # it tells of each storage
    rng = np.random.default_rng(0)
    by_size: dict[int, dict[str, float]] = {}
    print(f"draw and refresh {BATCH}, median ms")
    for size in SIZES:
        buffer, filled_s = buffer_rounds(size, rng)
        by_size[size] = {
            "tree_p50_ms": statistics.median(tree_rounds(size, rng)),
            "buffer_p50_ms": statistics.median(buffer),
            "buffer_p95_ms": statistics.quantiles(buffer, n=20)[-1],
            "torchrl_p50_ms": statistics.median(torchrl_rounds(size)),
            "numpy_p50_ms": statistics.median(numpy_rounds(size, rng)),
            "fill_s": filled_s,
        }
        print(f"{size:>9,}", *(f"{name} {value:.3f}" for name, value in by_size[size].items()))
    largest, smallest = by_size[SIZES[-1]], by_size[SIZES[0]]
    figures = largest | {
        "growth_exponent": math.log(largest["buffer_p50_ms"] / smallest["buffer_p50_ms"])
        / math.log(SIZES[-1] / SIZES[0]),
        "ratio_to_torchrl": largest["buffer_p50_ms"] / largest["torchrl_p50_ms"],
        "ratio_to_numpy": largest["buffer_p50_ms"] / largest["numpy_p50_ms"],
    }
    print(json.dumps({name: round(value, 3) for name, value in figures.items()}))


if __name__ == "__main__":
    main()
