"""Many intents at once are answered as each by itself is (LE-5)."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pml.discovery.evidence import (
    ALIKE,
    MOST_READ,
    NEIGHBOURS,
    AskedEvidence,
    PastEvidence,
    TextEvidence,
)
from pml.discovery.evidence_batch import AskedBatch, PastBatch, PastIntent, PastTerms, TextBatch

CANDIDATES = 4
WORDS = ["send", "sending", "mail", "weather", "today", "file", "deleteAll", "readFile", "."]
sentence = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
text = st.lists(sentence, max_size=3).map(". ".join)
texts = st.lists(text, max_size=8)
past_intent = st.builds(
    PastIntent,
    intent=text,
    served=st.sets(st.integers(0, CANDIDATES - 1)).map(lambda one: tuple(sorted(one))),
    told=st.none() | sentence,
)


@given(texts, texts)
def test_texts_say_of_many_intents_what_they_say_of_each(
    said: list[str], intents: list[str]
) -> None:
    alone = TextEvidence()
    for row, each in enumerate(said):
        alone.put(row, each)
    found = TextBatch(said).ask(intents)
    assert found.shape[:2] == (len(intents), len(said))
    for row, intent in enumerate(intents):
        np.testing.assert_allclose(found[row], alone.ask(intent, len(said)), atol=1e-6)


def check_past(past: Sequence[PastIntent], intents: Sequence[str], terms: PastTerms) -> None:
    alone = PastEvidence()
    for row, one in enumerate(past):
        alone.put(row, one.intent, one.served, told=one.told)
    batch = PastBatch(past, CANDIDATES, terms)
    for candidates in (slice(0, CANDIDATES), slice(1, 3)):
        found, stats = batch.ask(intents, candidates)
        for row, intent in enumerate(intents):
            expected, expected_stats = alone.ask(intent, CANDIDATES)
            np.testing.assert_allclose(found[row], expected[candidates], atol=1e-6)
            np.testing.assert_allclose(stats[row], expected_stats, atol=1e-6)


@given(st.lists(past_intent, max_size=8), texts)
def test_past_intents_say_of_many_what_they_say_of_each(
    past: list[PastIntent], intents: list[str]
) -> None:
    check_past(past, intents, PastTerms())


@given(st.lists(past_intent, max_size=6), st.lists(past_intent, max_size=6), texts)
def test_what_was_asked_of_other_past_intents_changes_nothing(
    others: list[PastIntent], past: list[PastIntent], intents: list[str]
) -> None:
    terms = PastTerms()
    PastBatch(others, CANDIDATES, terms).ask(intents[:1], slice(0, CANDIDATES))
    check_past(past, intents, terms)


def test_only_the_nearest_vote_and_those_that_tie_with_the_last() -> None:
    """More past intents than vote, some of which are alike to the last digit."""
    rng = np.random.default_rng(0)
    past = [
        PastIntent(
            intent="send mail " + " ".join(rng.choice(WORDS, size=3)),
            served=(row % CANDIDATES,),
            told=str(rng.choice(WORDS)),
        )
        for row in range(3 * max(ALIKE, NEIGHBOURS))
    ]
    check_past(past, ["send mail today", "read a file", "sending", ""], PastTerms())


@given(st.lists(texts, max_size=5), texts)
def test_what_candidates_were_asked_for_says_of_many_what_it_says_of_each(
    asked: list[list[str]], intents: list[str]
) -> None:
    check_asked(asked, intents)


def test_only_the_latest_that_a_candidate_was_asked_for_are_read() -> None:
    check_asked([["send mail", *["read a file"] * MOST_READ], ["mail"]], ["send", "file mail"])


def check_asked(asked: Sequence[Sequence[str]], intents: Sequence[str]) -> None:
    alone = AskedEvidence()
    for row, one in enumerate(asked):
        alone.put(row, one)
    found = AskedBatch(asked, PastTerms()).ask(intents)
    for row, intent in enumerate(intents):
        np.testing.assert_allclose(found[row], alone.ask(intent, len(asked)), atol=1e-6)
