"""The next tool by what is learned of evidence: what it learns, and when it is silent (LE-5)."""

from dataclasses import replace

import numpy as np
import pytest

from pml.discovery.next_tool import COLUMNS
from pml.embedding.static import default_encoder
from pml.evaluation.methods.next_shgat import METHODS, NextShgat, _prepared
from pml.evaluation.next_folds import NEXT
from pml.evaluation.next_training import NextSettings, NextViews
from pml.evaluation.questions import NextQuestion, Point
from tests.evaluation.sequences import NAMES, tools

WORDS = dict(zip("bcde", ("dog", "cat", "bird", "fish"), strict=True))
WHOLE, EVIDENCE = METHODS


def question(sequences: list[str], intents: list[str], *asked: tuple[str, str]) -> NextQuestion:
    """Points are (prefix, intent)."""
    return NextQuestion(
        tools=tools(),
        train=tuple(map(tuple, sequences)),
        points=tuple(Point(prefix=tuple(prefix), intent=intent) for prefix, intent in asked),
        past_intents=tuple(intents),
    )


def by_intent(*asked: tuple[str, str]) -> NextQuestion:
    """What came before says nothing: after ``a`` comes what the past intents say."""
    calls = [f"a{tool}" for tool in WORDS] * 30
    intents = [f"my {word} number {at}" for at in range(30) for word in WORDS.values()]
    return question(calls, intents, *asked)


@pytest.mark.parametrize("method", METHODS, ids=lambda one: one.name)
def test_it_learns_that_here_the_intent_decides(method: NextShgat) -> None:
    rankings = method.answers(by_intent(*(("a", f"a {word} today") for word in WORDS.values())))
    assert rankings is not None
    assert [ranking[0] for ranking in rankings] == list(WORDS)
    assert all(sorted(ranking) == list(NAMES) for ranking in rankings)


def test_questions_of_one_training_share_what_is_learned() -> None:
    one = by_intent(("a", "a dog today"))
    other = replace(one, points=(Point(prefix=("a",), intent="a cat today"),))
    assert _prepared(one) is _prepared(other)
    assert _prepared(by_intent()) is not _prepared(one)


def test_the_fallback_answers_where_nothing_beats_it() -> None:
    """All intents are the same words: PPM is all that there is to know."""
    asked = question(["abcabc"] * 40, [f"do {at}" for at in range(40)], ("ab", "do tool e"))
    (ranking,) = WHOLE.answers(asked) or ()
    assert ranking[0] == "c"


@pytest.mark.parametrize(
    ("sequences", "intents"),
    [([], []), (["a", "b"], ["x", "y"]), (["ab", "ac"], ["x", "x"]), (["xy", "yx"], ["x", "y"])],
)
@pytest.mark.parametrize("method", METHODS, ids=lambda one: one.name)
def test_it_says_nothing_where_it_could_learn_nothing(
    method: NextShgat, sequences: list[str], intents: list[str]
) -> None:
    """No training, one call each, one intent alone, and none but unknown tools."""
    assert method.answers(question(sequences, intents, ("a", "x"))) is None


def test_it_says_nothing_where_intents_are_unknown() -> None:
    assert WHOLE.answers(question(["ab"] * 9, [], ("a", "x"))) is None


def test_no_fold_knows_the_intents_that_it_is_asked_about() -> None:
    views = NextViews(by_intent(), NextSettings(), default_encoder())
    for fold in views.folds():
        queries = fold.tasks[NEXT].queries.take(np.arange(len(fold.tasks[NEXT].queries)))
        nearest = queries.stats[:, 0]
        assert (nearest < 0.999).all()  # the number is in no other intent


def test_fallbacks_are_ppm_and_the_pool_which_knows_the_intent_too() -> None:
    views = NextViews(by_intent(), NextSettings(), default_encoder())
    fold = views.folds()[0]
    queries = fold.tasks[NEXT].queries.take(np.arange(3))
    ppm, pool = (of(queries) for of in fold.tasks[NEXT].fallbacks.values())
    assert np.array_equal(ppm, queries.evidence[:, :, COLUMNS.index("after three calls")])
    assert (ppm.argmax(axis=1) > 0).all()  # nobody calls a after a
    right = [place[0] for place in fold.tasks[NEXT].targets.positives[:3]]
    assert pool.argmax(axis=1).tolist() == right


def test_without_its_columns_there_is_no_pool() -> None:
    settings = NextSettings(columns=("after one call", "after three calls"))
    (fold, *_) = NextViews(by_intent(), settings, default_encoder()).folds()
    assert list(fold.tasks[NEXT].fallbacks) == ["ppm"]
