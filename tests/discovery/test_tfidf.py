"""Cosines of TF-IDF equal those of dense vectors computed word by word (MCP-1)."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pml.discovery.tfidf import Frequencies, TfIdf

words = st.lists(st.sampled_from("abcdefgh"), max_size=8)
changes = st.lists(st.tuples(st.integers(0, 6), st.none() | words), min_size=1, max_size=25)


def cosine(one: list[str], other: list[str], collection: list[list[str]]) -> float:
    """By the definition, over the words of both."""

    def vector(text: list[str]) -> dict[str, float]:
        return {
            word: (1 + math.log(text.count(word)))
            * (1 + math.log((1 + len(collection)) / (1 + sum(word in t for t in collection))))
            for word in set(text)
        }

    left, right = vector(one), vector(other)
    product = sum(left[word] * right[word] for word in left.keys() & right.keys())
    lengths = math.hypot(*left.values()) * math.hypot(*right.values())
    return product / lengths if product else 0.0


@given(changes, st.lists(words, max_size=4), words)
def test_cosines_equal_the_definition_over_what_is_there(
    changes: list[tuple[int, list[str] | None]], others: list[list[str]], query: list[str]
) -> None:
    frequencies = Frequencies()
    ours = TfIdf(frequencies)
    texts: dict[int, list[str]] = {}
    for other in others:  # counted in the weights, not compared
        frequencies.add(set(other))
    for row, text in changes:
        ours.cosines(query)  # what is kept between questions must not be stale after a change
        if text is None:
            ours.remove(row)
            texts.pop(row, None)
        else:
            ours.put(row, text)
            texts[row] = text
    cosines = ours.cosines(query)
    collection = [*texts.values(), *others]
    expected = [
        cosine(query, texts[row], collection) if row in texts else 0.0
        for row in range(len(cosines))
    ]
    np.testing.assert_allclose(cosines, expected, rtol=1e-6, atol=1e-9)


def test_a_word_that_no_text_has_weighs_most() -> None:
    frequencies = Frequencies()
    frequencies.add(["rare", "common"])
    frequencies.add(["common"])
    assert frequencies.idf("unseen") > frequencies.idf("rare") > frequencies.idf("common")
    frequencies.remove(["rare", "common"])
    assert frequencies.idf("rare") == frequencies.idf("unseen")
