"""What is meant is found first, by name, by intent and by paraphrase (MCP-1, ST-8's intents)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pml.discovery.index import LEAST_ALONE, Index, Kind
from pml.domain.discovery import Found
from tests.discovery.entries import capability, ids, index_of, past, sentences, tool
from tests.discovery.intent_grammar import wishes

TOOLS = ("fs:read_file", "fs:write_file", "git:log", "git:read_file")


@given(st.integers(0, 10_000))
@settings(max_examples=5)
def test_of_100_capabilities_each_is_first_by_its_intent_and_in_the_first_3_by_a_paraphrase(
    seed: int,
) -> None:
    wanted = wishes(seed, 100)
    index = index_of(
        [
            *(
                tool(f"s:{wish.verb}_{wish.thing}", f"{wish.verb} one {wish.thing}")
                for wish in wanted
            ),
            *(
                capability(
                    f"cap_{n}", wish.intent, name=wish.name, tools=[f"s:{wish.verb}_{wish.thing}"]
                )
                for n, wish in enumerate(wanted)
            ),
        ]
    )
    by_intent = [index.rank(wish.intent).hits[0].id for wish in wanted]
    assert by_intent == [f"cap_{n}" for n in range(len(wanted))]
    missed = [
        (wish.intent, text)
        for n, wish in enumerate(wanted)
        for text in wish.paraphrases()
        if f"cap_{n}" not in [hit.id for hit in index.rank(text, kind="capability", limit=3).hits]
    ]
    assert missed == []


@pytest.mark.parametrize(
    "name",
    ["git:log", "git.log", "log", "mcp.git.log", "MCP.Git.Log", " `git.log()` ", '"git:log"'],
)
def test_a_tool_is_first_with_score_1_by_each_of_its_names(name: str) -> None:
    index = index_of([*map(tool, TOOLS), capability("cap_1", "git log", name="log_log_log")])
    first = index.rank(name).hits[0]
    assert (first.id, first.score) == ("git:log", 1.0)
    assert first.reasons[0] == "this is its name"


@pytest.mark.parametrize("name", ["cap_1", "sum_lines", "capabilities.sum_lines", "SUM_LINES"])
def test_a_capability_is_first_with_score_1_by_each_of_its_names(name: str) -> None:
    index = index_of(
        [capability("cap_1", name="sum_lines"), tool("fs:sum_lines_cap", "sum lines 1")]
    )
    first = index.rank(name).hits[0]
    assert (first.id, first.score) == ("cap_1", 1.0)


def test_tools_of_one_name_on_two_servers_are_both_first_in_order_of_their_ids() -> None:
    index = index_of([tool("z:read", "x"), tool("a:read", "read " * 9), tool("b:write", "read")])
    assert ids(index, "read") == ["a:read", "z:read", "b:write"]
    assert [hit.score == 1.0 for hit in index.rank("read").hits] == [True, True, False]


def test_an_old_name_is_forgotten() -> None:
    index = index_of([capability("cap_1", name="old_name"), capability("cap_1", name="renamed")])
    assert index.capabilities_named("old_name") == ()
    assert index.capabilities_named("renamed") == ("cap_1",)


@pytest.mark.parametrize("intent", ["", "   ", "please help me with the", "?!", "\0"])
def test_an_intent_that_says_nothing_fits_nothing(intent: str) -> None:
    index = index_of([tool("fs:read", "please help me with the file")])
    ranking = index.rank(intent, vector=np.array([1, 0], np.float32))
    assert (ranking.hits, ranking.total) == ((), 0)


def test_an_empty_index_answers() -> None:
    assert Index().rank("read a file").total == 0
    assert Index().rank("read", vector=np.array([1.0], np.float32)).total == 0


def test_past_intents_lead_to_the_capability_and_to_its_tools() -> None:
    index = index_of(
        [
            tool("mail:send", "deliver a message"),
            tool("fs:read", "get a file"),
            capability("cap_1", "tell the team about the outage", tools=["mail:send"], name="x"),
        ]
    )
    hits = {hit.id: hit for hit in index.rank("tell my team about an outage").hits}
    assert set(hits) == {"cap_1", "mail:send"}
    assert hits["mail:send"].similarity == pytest.approx(1)
    assert any("tell the team about the outage" in reason for reason in hits["mail:send"].reasons)


def test_a_past_intent_that_never_succeeded_does_not_vote() -> None:
    failed = past("cap_1", "tell the team", succeeded=0, last=False)
    entry = capability("cap_1", tools=["mail:send"])
    failing = type(entry)(
        id=entry.id, kind=entry.kind, name="x", text="", tools=entry.tools, intents=(failed,)
    )
    hits = index_of([tool("mail:send"), failing]).rank("tell the team").hits
    assert [(hit.id, hit.similarity) for hit in hits] == [("cap_1", 0.0)]


def test_strangers_do_not_vote_for_the_wrong_tool() -> None:
    index = index_of(
        [
            *(tool(name, name.replace("_", " ")) for name in TOOLS),
            capability(
                "cap_1", "count the lines of every file in a folder", tools=["fs:read_file"]
            ),
        ]
    )
    assert ids(index, "write files")[0] == "fs:write_file"


def test_vectors_find_what_shares_no_word() -> None:
    index = index_of([tool("fs:read", "get a file"), capability("cap_1", "fetch the document")])
    index.put_vectors(
        {
            "tool:fs:read": np.array([0.6, 0.8], np.float32),
            "intent:fetch the document": np.array([1, 0], np.float32),
        }
    )
    assert ids(index, "télécharger") == []
    hits = index.rank("télécharger", vector=np.array([1, 0], np.float32)).hits
    assert [hit.id for hit in hits] == ["cap_1", "fs:read"]
    assert hits[0].reasons == ("meaning 1.00 alike",)


def test_meaning_alone_names_only_what_is_clearly_alike() -> None:
    index = index_of([tool("fs:read", "get a file"), tool("git:log", "commits")])
    near, far = LEAST_ALONE + 0.01, LEAST_ALONE - 0.01
    index.put_vectors(
        {
            "tool:fs:read": np.array([near, np.sqrt(1 - near**2)], np.float32),
            "tool:git:log": np.array([far, np.sqrt(1 - far**2)], np.float32),
        }
    )
    meant = np.array([1, 0], np.float32)
    assert [hit.id for hit in index.rank("flumber", vector=meant).hits] == ["fs:read"]
    hits = index.rank("flumber file", vector=meant).hits  # a word names one: the rest may follow
    assert [hit.id for hit in hits] == ["fs:read", "git:log"]


def test_other_vectors_stay_where_one_is_forgotten() -> None:
    index = index_of([tool("s:first"), tool("s:middle"), tool("s:last")])
    index.put_vectors(
        {
            "tool:s:first": np.array([1, 0, 0], np.float32),
            "tool:s:middle": np.array([0, 1, 0], np.float32),
            "tool:s:last": np.array([0, 0, 1], np.float32),
        }
    )
    index.remove(Found.TOOL, "s:first")
    hits = index.rank("unknown", vector=np.array([0.2, 0.5, 0.8], np.float32)).hits
    assert [hit.id for hit in hits] == ["s:last", "s:middle"]


def test_a_vector_of_another_dimension_is_refused() -> None:
    index = index_of([tool("fs:read"), tool("fs:write")])
    index.put_vectors({"tool:fs:read": np.array([1, 0], np.float32)})
    with pytest.raises(ValueError, match=r"shape \(3,\), expected \(2,\)"):
        index.put_vectors({"tool:fs:write": np.array([1, 0, 0], np.float32)})
    with pytest.raises(ValueError, match=r"shape \(1,\), expected \(2,\)"):
        index.rank("read", vector=np.array([1], np.float32))


def test_texts_to_encode_are_the_tools_and_the_distinct_past_intents() -> None:
    index = index_of(
        [
            tool("fs:read", "get a file"),
            capability("cap_1", "Sum it.", "sum  IT"),
            capability("cap_2", "sum it"),
        ]
    )
    assert index.texts() == {"tool:fs:read": "fs.read: get a file", "intent:sum it": "sum it"}
    index.remove(Found.CAPABILITY, "cap_1")
    assert "intent:sum it" in index.texts()


def test_of_many_past_intents_the_latest_50_count_as_text() -> None:
    entry = capability("cap_1")
    intents = tuple(past("cap_1", f"word{n}", at_ms=n) for n in range(51))
    index = index_of([type(entry)(id="cap_1", kind=entry.kind, name="x", text="", intents=intents)])
    assert "words: word50" in index.rank("word50").hits[0].reasons
    assert "words: word0" not in index.rank("word0").hits[0].reasons


entries = st.lists(
    st.builds(lambda n, text: tool(f"s:t{n}", text), st.integers(0, 20), sentences)
    | st.builds(lambda n, text: capability(f"cap_{n}", text), st.integers(0, 5), sentences),
    max_size=25,
)


@given(entries, sentences, st.sampled_from(["tool", "capability", "all"]), st.floats(0, 1))
def test_parts_of_a_ranking_put_together_are_the_ranking_and_what_is_left_out_is_at_its_end(
    made: list[object], intent: str, kind: Kind, least: float
) -> None:
    index = index_of(made)  # type: ignore[arg-type]
    whole = index.rank(intent, kind=kind, limit=100)
    parts = [index.rank(intent, kind=kind, limit=2, offset=n) for n in range(0, whole.total, 2)]
    assert tuple(hit for part in parts for hit in part.hits) == whole.hits
    assert {part.total for part in parts} <= {whole.total}
    assert whole.total == len(whole.hits)
    assert all(kind in ("all", hit.kind) for hit in whole.hits)
    order = [(-hit.score, hit.id, hit.kind) for hit in whole.hits]
    assert order == sorted(order)
    assert all(0 < hit.score <= 1 and 0 <= hit.similarity <= 1 for hit in whole.hits)
    kept = tuple(hit for hit in whole.hits if hit.score >= least)
    assert index.rank(intent, kind=kind, limit=100, min_score=least).hits == kept
