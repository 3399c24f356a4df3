"""BM25 after any puts and removals scores as bm25s does a collection built at once (MCP-1)."""

import bm25s
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pml.discovery.bm25 import Bm25

words = st.lists(st.sampled_from("abcdefgh"), max_size=8)
changes = st.lists(st.tuples(st.integers(0, 9), st.none() | words), min_size=1, max_size=30)
"""Row and its new text; None removes it."""
parameters = st.sampled_from([(1.2, 0.75), (1.5, 0.0), (0.5, 1.0)])


@given(changes, words, parameters)
def test_scores_are_those_of_bm25s_over_what_is_there(
    changes: list[tuple[int, list[str] | None]], query: list[str], parameters: tuple[float, float]
) -> None:
    k1, b = parameters
    ours = Bm25(k1=k1, b=b)
    texts: dict[int, list[str]] = {}
    for row, text in changes:
        if text is None:
            ours.remove(row)
            texts.pop(row, None)
        else:
            ours.put(row, text)
            texts[row] = text
    scores = ours.scores(query)
    expected = np.zeros(len(scores))
    rows = sorted(texts)
    vocabulary = {word for text in texts.values() for word in text}
    known = [word for word in dict.fromkeys(query) if word in vocabulary]
    if known:
        oracle = bm25s.BM25(k1=k1, b=b, method="lucene")
        oracle.index([texts[row] for row in rows], show_progress=False)
        expected[rows] = oracle.get_scores(known)
    np.testing.assert_allclose(scores, expected, rtol=1e-5, atol=1e-6)


def test_a_removed_row_scores_nothing_and_its_words_are_forgotten() -> None:
    ours = Bm25()
    ours.put(0, ["a"])
    ours.remove(0)
    ours.remove(0)
    ours.remove(7)
    assert not ours.scores(["a"]).any()
    assert ours.words(0) == ()
