"""Bad input is refused before anything is computed, with the place (LE-5)."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pml.models.checked import checked_inputs, checked_queries
from pml.models.config import ShgatConfig
from pml.models.inputs import NodeInputs, Queries, RankingTask
from tests.models.worlds import CONFIG, DEEP, World, inputs_of, queries_of

GRAPH = DEEP.graph
INPUTS = inputs_of(GRAPH)


def queries(task: RankingTask = RankingTask.TOOLS) -> Queries:
    return queries_of(GRAPH, task)


def with_value(values: np.ndarray, place: tuple[int, ...], value: float) -> np.ndarray:
    changed = values.copy()
    changed[place] = value
    return changed


def test_what_fits_is_passed_on() -> None:
    assert checked_inputs(CONFIG, GRAPH, INPUTS) is INPUTS
    for task in RankingTask:
        asked = queries(task)
        assert checked_queries(CONFIG, task, GRAPH, asked) is asked


def test_an_empty_graph_fits_empty_inputs() -> None:
    empty = World(tools=0, capabilities=()).graph
    none = inputs_of(empty)
    assert checked_inputs(CONFIG, empty, none) is none


@pytest.mark.parametrize("name", ["vectors", "tool_features", "capability_features"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_inputs_must_be_finite(name: str, value: float) -> None:
    bad = replace(INPUTS, **{name: with_value(getattr(INPUTS, name), (2, 1), value)})
    expected = rf"{name} must be finite, got {value} at \[2, 1\] and 1 such in all"
    with pytest.raises(ValueError, match=expected):
        checked_inputs(CONFIG, GRAPH, bad)


@pytest.mark.parametrize("name", ["vectors", "tool_features", "capability_features"])
@pytest.mark.parametrize("value", [1.1e6, -1e30])
def test_values_whose_products_may_overflow_are_refused(name: str, value: float) -> None:
    bad = replace(INPUTS, **{name: with_value(getattr(INPUTS, name), (2, 1), value)})
    expected = f"{name} must be from -1e+06 to 1e+06, got {np.float32(value)} at [2, 1] and 1 such"
    with pytest.raises(ValueError, match=re.escape(expected)):
        checked_inputs(CONFIG, GRAPH, bad)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (
            replace(INPUTS, vectors=INPUTS.vectors[:, :4]),
            "vectors must be 10 nodes x 6 dim, got 10 x 4",
        ),
        (
            replace(INPUTS, vectors=INPUTS.vectors[:3]),
            "vectors must be 10 nodes x 6 dim, got 3 x 6",
        ),
        (
            replace(INPUTS, tool_features=INPUTS.tool_features[:4]),
            "tool_features must be 5 tools x",
        ),
        (
            replace(INPUTS, capability_features=INPUTS.capability_features[:, 1:]),
            "capability_features must be 5 capabilities x",
        ),
    ],
)
def test_inputs_must_have_the_sizes_of_graph_and_model(bad: NodeInputs, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        checked_inputs(CONFIG, GRAPH, bad)


@pytest.mark.parametrize("name", ["vectors", "evidence", "stats"])
def test_queries_must_be_finite(name: str) -> None:
    asked = queries()
    values = getattr(asked, name)
    changes: dict[str, Any] = {name: with_value(values, (1,) * values.ndim, np.nan)}
    bad = replace(asked, **changes)
    with pytest.raises(ValueError, match=f"{name} must be finite, got nan"):
        checked_queries(CONFIG, RankingTask.TOOLS, GRAPH, bad)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda one: replace(one, vectors=one.vectors[:, :5]),
            "vectors must be 3 queries x 6 dim, got 3 x 5",
        ),
        (
            lambda one: replace(one, evidence=one.evidence[:, :4]),
            "evidence must be 3 queries x 5 candidates x 2 columns, got 3 x 4 x 2",
        ),
        (
            lambda one: replace(one, evidence=one.evidence[:, :, :1]),
            "evidence must be 3 queries x 5 candidates x 2 columns, got 3 x 5 x 1",
        ),
        (
            lambda one: replace(one, stats=one.stats[:, :0]),
            "stats must be 3 queries x 2 stats, got 3 x 0",
        ),
        (
            lambda one: replace(one, prefixes=(np.zeros(1, dtype=np.int64),)),
            "task tools needs 0 prefixes for 3 queries, got 1",
        ),
    ],
)
def test_queries_must_have_the_sizes_of_graph_and_model(
    change: Callable[[Queries], Queries], message: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        checked_queries(CONFIG, RankingTask.TOOLS, GRAPH, change(queries()))


def test_evidence_may_be_of_some_candidates() -> None:
    some = replace(queries(), evidence=queries().evidence[:, :2])
    assert checked_queries(CONFIG, RankingTask.TOOLS, GRAPH, some, sampled=2) is some


@pytest.mark.parametrize("stranger", [5, 9, 100, -1])
def test_a_prefix_must_name_tools_of_the_graph(stranger: int) -> None:
    asked = queries(RankingTask.NEXT_TOOL)
    prefixes = (*asked.prefixes[:-1], np.array([0, stranger], dtype=np.int64))
    bad = replace(asked, prefixes=prefixes)
    with pytest.raises(ValueError, match=f"prefix of query 2 names node {stranger}, which is no"):
        checked_queries(CONFIG, RankingTask.NEXT_TOOL, GRAPH, bad)


def test_every_query_for_the_next_tool_needs_a_prefix() -> None:
    with pytest.raises(ValueError, match="task next_tool needs 3 prefixes for 3 queries, got 0"):
        checked_queries(
            CONFIG,
            RankingTask.NEXT_TOOL,
            GRAPH,
            replace(queries(RankingTask.NEXT_TOOL), prefixes=()),
        )


def test_a_task_that_the_model_has_not_is_refused() -> None:
    config = ShgatConfig(dim=6, tasks=(RankingTask.CAPABILITIES,))
    with pytest.raises(ValueError, match="the model ranks capabilities, not tools"):
        checked_queries(config, RankingTask.TOOLS, GRAPH, queries())
