"""Which tool an intent asks for: text evidence, and what past intents teach about words.

Text retrieval confuses siblings: "sign me in at the library, I want to see my loans" has more
words in common with the tool that lists loans than with the one that signs in.  Past intents
for *other* tools tell what such words ask for: a kernel ridge regression maps an intent to the
words of the tool that it asks for, and what it predicts is compared with every tool, also
with those that nobody ever asked for.  A conditional logit weighs this against the text
evidence and gives chances.

References: C. Saunders, A. Gammerman, V. Vovk: Ridge Regression Learning Algorithm in Dual
Variables, ICML 1998; D. McFadden: Conditional Logit Analysis of Qualitative Choice Behavior,
1974; B. Bai et al.: Supervised Semantic Indexing, CIKM 2009 (the map from queries to the words
of documents, there by gradient descent on pairs).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from jaxtyping import Float64, Int64
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics.pairwise import linear_kernel

from pml.discovery.bm25 import Bm25
from pml.discovery.words import Words
from pml.evaluation.dataset import Tool, Workflow
from pml.evaluation.text import parameter_names

Evidence: TypeAlias = Float64[np.ndarray, "cases tools kinds"]
Logits: TypeAlias = Float64[np.ndarray, "cases tools"]

RIDGE = 0.5
DECAY = 1.0
"""Of the weights of the conditional logit, in units of each kind's deviation."""
CONSIDERED = 40
"""Tools that compete for each past intent while the weights are learned."""
FOLDS = 5
_SEED = 0
LEAST_PAST = 20
"""Fewer past intents with a main tool teach nothing."""

_stems = Words()
_all_stems = Words(stop_words=frozenset())


def _pairs(text: str) -> list[str]:
    """Stems and pairs of neighbours: "sign", "me", "in", "sign me", "me in"."""
    words = _all_stems(text)
    return words + [f"{one} {next_}" for one, next_ in pairwise(words)]


def _spelled(text: str) -> str:
    return " ".join(Words(stemmer=None, stop_words=frozenset())(text))


class Tools:
    """The tools, as intents are compared with them."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        texts = [
            f"{tool.name} {tool.name} {tool.description} {' '.join(parameter_names(tool))}"
            for tool in tools
        ]
        self.places: Mapping[str, int] = {tool.id: place for place, tool in enumerate(tools)}
        self._bm25 = Bm25()
        for row, text in enumerate(texts):
            self._bm25.put(row, _stems(text))
        self._words = _fitted(texts, analyzer=_stems)
        named = [_spelled(f"{tool.name} {tool.name} {tool.description}") for tool in tools]
        self._letters = _fitted(named, analyzer="char_wb", ngram_range=(3, 5))
        self.by_words = self._words.transform(texts)
        self._by_letters = self._letters.transform(named)

    def evidence(self, intents: Sequence[str]) -> Evidence:
        """BM25 and character n-grams, each relative to its best, and cosines of words."""
        if not intents:
            return np.zeros((0, len(self.places), 3))
        bm25 = np.array([self._bm25.scores(_stems(intent)) for intent in intents])
        words = linear_kernel(self._words.transform(intents), self.by_words)
        letters = linear_kernel(
            self._letters.transform([_spelled(intent) for intent in intents]), self._by_letters
        )
        return np.stack([_relative(bm25), words, _relative(letters)], axis=-1)


def _fitted(texts: Sequence[str], **options: object) -> TfidfVectorizer:
    """Where no text has a word, vectors of zeros: such texts say nothing of one another."""
    vectorizer = TfidfVectorizer(sublinear_tf=True, **options)
    analyze = vectorizer.build_analyzer()
    if not any(analyze(text) for text in texts):
        vectorizer.set_params(vocabulary={"": 0})  # a word that no text has
    return vectorizer.fit(texts)


def _relative(scores: np.ndarray) -> np.ndarray:
    relative: np.ndarray = scores / (scores.max(axis=1, keepdims=True) + 1e-9)
    return relative


class Meanings:
    """What the words of past intents ask for: intents to the words of tools.

    Args:
        tools: All of them.
        intents: That were asked.
        asked_for: The place of the tool that each asked for.
    """

    def __init__(
        self, tools: Tools, intents: Sequence[str], asked_for: Int64[np.ndarray, " past"]
    ) -> None:
        self._told = tools.by_words
        self._vectorizer = _fitted(intents, analyzer=_pairs)
        self._past: csr_matrix = self._vectorizer.transform(intents)
        self._words = self._told[asked_for].toarray() - np.asarray(self._told.mean(axis=0))
        kernel = linear_kernel(self._past)
        self._inverse = np.linalg.inv(kernel + RIDGE * np.eye(len(kernel)))
        self._duals = self._inverse @ self._words

    def __call__(self, intents: Sequence[str]) -> Logits:
        """How well each tool's words are those that the intent is predicted to ask for."""
        if not intents:
            return np.zeros((0, self._told.shape[0]))
        kernel = linear_kernel(self._vectorizer.transform(intents), self._past)
        return self._fits(kernel @ self._duals)

    def unseen(self, fold: Int64[np.ndarray, " past"]) -> Logits:
        """For the past intents themselves, each as if its fold had not been learned from.

        In closed form: the residuals of a fold are its block of the inverse, inverted, times its
        duals (T. Pahikkala, J. Boberg, T. Salakoski: Fast n-Fold Cross-Validation for
        Regularized Least-Squares, SCAI 2006).
        """
        predicted = self._words.copy()
        for number in np.unique(fold):
            inside = np.flatnonzero(fold == number)
            block = self._inverse[np.ix_(inside, inside)]
            predicted[inside] -= np.linalg.solve(block, self._duals[inside])
        return self._fits(predicted)

    def _fits(self, predicted: np.ndarray) -> Logits:
        return np.asarray((self._told @ predicted.T).T, np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chooser:
    """Weighs evidence; without meanings by equal weights."""

    tools: Tools
    meanings: Meanings | None
    weights: Float64[np.ndarray, " kinds"]

    def __call__(self, intents: Sequence[str]) -> Logits:
        """Of each tool, up to a constant per intent; chances where the weights were learned."""
        kinds = self.tools.evidence(intents)
        if self.meanings is not None:
            kinds = np.concatenate([kinds, self.meanings(intents)[..., None]], axis=-1)
        logits: Logits = kinds @ self.weights
        return logits


def by_text(tools: Tools) -> Chooser:
    """Chooses by text alone, all kinds of evidence alike."""
    return Chooser(tools=tools, meanings=None, weights=np.ones(3))


def learned(tools: Tools, past: Sequence[Workflow]) -> Chooser | None:
    """Learns from workflows whose main tool is known; None where there are too few.

    The weights are learned from meanings that had not seen the main tool that is asked for,
    as it will be in use.
    """
    taught = [one for one in past if one.main_tool in tools.places]
    intents = [one.intent for one in taught]
    mains = np.array([tools.places[one.main_tool or ""] for one in taught], np.int64)
    fold = _folds(mains)
    if len(taught) < LEAST_PAST or len(set(fold)) < FOLDS:
        return None
    meanings = Meanings(tools, intents, mains)
    kinds = np.concatenate([tools.evidence(intents), meanings.unseen(fold)[..., None]], axis=-1)
    return Chooser(tools=tools, meanings=meanings, weights=weights_of(kinds, mains))


def _folds(mains: np.ndarray) -> np.ndarray:
    """Main tools dealt at random: by number, neighbours that differ by a verb would go apart."""
    distinct, which = np.unique(mains, return_inverse=True)
    folds: np.ndarray = (np.random.default_rng(_SEED).permutation(len(distinct)) % FOLDS)[which]
    return folds


def weights_of(kinds: Evidence, right: Int64[np.ndarray, " cases"]) -> np.ndarray:
    """Weights under which the right tools are likeliest among those that compete.

    By each intent the `CONSIDERED` tools with the largest cosine and meaning together compete, and
    the right one, whatever it has.
    """
    count = min(CONSIDERED, kinds.shape[1])
    rows = np.arange(len(right))
    scores = kinds[..., 1] + kinds[..., -1]
    scores[rows, right] = np.inf
    competing = np.argpartition(-scores, count - 1, axis=1)[:, :count]
    among = kinds[rows[:, None], competing]  # (cases, competing, kinds)
    place = np.argmax(competing == right[:, None], axis=1)
    deviations = among.reshape(-1, among.shape[-1]).std(axis=0) + 1e-9
    fitted = minimize(
        _loss, np.zeros(among.shape[-1]), args=(among / deviations, place), jac=True, method="BFGS"
    )
    weights: np.ndarray = fitted.x / deviations
    return weights


def _loss(weights: np.ndarray, kinds: np.ndarray, right: np.ndarray) -> tuple[float, np.ndarray]:
    """Negative log-likelihood of the right ones with its gradient, and decay."""
    logits = kinds @ weights
    logits -= logits.max(axis=1, keepdims=True)
    chances = np.exp(logits)
    sums = chances.sum(axis=1, keepdims=True)
    rows = np.arange(len(right))
    value = np.log(sums).sum() - logits[rows, right].sum() + DECAY * weights @ weights / 2
    expected = ((chances / sums)[..., None] * kinds).sum(axis=(0, 1))
    return float(value), expected - kinds[rows, right].sum(axis=0) + DECAY * weights
