"""Histories for tests of Thompson sampling, and what they should lead to, computed from scratch."""

import math
from collections.abc import Sequence

from hypothesis import strategies as st

from pml.learning.arms import ArmConfig
from pml.learning.thompson import ThompsonSampler
from pml.learning.verdicts import Verdict

SERVERS = ("git", "fs", "mail")
TOOLS = tuple(f"{server}:{tool}" for server in SERVERS for tool in ("read", "write", "drop"))

History = Sequence[tuple[str, Verdict]]
HISTORIES = st.lists(st.tuples(st.sampled_from(TOOLS), st.sampled_from(list(Verdict))), max_size=40)
CONFIGS = st.builds(
    ArmConfig,
    half_life=st.floats(1, 1e4) | st.just(math.inf),
    idle_half_life=st.floats(1, 1e6) | st.just(math.inf),
    prior_strength=st.floats(0.1, 50),
    prior_mean=st.floats(0.05, 0.95),
    exploration=st.floats(0, 3),
)


def taught(history: History, config: ArmConfig | None = None) -> ThompsonSampler:
    """A sampler after this history."""
    sampler = ThompsonSampler(config)
    for tool, outcome in history:
        sampler.record(tool, outcome)
    return sampler


def discounted(history: History, tool: str, config: ArmConfig) -> tuple[float, float]:
    """Successes and failures of a tool, each observation weighed by the formula of `arms`."""
    told = [(t, o) for t, o in history if o is not Verdict.UNINFORMATIVE]
    counts = {Verdict.SUCCESS: 0.0, Verdict.FAILURE: 0.0}
    for position, (one, outcome) in enumerate(told):
        if one == tool:
            own = sum(later == tool for later, _ in told[position + 1 :])
            others = len(told) - 1 - position
            counts[outcome] += 0.5 ** (own / config.half_life + others / config.idle_half_life)
    return counts[Verdict.SUCCESS], counts[Verdict.FAILURE]
