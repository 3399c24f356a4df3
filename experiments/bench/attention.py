"""What attention over pairs costs in dgl and in torch: forward, backward, and preparing pairs.

Four heads of 32, random pairs sorted by target as those of a graph are, in turns in the same run,
medians.  Torch is the named alternative: it is the reference, and all there is on Python 3.12.

Run:  .venv/bin/python experiments/bench/attention.py
      OMP_NUM_THREADS=1 .venv/bin/python experiments/bench/attention.py   (on a busy machine)
"""

import json
import statistics
import time
from collections.abc import Callable
from itertools import pairwise

import torch

from pml.models.attention import Aggregation, Pairs, TorchAggregation
from pml.models.dgl_attention import DglAggregation

HEADS, HEAD_DIM = 4, 32
SIZES = ((5_000, 1_000, 500), (100_000, 10_000, 5_000))
"""Pairs, sources, targets."""
REPEATS = 15
LIBRARIES: dict[str, Callable[[Pairs], Aggregation]] = {
    "torch": TorchAggregation,
    "dgl": DglAggregation,
}


def main() -> None:
    """Print a row per library and size, then all as JSON."""
    found: dict[str, float] = {"threads": torch.get_num_threads()}
    for n_pairs, n_sources, n_targets in SIZES:
        for library, times in measured(random_pairs(n_pairs, n_sources, n_targets)).items():
            forward, backward, make = (1e3 * statistics.median(of) for of in times)
            print(
                f"{n_pairs:>7} pairs  {library:5}  forward {forward:6.1f} ms  "
                f"backward {backward:6.1f} ms  preparing pairs {make:6.2f} ms"
            )
            found[f"{library}_{n_pairs}_forward_ms"] = round(forward, 2)
            found[f"{library}_{n_pairs}_backward_ms"] = round(backward, 2)
        ratio = total(found, "torch", n_pairs) / total(found, "dgl", n_pairs)
        found[f"torch_to_dgl_{n_pairs}"] = round(ratio, 2)
    print(json.dumps(found))


def total(found: dict[str, float], library: str, n_pairs: int) -> float:
    """Forward and backward."""
    return sum(found[f"{library}_{n_pairs}_{way}_ms"] for way in ("forward", "backward"))


def random_pairs(n_pairs: int, n_sources: int, n_targets: int) -> Pairs:
    """Sorted by target."""
    generator = torch.Generator().manual_seed(0)
    return Pairs(
        sources=torch.randint(n_sources, (n_pairs,), generator=generator),
        targets=torch.randint(n_targets, (n_pairs,), generator=generator).sort().values,
        n_sources=n_sources,
        n_targets=n_targets,
    )


def measured(pairs: Pairs) -> dict[str, tuple[list[float], list[float], list[float]]]:
    """Seconds of forward, backward and preparing, by library; in turns."""
    generator = torch.Generator().manual_seed(1)
    parts = [
        torch.randn(size, HEADS, HEAD_DIM, generator=generator, requires_grad=True)
        for size in (pairs.n_sources, pairs.n_targets)
    ]
    parts.append(torch.randn(HEADS, HEAD_DIM, generator=generator, requires_grad=True))
    times: dict[str, tuple[list[float], list[float], list[float]]] = {
        library: ([], [], []) for library in LIBRARIES
    }
    for turn in range(REPEATS + 1):
        for library, make in LIBRARIES.items():
            moments = [time.perf_counter()]
            aggregate = make(pairs)
            moments.append(time.perf_counter())
            result = aggregate(*parts)
            moments.append(time.perf_counter())
            torch.autograd.grad(result.square().sum(), parts)
            moments.append(time.perf_counter())
            if turn:  # the first warms up
                made, forward, backward = (end - start for start, end in pairwise(moments))
                for of, took in zip(times[library], (forward, backward, made), strict=True):
                    of.append(took)
    return times


if __name__ == "__main__":
    main()
