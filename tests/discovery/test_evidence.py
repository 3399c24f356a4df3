"""What retrievers say does not depend on history, and leaves out what is left out (LE-5, LE-8)."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pml.discovery.evidence import (
    MOST_PARTS,
    MOST_READ,
    NEIGHBOURS,
    PAST_COLUMNS,
    TEXT_COLUMNS,
    AskedEvidence,
    PastEvidence,
    TextEvidence,
    grams,
    parts_of,
)

sentence = st.lists(
    st.sampled_from(["send", "mail", "weather", "today", "file", "delete", "readFile", "."]),
    max_size=6,
).map(" ".join)
changes = st.lists(st.tuples(st.integers(0, 4), st.none() | sentence), max_size=12)
ROWS = 5


@given(changes, sentence)
def test_texts_answer_as_if_what_is_there_had_been_put_alone(
    changes: list[tuple[int, str | None]], intent: str
) -> None:
    changed, anew = TextEvidence(), TextEvidence()
    left: dict[int, str] = {}
    for row, text in changes:
        if text is None:
            changed.remove(row)
            left.pop(row, None)
        else:
            changed.put(row, text)
            left[row] = text
    for row, text in left.items():
        anew.put(row, text)
    found = changed.ask(intent, ROWS)
    np.testing.assert_allclose(found, anew.ask(intent, ROWS), atol=1e-6)
    assert found.min(initial=0) >= 0
    assert found.max(initial=0) <= 1 + 1e-6


@given(changes, sentence)
def test_past_intents_answer_as_if_what_is_there_had_been_put_alone(
    changes: list[tuple[int, str | None]], intent: str
) -> None:
    changed, anew = PastEvidence(), PastEvidence()
    left: dict[int, str] = {}
    for row, text in changes:
        if text is None:
            changed.remove(row)
            left.pop(row, None)
        else:
            changed.put(row, text, {row % 2, 2})
            left[row] = text
    for row, text in left.items():
        anew.put(row, text, {row % 2, 2})
    found, stats = changed.ask(intent, ROWS)
    expected, expected_stats = anew.ask(intent, ROWS)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    np.testing.assert_allclose(stats, expected_stats, atol=1e-6)
    assert found.max(initial=0) <= 1 + 1e-6


def test_a_candidate_that_fits_one_part_is_as_good_there_as_one_that_fits_all_of_another() -> None:
    texts = TextEvidence()
    texts.put(0, "weather forecast for a city")
    texts.put(1, "send mail to people")
    texts.put(2, "delete a database")
    said = texts.ask("Tell the weather forecast for the city of Bonn tomorrow. Send mail.", 3)
    column = TEXT_COLUMNS.index("part_cosine")
    np.testing.assert_allclose(said[:2, column], 1)
    assert said[2, column] == 0
    assert said[0, TEXT_COLUMNS.index("cosine")] > said[1, TEXT_COLUMNS.index("cosine")]


def test_inflected_and_compound_words_share_grams() -> None:
    texts = TextEvidence()
    texts.put(0, "calculateTranslations")
    texts.put(1, "sendMail")
    said = texts.ask("translator", 2)[:, TEXT_COLUMNS.index("grams")]
    assert said[0] > 0
    assert said[1] == 0


def test_votes_are_shares_and_popularity_counts_all() -> None:
    past = PastEvidence()
    past.put(0, "send a mail", {0})
    past.put(1, "send mail now", {0, 1})
    past.put(2, "delete the file", {2})
    said, stats = past.ask("send a mail", 4)
    votes, nearest, alike, popularity = (said[:, PAST_COLUMNS.index(name)] for name in PAST_COLUMNS)
    assert votes[0] > votes[1] > votes[2] == votes[3] == 0
    assert votes[0] < 1
    assert not alike.any()
    np.testing.assert_allclose(nearest[0], 1, atol=1e-6)
    np.testing.assert_allclose(popularity, np.log1p([2, 1, 1, 0]) / np.log1p(3), atol=1e-6)
    np.testing.assert_allclose(stats[0], 1, atol=1e-6)


def test_n_grams_are_compared_with_what_served_too() -> None:
    past = PastEvidence()
    past.put(0, "tell my team", {0}, told="discord sendMessage")
    past.put(1, "tell my family", {1}, told="gmail sendMail")
    said, _ = past.ask("a bot for Discord", 2)
    alike = said[:, PAST_COLUMNS.index("alike")]
    assert alike[0] > 0.5
    assert alike[1] == 0
    assert not said[:, PAST_COLUMNS.index("votes")].any()


def test_a_past_intent_that_is_left_out_says_nothing_of_itself() -> None:
    past = PastEvidence()
    past.put(0, "send a mail", {0})
    past.remove(0)
    said, stats = past.ask("send a mail", 1)
    assert not said.any()
    assert not stats.any()


def test_at_most_the_nearest_vote() -> None:
    past = PastEvidence()
    for row in range(2 * NEIGHBOURS):
        past.put(row, "send mail " + "again " * row, {row})
    said, _ = past.ask("send mail", 2 * NEIGHBOURS)
    assert (said[:, 0] > 0).sum() == NEIGHBOURS


def test_what_was_asked_before_speaks_for_a_candidate_until_it_is_taken_out() -> None:
    asked = AskedEvidence()
    asked.put(0, ["send a mail", "write to mother"])
    asked.put(2, ["book a flight"])
    said = asked.ask("write a mail", 4)
    assert said.argmax() == 0
    assert said[2] < said[0] <= 1
    assert said[[1, 3]].tolist() == [0, 0]
    asked.remove(0)
    assert not asked.ask("write mail", 4).any()


def test_of_many_past_intents_the_latest_are_read() -> None:
    asked = AskedEvidence()
    asked.put(0, ["book a flight", *["send a mail"] * MOST_READ])
    assert not asked.ask("flight", 1).any()
    assert asked.ask("mail", 1).any()


def test_an_intent_falls_into_its_sentences() -> None:
    assert list(parts_of("Do this! Then v1.2 that...\n\n. ?")) == ["Do this!", "Then v1.2 that..."]
    assert list(parts_of(" ")) == []


def test_of_an_intent_without_end_the_first_parts_are_asked_for() -> None:
    evidence = TextEvidence()
    evidence.put(0, "send a letter")
    evidence.put(1, "wash the car")
    asked = ["send a letter.", *["buy milk."] * (MOST_PARTS - 1)]
    within = evidence.ask(" ".join(asked), 2)
    beyond = evidence.ask(" ".join([*asked, *["wash the car."] * 10_000]), 2)
    by_part = [TEXT_COLUMNS.index("part_cosine"), TEXT_COLUMNS.index("part_grams")]
    np.testing.assert_array_equal(within[:, by_part], beyond[:, by_part])
    assert beyond[1, TEXT_COLUMNS.index("words")] > 0


def test_the_mean_of_past_intents_counts_those_that_are_missing() -> None:
    past = PastEvidence()
    past.put(0, "send a letter", [0])
    _, stats = past.ask("send a letter", 1)
    np.testing.assert_allclose(stats, [1.0, 1.0 / NEIGHBOURS], rtol=1e-6)


def test_grams_are_of_words_with_marked_ends() -> None:
    assert grams("Ab c") == [" ab", "ab ", " ab ", " c "]
