"""Tools of a server that nobody has used yet are found by what they say (MCP-1).

The oracle is the same index in which no entry tells of a server: there nothing is new, and a tool
for which no past intent votes gets nothing for that.
"""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.discovery.entry import Entry
from pml.discovery.index import Index, Kind, Ranking
from pml.discovery.newness import SETTLED
from tests.discovery.entries import capability, index_of, past, sentences, tool

KINDS: tuple[Kind, ...] = ("tool", "capability", "all")
kinds = st.sampled_from(KINDS)
known = st.lists(st.tuples(sentences, sentences), max_size=5).map(
    lambda pairs: [
        entry
        for n, (intent, text) in enumerate(pairs)
        for entry in (tool(f"old:t{n}", text), capability(f"cap_{n}", intent, tools=[f"old:t{n}"]))
    ]
)
new = st.lists(
    st.builds(lambda n, text: tool(f"new:t{n}", text), st.integers(0, 9), sentences), max_size=8
)


def ranked(entries: Sequence[Entry], intent: str, kind: Kind) -> Ranking:
    return index_of(entries).rank(intent, kind=kind, limit=100)


def scores(ranking: Ranking) -> dict[str, float]:
    return {hit.id: hit.score for hit in ranking.hits}


def without_servers(entries: Sequence[Entry]) -> list[Entry]:
    return [replace(entry, servers=()) for entry in entries]


@given(known, new, sentences, kinds)
def test_only_tools_of_new_servers_gain_and_nothing_loses(
    old: list[Entry], added: list[Entry], intent: str, kind: Kind
) -> None:
    entries = [*old, *added]
    oracle = scores(ranked(without_servers(entries), intent, kind))
    found = scores(ranked(entries, intent, kind))
    assert set(found) == set(oracle)
    assert all(found[one] >= oracle[one] for one in found)
    assert all(found[one] == oracle[one] for one in found if one.startswith("cap_"))


@given(known, new, kinds, st.data())
def test_an_intent_that_was_served_finds_what_served_it_whatever_a_new_server_says(
    old: list[Entry], added: list[Entry], kind: Kind, data: st.DataObject
) -> None:
    entries = [*old, *added]
    asked = [past.intent for entry in old for past in entry.intents] or ["read"]
    intent = data.draw(st.sampled_from(asked))
    oracle = scores(ranked(without_servers(entries), intent, kind))
    assert scores(ranked(entries, intent, kind)) == pytest.approx(oracle, abs=1e-9)


@given(known, sentences, kinds)
def test_where_no_server_is_new_the_ranking_is_that_of_votes_and_descriptions(
    old: list[Entry], intent: str, kind: Kind
) -> None:
    used = capability("cap_9", *[f"unlike {n}" for n in range(SETTLED)], tools=["old:t0"])
    entries = [*old, used]
    assert ranked(entries, intent, kind) == ranked(without_servers(entries), intent, kind)


KNOWN = [
    tool("dine:book_table", "book a table at a restaurant"),
    tool("dine:find", "find a restaurant"),
    capability(
        "cap_1",
        *[
            f"book a table for {n} on Friday evening"
            for n in ("two", "three", "four", "five", "six")
        ],
        tools=["dine:book_table"],
    ),
]
FLIGHT = tool("fly:book_flight", "book a seat on a flight between two airports")
INTENT = "book a flight on Friday"


@pytest.mark.parametrize("kind", ["tool", "all"])
def test_an_intent_that_fits_a_new_server_better_than_anything_known_finds_its_tool(
    kind: Kind,
) -> None:
    entries = [*KNOWN, FLIGHT]
    zero = scores(ranked(without_servers(entries), INTENT, kind))
    assert zero["fly:book_flight"] < zero["dine:book_table"]
    found = ranked(entries, INTENT, kind)
    assert found.hits[0].id == "fly:book_flight"
    assert any("its server is new" in reason for reason in found.hits[0].reasons)


def test_a_look_alike_that_fits_no_better_stands_behind_what_served() -> None:
    entries = [*KNOWN, tool("feast:book_table", "book a table at a restaurant")]
    found = ranked(entries, "book a table for seven on Friday evening", "tool")
    assert [hit.id for hit in found.hits[:2]] == ["dine:book_table", "feast:book_table"]


@pytest.mark.parametrize(("succeeded", "told"), [(0, True), (1, False)])
def test_past_intents_that_never_succeeded_make_no_server_known(succeeded: int, told: bool) -> None:
    intents = [past("cap_2", f"try {n}", succeeded=succeeded) for n in range(SETTLED)]
    used = replace(capability("cap_2", tools=[FLIGHT.id]), intents=tuple(intents))
    hits = {hit.id: hit for hit in ranked([*KNOWN, FLIGHT, used], INTENT, "tool").hits}
    assert any("is new" in reason for reason in hits["fly:book_flight"].reasons) == told


def test_a_server_is_new_again_when_nobody_has_used_it_any_more() -> None:
    index = Index()
    for entry in [*KNOWN, FLIGHT]:
        index.put(entry)
    before = index.rank(INTENT)
    used = capability("cap_3", *[f"unlike {n}" for n in range(SETTLED)], tools=[FLIGHT.id])
    index.put(used)
    assert index.rank(INTENT).hits[0].id != "fly:book_flight"
    index.remove(used.kind, used.id)
    assert index.rank(INTENT) == before


def test_nothing_is_said_of_past_intents_where_they_name_nothing_that_is_wanted() -> None:
    """What ran is no tool, and what it called is gone: votes name no tool."""
    entries = [entry for entry in [*KNOWN, FLIGHT] if entry.id != "dine:book_table"]
    told = {
        kind: any(
            "is new" in reason
            for hit in ranked(entries, INTENT, kind).hits
            for reason in hit.reasons
        )
        for kind in KINDS
    }
    assert told == {"tool": False, "capability": False, "all": True}
