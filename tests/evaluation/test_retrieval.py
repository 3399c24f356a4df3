"""Retrievers equal independent definitions, and say nothing where nothing can be said (LE-8)."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pml.discovery.bm25 import Bm25
from pml.discovery.tfidf import Frequencies, TfIdf
from pml.evaluation.questions import Scores
from pml.evaluation.retrieval import Neighbours, Texts, nearest, relative, votes
from pml.evaluation.text import words

sentence = st.lists(
    st.sampled_from(["read", "file", "mail", "send", "sum", "天", "the"]), max_size=6
).map(" ".join)
told = st.lists(sentence, min_size=1, max_size=6)
asked = st.lists(sentence, min_size=1, max_size=4)

Retriever = Callable[[Texts, Sequence[str]], Scores]
few = settings(max_examples=30)


@few
@given(told, asked)
def test_bm25_equals_the_textbook_formula(documents: list[str], queries: list[str]) -> None:
    texts = [words(text) or ["_"] for text in documents]
    mean = sum(map(len, texts)) / len(texts)
    known = {word for text in texts for word in text}

    def score(query: str, text: list[str]) -> float:
        total = 0.0
        for word in words(query):
            with_word = sum(word in one for one in texts)
            idf = math.log(1 + (len(texts) - with_word + 0.5) / (with_word + 0.5))
            count = text.count(word)
            norm = 1.2 * (1 - 0.75 + 0.75 * len(text) / mean)
            total += idf * count / (count + norm) if word in known else 0.0
        return total

    expected = [[score(query, text) for text in texts] for query in queries]
    np.testing.assert_allclose(Texts(documents).bm25(queries), expected, rtol=1e-4, atol=1e-6)


@few
@given(told, st.lists(sentence, max_size=3), asked)
def test_tfidf_equals_pmls_own_cosine(
    documents: list[str], extra: list[str], queries: list[str]
) -> None:
    frequencies = Frequencies()
    own = TfIdf(frequencies)
    for row, text in enumerate(documents):
        own.put(row, words(text))
    for text in extra:
        frequencies.add(set(words(text)))
    known = {word for text in [*documents, *extra] for word in words(text)}
    expected = [own.cosines([word for word in words(query) if word in known]) for query in queries]
    found = Texts(documents, extra).tfidf(queries)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_bm25_ranks_as_pmls_own_does_where_no_word_is_repeated() -> None:
    documents = ["send mail to a person", "read a file", "read mail", "sum numbers of a file"]
    own = Bm25()
    for row, text in enumerate(documents):
        own.put(row, words(text))
    found = Texts(documents).bm25(["read the mail"])[0]
    np.testing.assert_allclose(found, own.scores(words("read the mail")), rtol=1e-5)


def test_lsa_compares_projections_on_the_leading_singular_vectors() -> None:
    documents = ["car engine", "automobile engine", "soup kitchen", "broth kitchen"]
    extra = ["car automobile wheel", "soup broth spoon wheel"]
    texts = Texts(documents, extra)
    known = texts.vectors([*documents, *extra]).toarray()
    leading = np.linalg.svd(known)[2][: min(len(known), known.shape[1]) - 1].T
    told, asked = known[:4] @ leading, texts.vectors(["automobile wheel"]).toarray() @ leading
    expected = told @ asked[0] / np.linalg.norm(told, axis=1) / np.linalg.norm(asked)
    np.testing.assert_allclose(texts.lsa(["automobile wheel"])[0], expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("retriever", [Texts.bm25, Texts.tfidf, Texts.lsa])
@pytest.mark.parametrize(
    ("documents", "queries"),
    [
        (["read file", "send mail"], ["", "the of", "unheard words"]),
        (["", "the"], ["read"]),
        (["read"], ["unheard"]),
    ],
)
def test_a_query_without_known_words_scores_everything_zero(
    retriever: Retriever, documents: list[str], queries: list[str]
) -> None:
    found: Scores = retriever(Texts(documents), queries)
    assert found.shape == (len(queries), len(documents))
    assert not found.any()


@pytest.mark.parametrize("retriever", [Texts.bm25, Texts.tfidf, Texts.lsa])
def test_no_queries_and_a_single_document_are_answered(retriever: Retriever) -> None:
    assert retriever(Texts(["read file"]), []).shape == (0, 1)
    assert retriever(Texts(["read file"]), ["read"]).shape == (1, 1)


@few
@given(told, asked, st.integers(1, 5))
def test_the_nearest_are_the_most_similar_best_first(
    past: list[str], queries: list[str], count: int
) -> None:
    found = nearest(queries, past, [], count)
    assert found.indices.shape == (len(queries), min(count, len(past)))
    every = Texts(past).tfidf(queries)
    for row, cosines in zip(every, found.cosines, strict=True):
        np.testing.assert_allclose(cosines, np.sort(row)[::-1][: len(cosines)], atol=1e-6)


def test_many_queries_are_answered_as_each_alone() -> None:
    past = ["read a file", "send mail", "sum numbers"]
    queries = ["read", "mail please", "numbers of a file"] * 200
    together = nearest(queries, past, [])
    alone = [nearest([query], past, []) for query in queries[:3]] * 200
    np.testing.assert_array_equal(together.indices, np.concatenate([one.indices for one in alone]))


def test_each_neighbour_votes_once_with_its_squared_cosine() -> None:
    near = Neighbours(indices=np.array([[1, 0]]), cosines=np.array([[0.5, 0.2]]))
    found = votes(near, [{0}, {0, 2}], 3)
    np.testing.assert_allclose(found, [[0.25 + 0.04, 0, 0.25]], rtol=1e-6)


@given(st.lists(st.floats(0, 9, width=32), min_size=1, max_size=5))
def test_relative_scores_keep_the_order_and_end_at_one(scores: list[float]) -> None:
    found = relative(np.array([scores], np.float32))[0]
    assert found.max() <= 1
    assert all(found[i] <= found[j] for i, j in _pairs(scores))


def _pairs(scores: Sequence[float]) -> list[tuple[int, int]]:
    places = range(len(scores))
    return [(i, j) for i in places for j in places if scores[i] <= scores[j]]
