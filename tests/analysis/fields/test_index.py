"""Edges of a catalogue whose tools come and go: always those of an index built anew (SA-10)."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.analysis.fields import index as module
from pml.analysis.fields.extract import Shape
from pml.analysis.fields.features import anchors, comparable, family, head
from pml.analysis.fields.index import ProvidesIndex
from pml.analysis.fields.mapping import Side, provides
from pml.analysis.fields.match import provider_logit
from pml.analysis.fields.names import qualified
from pml.analysis.fields.rarity import rarity
from pml.domain.provides import ProvidesEdge
from pml.domain.tools import Tool
from tests.analysis.fields.catalogues import tools

FEW = 2
"""Providers per input, so that few tools are enough to leave some out."""


@pytest.fixture(autouse=True)
def few_providers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PROVIDERS", FEW)


def built(catalogue: Sequence[Tool]) -> ProvidesIndex:
    index = ProvidesIndex()
    for tool in catalogue:
        index.put(tool)
    return index


def by_brute_force(catalogue: Sequence[Tool]) -> list[ProvidesEdge]:
    """The rule of the index over all pairs: no postings, everything sorted anew."""
    sides = {tool.id: Side(tool) for tool in catalogue}
    found: list[ProvidesEdge] = []
    for consumer in sides.values():
        chosen: set[str] = set()
        for taken in consumer.signature.inputs:
            for server in (None, consumer.tool.server):
                offers = sorted(
                    (*place, each.id)
                    for each in sides.values()
                    if each.id != consumer.id and server in (None, each.tool.server)
                    for output in each.signature.outputs
                    for place in places(output.shape, taken.shape)
                )
                chosen |= set(list(dict.fromkeys(offer[-1] for offer in offers))[:FEW])
        found += filter(None, (provides(sides[each], consumer) for each in chosen))
    return sorted(found, key=lambda edge: (edge.provider, edge.consumer))


def places(output: Shape, taken: Shape) -> list[tuple[int, int]]:
    """By which of the input's keys an output is found, and its rank there."""
    wanted = anchors(taken.words, taken.context)
    rank = -round(1000 * provider_logit(output))
    if not wanted or not anchors(output.words, output.context):
        return []
    same = qualified(taken.words, taken.context) == qualified(output.words, output.context)
    telling = sorted(wanted, key=lambda word: (-rarity(word), word))
    shared = anchors(output.words, output.context)
    fits = family(head(taken.words)) in set(map(family, output.words))
    numbers = [n for n, word in enumerate(telling, 1) if word in shared and fits]
    return [(number, rank) for number in ([0] if same else []) + numbers]


def listed(index: ProvidesIndex) -> list[ProvidesEdge]:
    return sorted(index.edges(), key=lambda edge: (edge.provider, edge.consumer))


@given(st.lists(tools(), max_size=12, unique_by=lambda tool: tool.id))
def test_the_index_finds_what_comparing_all_pairs_finds(catalogue: list[Tool]) -> None:
    assert listed(built(catalogue)) == by_brute_force(catalogue)


@given(st.lists(st.tuples(st.booleans(), tools()), max_size=20))
def test_any_sequence_of_changes_ends_where_a_fresh_build_does(
    changes: list[tuple[bool, Tool]],
) -> None:
    index, left = ProvidesIndex(), dict[str, Tool]()
    for put, tool in changes:
        if put:
            index.put(tool)
            left[tool.id] = tool
        else:
            index.remove(tool.id)
            left.pop(tool.id, None)
    fresh = built(sorted(left.values(), key=lambda tool: tool.id))
    assert listed(index) == listed(fresh)
    assert vars(index).keys() == vars(fresh).keys()
    assert index._given == fresh._given
    assert index._wanting == fresh._wanting


@given(st.lists(tools(), max_size=12, unique_by=lambda tool: tool.id))
def test_the_edges_out_of_a_tool_are_those_into_others(catalogue: list[Tool]) -> None:
    index = built(catalogue)
    everything = listed(index)
    for tool in catalogue:
        assert set(index.out_of(tool.id)) == {e for e in everything if e.provider == tool.id}
        assert set(index.into(tool.id)) == {e for e in everything if e.consumer == tool.id}


@given(st.lists(tools(), max_size=8, unique_by=lambda tool: tool.id))
def test_outputs_without_a_key_in_common_are_not_comparable(catalogue: list[Tool]) -> None:
    """What the index never looks at would not match."""
    for provider in map(Side, catalogue):
        for consumer in map(Side, catalogue):
            for output in provider.signature.outputs:
                for taken in consumer.signature.inputs:
                    given_keys = module._given(output.shape.words, output.shape.context)
                    taken_keys = module._taken(taken.shape.words, taken.shape.context)
                    if given_keys.isdisjoint(taken_keys):
                        assert not comparable(output.shape, taken.shape)


def test_an_unknown_tool_has_no_edges_and_can_be_removed() -> None:
    index = ProvidesIndex()
    index.remove("one:get_user")
    assert (index.into("one:get_user"), index.out_of("one:get_user")) == ((), ())
    assert (len(index), index.tool("one:get_user")) == (0, None)
