"""Activity kept up run by run (LE-5): the order of runs does not matter, nothing counts twice."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.features.activity import Activity, CallSeen, RunSeen
from tests.features.graphs import TOOLS
from tests.features.runs import NOW_MS, activity_of, random_runs

SEEDS = st.integers(0, 10**6)


@given(seed=SEEDS)
def test_counts_are_those_of_the_runs(seed: int) -> None:
    runs = random_runs(seed)
    activity = activity_of(runs)
    for tool in TOOLS:
        outcomes = [call.success for run in runs for call in run.calls if call.tool == tool]
        node = activity.tool(tool)
        assert node.runs == sum(any(c.tool == tool for c in run.calls) for run in runs)
        assert (node.successes, node.failures) == (outcomes.count(True), outcomes.count(False))
    for key in ("c0", "c1", "c2"):
        own = [run.success for run in runs if run.capability == key]
        node = activity.capability(key)
        assert (node.runs, node.successes) == (len(own), own.count(True))
    assert activity.runs == sum(run.capability is not None for run in runs)
    assert activity.together.runs == len(runs)


@given(seed=SEEDS)
def test_the_order_of_runs_does_not_matter(seed: int) -> None:
    runs = random_runs(seed)
    one, other = activity_of(runs), activity_of(runs[::-1])
    for tool in TOOLS:
        first, second = one.tool(tool), other.tool(tool)
        assert first.uses.activity(NOW_MS) == pytest.approx(second.uses.activity(NOW_MS))
        assert first.arguments.mean() == pytest.approx(second.arguments.mean(), abs=1e-6)
        assert one.together.partners(tool) == other.together.partners(tool)


def test_many_calls_of_one_run_are_one_use() -> None:
    activity = activity_of([RunSeen(at_ms=NOW_MS, calls=(CallSeen(tool="s:a", success=True),) * 9)])
    node = activity.tool("s:a")
    assert (node.runs, node.successes, node.uses.activity(NOW_MS)) == (1, 9, 1)


def test_what_no_run_used_is_empty() -> None:
    assert Activity().tool("s:a").runs == Activity().capability("c").runs == 0
