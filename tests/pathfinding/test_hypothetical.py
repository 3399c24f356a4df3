"""Paths that no capability goes yet (XP-1)."""

from itertools import pairwise

import pytest

from pml.pathfinding.drdsp import DRDSP
from pml.pathfinding.hypothetical import tool_sets
from pml.pathfinding.records import START, Hyperedge, HyperedgeKind, HyperedgeUpdate


def edge(name: str, sources: str, target: str, weight: float = 1.0) -> Hyperedge:
    return Hyperedge(id=name, sources=tuple(sources.split()), target=target, weight=weight)


def members(sources: str, target: str) -> Hyperedge:
    return Hyperedge(
        id=f"members of {target}",
        sources=tuple(sources.split()),
        target=target,
        weight=0.0,
        kind=HyperedgeKind.MEMBERS,
    )


EDGES = [
    edge("find", START, "find"),
    edge("look", START, "look", 3),
    edge("find>send", "find", "send"),
    edge("look>send", "look", "send"),
    edge("send>file", "send", "file"),
]


def called(graph: DRDSP, targets: list[str], **limits: int) -> list[set[str]]:
    paths = graph.find_hypothetical_paths([START], targets, **limits)
    return [set(path.nodes) - {START} for path in paths]


def test_paths_to_all_targets_come_by_cost() -> None:
    graph = DRDSP.from_hyperedges(EDGES)
    assert called(graph, ["file", "send"], max_paths=4) == [
        {"find", "send"},
        {"find", "send", "file"},
        {"look", "send"},
        {"look", "send", "file"},
    ]
    assert called(graph, ["file", "send"], max_paths=1) == [{"find", "send"}]


def test_what_some_capability_calls_already_is_not_hypothetical() -> None:
    graph = DRDSP.from_hyperedges([*EDGES, members("find send", "c"), members("c file", "cc")])
    assert called(graph, ["file", "send"], max_paths=4) == [
        {"look", "send"},
        {"look", "send", "file"},
    ]
    graph.apply_update(HyperedgeUpdate.delete("members of cc"))
    assert {"find", "send", "file"} in called(graph, ["file"])


def test_a_capability_of_what_is_reached_otherwise_is_hypothetical() -> None:
    graph = DRDSP.from_hyperedges([*EDGES, members("find send", "c")])
    assert called(graph, ["c"]) == [{"look", "find", "send", "c"}]


def test_deep_paths_are_left_out() -> None:
    graph = DRDSP.from_hyperedges(EDGES)
    assert called(graph, ["file", "send"], max_depth=2) == [{"find", "send"}, {"look", "send"}]
    assert called(graph, ["file"], max_depth=0) == []


def test_targets_that_are_unknown_unreachable_or_given_are_passed_over() -> None:
    graph = DRDSP.from_hyperedges([*EDGES, edge("far", "moon", "star")])
    assert called(graph, ["unknown", "star", START]) == []
    with pytest.raises(ValueError, match="no node 'unknown'"):
        graph.find_hypothetical_paths(["unknown"], ["send"])
    with pytest.raises(ValueError, match="limits are at least 0"):
        called(graph, ["send"], max_paths=-1)


def test_it_looks_at_a_bounded_number_of_paths() -> None:
    # 3 ** 12 ways to the last one, all too deep.
    names = [START, *map(str, range(12))]
    edges = [edge(f"{a}>{b}#{n}", a, b) for a, b in pairwise(names) for n in range(3)]
    assert called(DRDSP.from_hyperedges(edges), ["11"]) == []


def test_nested_capabilities_are_taken_for_their_tools() -> None:
    inner, outer, empty = members("a b", "c"), members("c d", "cc"), members(START, "e")
    assert tool_sets([inner, outer, empty]) == {
        frozenset("ab"),
        frozenset("abd"),
        frozenset(),
    }
