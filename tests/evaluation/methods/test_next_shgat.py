"""The next tool by what is learned of evidence: what it learns, and when it is silent (LE-5)."""

from dataclasses import replace

import numpy as np
import pytest
from jaxtyping import Float32

from pml.discovery.next_tool import COLUMNS, Place
from pml.embedding.static import default_encoder
from pml.evaluation.methods.next_shgat import METHODS, NextShgat, _prepared
from pml.evaluation.next_folds import NEXT, fallbacks
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


def fallbacks_of(*asked: tuple[str, str]) -> dict[str, Float32[np.ndarray, "queries candidates"]]:
    """What each says at some places, where what came before tells nothing and intents all."""
    views = NextViews(by_intent(), NextSettings(), default_encoder())
    evidence = views.full()[1]
    places = [Place(prefix=tuple(prefix), intent=intent) for prefix, intent in asked]
    queries = views.queries(evidence, places)
    return {name: of(queries) for name, of in fallbacks().items()}


def test_the_first_fallback_is_ppm() -> None:
    views = NextViews(by_intent(), NextSettings(), default_encoder())
    fold = views.folds()[0]
    queries = fold.tasks[NEXT].queries.take(np.arange(3))
    ppm = next(iter(fold.tasks[NEXT].fallbacks.values()))(queries)
    assert np.array_equal(ppm, queries.evidence[:, :, COLUMNS.index("after three calls")])
    assert (ppm.argmax(axis=1) > 0).all()  # nobody calls a after a


def test_the_pool_knows_past_intents_too() -> None:
    pool = fallbacks_of(*(("a", f"my {word}") for word in WORDS.values()))["pool"]
    assert [NAMES[at] for at in pool.argmax(axis=1).tolist()] == list(WORDS)


def test_the_rest_is_what_the_intent_still_asks_for() -> None:
    said = fallbacks_of(("b", "tool_b and then tool_e"), ("e", "tool_b and then tool_e"))["rest"]
    assert [NAMES[at] for at in said.argmax(axis=1).tolist()] == ["e", "b"]


def test_the_rest_on_the_server_is_there_whatever_the_texts_say() -> None:
    asked = replace(by_intent(), tools=(*tools("abc"), *tools("def", server="other")))
    views = NextViews(asked, NextSettings(), default_encoder())
    place = Place(prefix=("d", "a"), intent="tool_a, tool_d, tool_e and tool_c")
    queries = views.queries(views.full()[1], [place])
    said = {name: of(queries)[0].argsort()[::-1].tolist() for name, of in fallbacks().items()}
    assert [NAMES[at] for at in said["rest on the server"][:3]] == ["c", "b", "a"]
    assert {NAMES[at] for at in said["rest"][:2]} == {"c", "e"}


def test_without_their_columns_there_are_no_others() -> None:
    settings = NextSettings(columns=("after one call", "after three calls"))
    (fold, *_) = NextViews(by_intent(), settings, default_encoder()).folds()
    assert list(fold.tasks[NEXT].fallbacks) == ["ppm"]
