"""The feature matrices (LE-5, SP-7): named, bounded, finite, and the same under relabelling."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pml.features.activity import Activity
from pml.features.columns import CAPABILITY_COLUMNS, TOOL_COLUMNS
from pml.features.graph import feature_graph
from pml.features.matrix import FeatureMatrix, feature_matrices, node_heat
from pml.features.members import Members
from pml.features.structure import Structure, structure_of
from tests.features.graphs import RECORDS, TOOLS, Records, edge, graph_of, relabelled
from tests.features.runs import NOW_MS, activity_of, random_runs

SEEDS = st.integers(0, 10**6)
GROUP_COLUMNS = {"community_share", "community_inside", "cluster_share", "cluster_inside"}


def structure(records: Records) -> Structure:
    return structure_of(graph_of(records), np.random.default_rng(0))


@settings(max_examples=25)
@given(records=RECORDS, seed=SEEDS)
def test_matrices_are_named_and_bounded(records: Records, seed: int) -> None:
    tools, capabilities = feature_matrices(
        structure(records), activity_of(random_runs(seed)), NOW_MS
    )
    assert tools.ids == TOOLS
    assert (tools.names, capabilities.names) == (TOOL_COLUMNS, CAPABILITY_COLUMNS)
    for matrix in (tools, capabilities):
        assert matrix.values.shape == (len(matrix.ids), len(set(matrix.names)))
        assert matrix.values.dtype == np.float32
        assert np.isfinite(matrix.values).all()
        assert (np.abs(matrix.values) <= 1 + 1e-6).all()


@settings(max_examples=25)
@given(records=RECORDS, seed=SEEDS)
def test_names_and_order_do_not_count(records: Records, seed: int) -> None:
    """Columns of groups are left out: of two partitions equally good either may be found."""
    activity = activity_of(random_runs(seed))
    once = feature_matrices(structure(records), activity, NOW_MS)
    turned = structure_of(relabelled(records), np.random.default_rng(0))
    for matrix, other in zip(once, feature_matrices(turned, activity, NOW_MS), strict=True):
        assert matrix.ids == other.ids[::-1]
        kept = [number for number, name in enumerate(matrix.names) if name not in GROUP_COLUMNS]
        assert matrix.values[:, kept] == pytest.approx(other.values[::-1][:, kept], abs=1e-5)


def column(matrix: FeatureMatrix, name: str) -> dict[str, float]:
    return dict(zip(matrix.ids, matrix.column(name).tolist(), strict=True))


def test_columns_tell_what_their_names_say() -> None:
    graph = feature_graph(
        ["s:idle"],
        [Members(id="c0", tools=("s:t0", "s:t1")), Members(id="c1", capabilities=("c0",))],
        [edge("s:t0", "s:t1"), edge("s:t2", "s:t1"), edge("s:t2", "s:t0")],
    )
    activity = activity_of(random_runs(7, most=50))
    tools, capabilities = feature_matrices(
        structure_of(graph, np.random.default_rng(0)), activity, NOW_MS
    )
    assert column(tools, "pagerank")["s:t1"] > column(tools, "pagerank")["s:idle"]
    assert column(tools, "adamic_adar")["s:t2"] == pytest.approx(
        2 / np.log(2) / (1 + 2 / np.log(2))
    )
    for name in ("adamic_adar", "community_inside", "frequency", "recency", "heat", "association"):
        assert column(tools, name)["s:idle"] == 0
    assert column(capabilities, "tools") == pytest.approx({"c0": 1 / 3, "c1": 1 / 3})
    assert column(capabilities, "nested") == pytest.approx({"c0": 0, "c1": 0.2})
    rates = column(tools, "reliability_rate")
    weakest = min(rates["s:t0"], rates["s:t1"])
    assert column(capabilities, "reliability_weakest_tool")["c0"] == pytest.approx(weakest)


def test_what_is_near_to_what_ran_is_warm() -> None:
    graph = feature_graph(
        (),
        [
            Members(id="ran", tools=("s:t0",)),
            Members(id="near", tools=("s:t0",)),
            Members(id="far"),
        ],
    )
    found = structure_of(graph, np.random.default_rng(0))
    activity = activity_of([run for run in random_runs(3, most=40) if run.capability is None])
    warm = dict(
        zip((*graph.tools, *graph.capabilities), node_heat(found, activity, NOW_MS), strict=True)
    )
    assert warm["s:t0"] > 0
    assert warm["near"] == pytest.approx(warm["ran"])
    assert warm["near"] > 0 == warm["far"]


def test_an_unknown_column_is_refused() -> None:
    tools, _ = feature_matrices(
        structure_of(feature_graph(["s:a"]), np.random.default_rng(0)), Activity(), NOW_MS
    )
    assert tools.column("pagerank").tolist() == [0.5]  # the average
    with pytest.raises(ValueError, match="not in tuple"):
        tools.column("unknown")


def test_nothing_has_matrices_without_rows() -> None:
    empty = structure_of(feature_graph(()), np.random.default_rng(0))
    tools, capabilities = feature_matrices(empty, Activity(), NOW_MS)
    assert tools.values.shape == (0, len(TOOL_COLUMNS))
    assert capabilities.values.shape == (0, len(CAPABILITY_COLUMNS))
