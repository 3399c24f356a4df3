"""Choosing the tool that is asked for: scikit-learn's ridge, and better than text (LE-8)."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.stats import binomtest
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import linear_kernel

from pml.evaluation import main_tool
from pml.evaluation.main_tool import Meanings, Tools, by_text, learned, weights_of
from tests.evaluation.made import workshop

SET = workshop()
KNOWN = SET.split("train")
INTENTS = [one.intent for one in KNOWN]
TOOLS = Tools(SET.tools)
MAINS = np.array([TOOLS.places[one.main_tool or ""] for one in KNOWN])


def ridge(inside: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """scikit-learn's predictions of how each tool fits, learned from some of the past."""
    rows = main_tool._fitted(INTENTS, analyzer=main_tool._pairs).transform(INTENTS)
    words = TOOLS.by_words.toarray()
    model = KernelRidge(alpha=main_tool.RIDGE, kernel="precomputed")
    model.fit(linear_kernel(rows[inside]), words[MAINS[inside]] - words.mean(axis=0))
    fits: np.ndarray = model.predict(linear_kernel(rows[asked], rows[inside])) @ words.T
    return fits


def test_meanings_equal_scikit_learns_kernel_ridge() -> None:
    every = np.arange(len(KNOWN))
    found = Meanings(TOOLS, INTENTS, MAINS)(INTENTS)
    np.testing.assert_allclose(found, ridge(every, every), atol=1e-9)


def test_meanings_of_unseen_folds_equal_learning_without_them() -> None:
    fold = np.arange(len(KNOWN)) % 3
    found = Meanings(TOOLS, INTENTS, MAINS).unseen(fold)
    for number in range(3):
        inside, outside = np.flatnonzero(fold == number), np.flatnonzero(fold != number)
        np.testing.assert_allclose(found[inside], ridge(outside, inside), atol=1e-9)


def test_the_loss_has_the_gradient_that_it_says() -> None:
    rng = np.random.default_rng(0)
    kinds, right = rng.normal(size=(6, 4, 3)), rng.integers(4, size=6)
    error = check_grad(
        lambda w: main_tool._loss(w, kinds, right)[0],
        lambda w: main_tool._loss(w, kinds, right)[1],
        rng.normal(size=3),
    )
    assert error < 1e-5


def test_evidence_that_says_nothing_gets_no_weight_and_that_which_tells_gets_most() -> None:
    rng = np.random.default_rng(0)
    right = rng.integers(10, size=200)
    kinds = rng.normal(size=(200, 10, 3))
    kinds[np.arange(200), right, 2] += 3
    weights = weights_of(kinds, right)
    assert abs(weights[:2]).max() < 0.3 < weights[2]


def test_past_intents_for_other_things_tell_what_a_verb_asks_for() -> None:
    # A sign test over 80 intents, whose nouns no past intent has; error rate 1e-4.
    tested = SET.split("test")
    intents = [one.intent for one in tested]
    right = np.array([TOOLS.places[one.main_tool or ""] for one in tested])
    taught = learned(TOOLS, KNOWN)
    assert taught is not None
    hits = taught(intents).argmax(axis=1) == right
    text = by_text(TOOLS)(intents).argmax(axis=1) == right
    wins, losses = int((hits & ~text).sum()), int((text & ~hits).sum())
    assert binomtest(wins, wins + losses, alternative="greater").pvalue < 1e-4
    assert hits.mean() > 0.8


@pytest.mark.parametrize("past", [(), KNOWN[:10], tuple(replace(x, main_tool=None) for x in KNOWN)])
def test_too_little_past_teaches_nothing(past: tuple[()]) -> None:
    assert learned(TOOLS, past) is None


def test_texts_without_any_word_say_nothing_and_are_answered() -> None:
    """Of the past, of the tools, of what is asked."""
    silent = Tools([replace(tool, name="", description="") for tool in SET.tools])
    silent_past = [replace(one, intent="") for one in KNOWN]
    for tools, past in ((TOOLS, silent_past), (silent, KNOWN), (silent, silent_past)):
        chooser = learned(tools, past)
        assert chooser is not None
        assert np.isfinite(chooser(["", "hammer"])).all()
        np.testing.assert_allclose(chooser([""])[0], chooser([""])[0, 0])


def test_an_intent_without_known_words_and_no_intents_at_all_are_answered() -> None:
    for chooser in (by_text(TOOLS), learned(TOOLS, KNOWN)):
        assert chooser is not None
        assert np.isfinite(chooser(["", "unheard", "\u5929"])).all()
        assert chooser([]).shape == (0, len(SET.tools))
