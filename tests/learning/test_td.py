"""What traces teach (LE-2), against closed forms and recomputation from the whole history."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.domain.capability import Learning
from pml.domain.record import decode, encode
from pml.domain.trace import BranchDecision, ExecutionTrace
from pml.learning.td import ALPHA, MOST_PATHS, learned, moved
from tests.learning.histories import HISTORIES, STRUCTURE, learning_of
from tests.store.nouns import a_trace


def value_after(outcomes: list[bool]) -> float:
    """TD(0) written out: each outcome counts for a tenth, and a tenth less with each later one."""
    n = len(outcomes)
    weighed = sum(0.1 * 0.9 ** (n - 1 - place) * won for place, won in enumerate(outcomes))
    return 0.5 * 0.9**n + weighed


@given(count=st.integers(1, 200), success=st.booleans())
def test_the_value_of_a_path_that_always_ends_alike_has_a_closed_form(
    count: int, success: bool
) -> None:
    (path,) = learning_of([a_trace(success=success)] * count).paths
    assert path.success_rate == pytest.approx(success + (0.5 - success) * 0.9**count)
    assert (path.count, path.avg_duration_ms) == (count, a_trace().duration_ms)


@given(first_ms=st.floats(0, 1e6), then_ms=st.floats(0, 1e6), count=st.integers(0, 200))
def test_the_mean_duration_starts_at_the_first_and_nears_the_later_ones(
    first_ms: float, then_ms: float, count: int
) -> None:
    history = [a_trace(duration_ms=first_ms), *[a_trace(duration_ms=then_ms)] * count]
    (path,) = learning_of(history).paths
    expected_ms = then_ms + (first_ms - then_ms) * 0.9**count
    assert path.avg_duration_ms == pytest.approx(expected_ms, abs=1e-9)


@pytest.mark.parametrize("rate", [0.05, 0.5, 0.9])
def test_a_value_wanders_around_the_rate_as_much_as_a_closed_form_says(rate: float) -> None:
    """Its variance comes to alpha / (2 - alpha) of an outcome's, as much as 19 outcomes' mean has.

    Fixed seed; the bounds are five standard errors of 20,000 / 19 independent values, so it
    would fail for 1 in a million seeds.
    """
    outcomes = np.random.default_rng(0).random(20_000) < rate
    value, values = rate, []
    for outcome in outcomes:
        value = moved(value, float(outcome))
        values.append(value)
    variance = ALPHA / (2 - ALPHA) * rate * (1 - rate)
    assert np.mean(values) == pytest.approx(rate, abs=5 * np.sqrt(variance * 19 / 20_000))
    assert np.var(values) == pytest.approx(variance, rel=0.25)


@given(history=HISTORIES)
def test_each_path_is_what_its_own_traces_make_of_it(history: list[ExecutionTrace]) -> None:
    learning = learning_of(history)
    assert [path.path for path in learning.paths] == list(
        dict.fromkeys(trace.executed_path for trace in history)
    )
    for path in learning.paths:
        own = [trace for trace in history if trace.executed_path == path.path]
        mean = own[0].duration_ms
        for trace in own[1:]:
            mean = 0.9 * mean + 0.1 * trace.duration_ms
        assert path.count == len(own)
        assert path.success_rate == pytest.approx(value_after([trace.success for trace in own]))
        assert path.avg_duration_ms == pytest.approx(mean)


@given(history=HISTORIES)
def test_a_decision_counts_the_runs_that_went_each_way(history: list[ExecutionTrace]) -> None:
    learning = learning_of(history)
    found = {
        (stats.node_id, outcome): (known.count, known.success_rate)
        for stats in learning.decision_stats
        for outcome, known in stats.outcomes.items()
    }
    taken = {decision for trace in history for decision in trace.decisions}
    assert set(found) == {(decision.node_id, decision.outcome) for decision in taken}
    for decision in taken:
        own = [trace.success for trace in history if decision in trace.decisions]
        count, rate = found[decision.node_id, decision.outcome]
        assert count == len(own)
        assert rate == pytest.approx(value_after(own))


@given(history=HISTORIES)
def test_the_dominant_path_has_the_most_expected_successes(history: list[ExecutionTrace]) -> None:
    learning = learning_of(history)
    often = [path for path in learning.paths if path.count >= 3]
    if often:
        (dominant,) = (path for path in often if path.path == learning.dominant_path)
        expected = dominant.success_rate * dominant.count
        assert all(expected >= path.success_rate * path.count for path in often)
    else:
        assert learning.dominant_path == learning.paths[0].path


def test_a_path_dominates_from_its_third_trace_on() -> None:
    first, other = a_trace(executed_path=("n1",)), a_trace(executed_path=("n1", "n2"))
    dominant = [learning_of([first, *[other] * number]).dominant_path for number in (0, 2, 3)]
    assert dominant == [("n1",), ("n1",), ("n1", "n2")]


def test_a_path_that_succeeds_dominates_one_that_fails_more_often() -> None:
    failing = a_trace(executed_path=("n1",), success=False)
    working = a_trace(executed_path=("n1", "n2"))
    assert learning_of([*[failing] * 4, *[working] * 3]).dominant_path == ("n1", "n2")


@given(history=HISTORIES)
def test_what_was_learned_is_a_valid_record(history: list[ExecutionTrace]) -> None:
    learning = learning_of(history)  # its constraints hold rates between 0 and 1
    assert decode(Learning, encode(learning)) == learning


@given(history=HISTORIES)
def test_the_last_traces_count_most(history: list[ExecutionTrace]) -> None:
    failing = a_trace(executed_path=("n1",), success=False)
    rates = [
        next(path.success_rate for path in learning_of(order).paths if path.path == ("n1",))
        for order in ([*history, failing], [failing, *history])
    ]
    assert rates[0] <= rates[1] or rates[0] == pytest.approx(rates[1])


def test_decisions_are_described_as_the_structure_has_them() -> None:
    decisions = (
        BranchDecision(node_id="d1", outcome="true"),
        BranchDecision(node_id="d9", outcome="ok"),
    )
    learning = learned(Learning(), a_trace(decisions=decisions), STRUCTURE)
    assert [stats.condition for stats in learning.decision_stats] == ["file.exists", ""]


def test_a_decision_in_a_loop_counts_once_per_run() -> None:
    looped = (BranchDecision(node_id="d1", outcome="true"),) * 1_000
    (stats,) = learned(Learning(), a_trace(decisions=looped), STRUCTURE).decision_stats
    assert (stats.outcomes["true"].count, stats.outcomes["true"].success_rate) == (1, 0.55)


def test_of_very_many_paths_the_least_seen_make_room() -> None:
    often = [a_trace(executed_path=("n1",))] * 3
    once = [a_trace(executed_path=(f"n{number}",)) for number in range(2, MOST_PATHS + 50)]
    learning = learning_of([*often, *once])
    assert len(learning.paths) == MOST_PATHS
    assert learning.dominant_path == ("n1",)
    assert learning.paths[-1].path == once[-1].executed_path
