"""The sample set: 60 tools of 12 servers, 400 requests, 260 recorded runs.

It is small enough to be read, and has what a real set has: procedures that show only in use,
intents in other words than the tools' texts, tools that nobody used before the test, calls
that fail for reasons.  All words are ours; the figures of methods on it mean nothing outside.
"""

import numpy as np

from pml.evaluation.dataset import Dataset
from pml.evaluation.sample.requests import requests
from pml.evaluation.sample.runs import runs
from pml.evaluation.sample.town import dependencies, tools

NAME = "errands"
SEED = 7
N_REQUESTS = 400
N_RUNS = 260


def errands(seed: int = SEED, *, n_requests: int = N_REQUESTS, n_runs: int = N_RUNS) -> Dataset:
    """The set; equal seeds and sizes make equal sets."""
    rng = np.random.default_rng(seed)
    asked = requests(rng, n_requests)
    episodes, calls = runs(rng, asked, tools(), n_runs)
    return Dataset(
        name=NAME,
        tools=tools(),
        workflows=tuple(request.workflow for request in asked),
        calls=calls,
        episodes=episodes,
        dependencies=dependencies(),
    )
