"""Heat diffusion (LE-5) against the dense matrix exponential."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm

from pml.features.graph import FeatureGraph, feature_graph
from pml.features.heat import LONGEST, heat
from pml.features.walks import activity_walk
from tests.features.graphs import RECORDS, Records, edge, graph_of
from tests.features.test_walks import dense

TIMES = st.sampled_from([0.0, 0.1, 1.0, 5.0, LONGEST])


def sources(graph: FeatureGraph, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    count = len(graph.tools) + len(graph.capabilities)
    return rng.random(count) * (rng.random(count) < 0.5)


@given(records=RECORDS, time=TIMES, seed=st.integers(0, 9))
def test_heat_is_what_the_matrix_exponential_says(records: Records, time: float, seed: int) -> None:
    graph = graph_of(records)
    walk, x = activity_walk(graph), sources(graph, seed)
    steps = dense(walk) + np.diag(walk.leak)
    expected = x @ expm(-time * (np.eye(len(x)) - steps))
    assert np.abs(heat(walk, x, time=time) - expected).sum() <= 1e-9 * x.sum() + 1e-10


@given(records=RECORDS, time=TIMES, seed=st.integers(0, 9))
def test_no_heat_is_lost_and_none_is_negative(records: Records, time: float, seed: int) -> None:
    graph = graph_of(records)
    x = sources(graph, seed)
    spread = heat(activity_walk(graph), x, time=time)
    assert (spread >= 0).all()
    assert spread.sum() == pytest.approx(x.sum(), rel=1e-8)


@given(records=RECORDS, seed=st.integers(0, 9))
def test_heat_of_a_sum_is_the_sum_of_the_heat(records: Records, seed: int) -> None:
    graph = graph_of(records)
    walk, one, other = activity_walk(graph), sources(graph, seed), sources(graph, seed + 1)
    together = heat(walk, 2 * one + other)
    assert together == pytest.approx(2 * heat(walk, one) + heat(walk, other))


@given(records=RECORDS, seed=st.integers(0, 9))
def test_times_add_up(records: Records, seed: int) -> None:
    graph = graph_of(records)
    walk, x = activity_walk(graph), sources(graph, seed)
    in_two = heat(walk, heat(walk, x, time=0.7), time=1.3)
    assert in_two == pytest.approx(heat(walk, x, time=2.0), abs=1e-8)


def test_heat_stays_in_its_component() -> None:
    graph = feature_graph((), (), [edge("s:a", "s:b"), edge("s:c", "s:d")])
    spread = heat(activity_walk(graph), np.array([1.0, 0, 0, 0]))
    assert spread[0] > spread[1] > 0
    assert spread[2:].tolist() == [0, 0]


def test_what_is_isolated_keeps_its_heat_and_nothing_has_none() -> None:
    lone = activity_walk(feature_graph(["s:a"]))
    assert heat(lone, np.ones(1)) == pytest.approx(1.0, rel=1e-9)
    assert len(heat(activity_walk(feature_graph(())), np.zeros(0))) == 0


@pytest.mark.parametrize(
    ("source", "time", "message"),
    [(-1.0, 1.0, "sources"), (np.nan, 1.0, "sources"), (1.0, -1.0, "time"), (1.0, 101.0, "time")],
)
def test_bad_arguments_are_refused(source: float, time: float, message: str) -> None:
    walk = activity_walk(feature_graph(["s:a"]))
    with pytest.raises(ValueError, match=message):
        heat(walk, np.array([source]), time=time)
