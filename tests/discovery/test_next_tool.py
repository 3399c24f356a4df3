"""Evidence of the next tool: laws over made-up runs, then what each column is for (LE-5)."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pml.discovery.next_servers import RankedTool
from pml.discovery.next_tool import COLUMNS, STATS, NextToolEvidence, Place

WORDS = ("read", "write", "mail", "search")
TOOLS = tuple(
    RankedTool(id=word[0], server="disk" if word in ("read", "write") else "net", text=f"{word} it")
    for word in WORDS
)
INTENTS = st.lists(st.sampled_from((*WORDS, "map")), min_size=1, max_size=3).map(" ".join)
RUNS = st.lists(st.tuples(st.text("rwmsx", max_size=5), INTENTS), max_size=6)
PLACES = st.builds(
    Place, prefix=st.text("rwmsx", min_size=1, max_size=8).map(tuple), intent=INTENTS
)
quick = settings(max_examples=40)


def known(runs: Sequence[tuple[str, str]], tools: Sequence[RankedTool] = TOOLS) -> NextToolEvidence:
    return NextToolEvidence(tools, [tuple(run) for run, _ in runs], [intent for _, intent in runs])


def column(
    name: str, runs: Sequence[tuple[str, str]], prefix: str, intent: str
) -> dict[str, float]:
    """By tool."""
    said = known(runs).of([Place(prefix=tuple(prefix), intent=intent)]).evidence[0]
    return {tool.id: float(said[at, COLUMNS.index(name)]) for at, tool in enumerate(TOOLS)}


@quick
@given(RUNS, st.lists(PLACES, max_size=3))
def test_everything_is_from_0_to_1(runs: list[tuple[str, str]], places: list[Place]) -> None:
    said = known(runs).of(places)
    assert said.evidence.shape == (len(places), len(TOOLS), len(COLUMNS))
    assert said.stats.shape == (len(places), len(STATS))
    for values in (said.evidence, said.stats):
        assert (values >= -1e-6).all()
        assert (values <= 1 + 1e-6).all()


@quick
@given(RUNS, st.lists(PLACES, min_size=2, max_size=4))
def test_each_place_is_asked_by_itself(runs: list[tuple[str, str]], places: list[Place]) -> None:
    evidence = known(runs)
    together = evidence.of(places)
    for at, place in enumerate(places):
        alone = evidence.of([place])
        assert np.array_equal(alone.evidence[0], together.evidence[at])
        assert np.array_equal(alone.stats[0], together.stats[at])


@quick
@given(RUNS, PLACES, st.permutations(range(len(TOOLS))))
def test_the_order_of_the_tools_says_nothing(
    runs: list[tuple[str, str]], place: Place, order: list[int]
) -> None:
    one = known(runs).of([place]).evidence[0]
    other = known(runs, [TOOLS[at] for at in order]).of([place]).evidence[0]
    assert other == pytest.approx(one[order], abs=1e-5)


def test_what_came_after_the_same_calls_stands_out() -> None:
    runs = [("rwm", "a"), ("rwm", "b"), ("mws", "c")]
    said = column("after two calls", runs, "rw", "d")
    assert max(said, key=said.__getitem__) == "m"


def test_a_server_that_often_comes_next_helps_all_of_its_tools() -> None:
    said = column("server", [("rm", "a"), ("ws", "b")], "r", "c")
    assert said["m"] > said["w"]


def test_similar_intents_vote_for_what_came_next() -> None:
    runs = [("rw", "read map"), ("rs", "mail")]
    votes = column("alike after the last call", runs, "r", "map")
    assert votes["w"] == 1
    assert votes["s"] == votes["m"] == 0


def test_words_that_called_tools_explain_count_no_more() -> None:
    intent = "read and write mail"
    whole, rest = (column(name, [], "r", intent) for name in ("bm25", "bm25 of the rest"))
    assert whole["r"] > 0
    assert rest["r"] == 0
    assert rest["w"] > 0


def test_the_prefix_tells_what_was_called_and_what_followed() -> None:
    assert column("called already", [], "rwr", "x")["w"] == 1
    assert column("called just now", [], "rwr", "x") == {"r": 1, "w": 0, "m": 0, "s": 0}
    assert column("followed before", [], "rwr", "x")["w"] == 1
    assert column("same server", [], "rwr", "x") == {"r": 1, "w": 1, "m": 0, "s": 0}
