"""What predictors of the next tool say, against its definition (LE-8)."""

import numpy as np
import pytest
from hypothesis import given, settings

from pml.evaluation.methods.next_pool import Pool
from pml.evaluation.next_experts import FEATURES, Experts
from pml.evaluation.questions import NextQuestion, Point
from tests.evaluation.sequences import NAMES, SEQUENCES, tools

TOOLS = tools()


def said(sequences: list[str], intents: list[str], prefix: str, intent: str) -> np.ndarray:
    """Features of the tools at one point."""
    experts = Experts(TOOLS, sequences, intents)
    return np.asarray(experts.features([Point(prefix=tuple(prefix), intent=intent)])[0])


@settings(max_examples=30)  # each fits a vectorizer
@given(sequences=SEQUENCES)
def test_chances_of_counts_are_chances(sequences: list[str]) -> None:
    found = said(sequences, ["x"] * len(sequences), "ab", "y")
    assert found.shape == (len(NAMES), len(FEATURES))
    assert np.exp(found[:, :2]).sum(axis=0) == pytest.approx([1, 1])


@settings(max_examples=30)  # each fits a vectorizer
@given(sequences=SEQUENCES)
def test_everything_said_is_a_number(sequences: list[str]) -> None:
    intents = [f"intent {at}" for at in range(len(sequences))]
    assert np.isfinite(said(sequences, intents, "az", "intent 1 tool b")).all()


def test_the_nearest_intents_vote_for_what_was_called_for_them() -> None:
    found = said(["ab", "ac", "de"], ["big dog", "small cat", "big cat"], "a", "big dog please")
    votes = np.exp(found[:, 3]) - 0.02
    assert votes[[0, 1]] == pytest.approx([1, 1])  # a and b, of the nearest
    assert votes[2] == pytest.approx(0)  # no word in common
    assert votes[3] == votes[4] > 0


def test_after_the_last_call_only_what_followed_it_there_counts() -> None:
    found = said(["abc", "dbe"], ["big dog", "big dog"], "b", "big dog")
    after, always = (np.exp(found[:, column]) - 0.02 for column in (4, 3))
    assert after == pytest.approx([0, 0, 1, 0, 1, 0])
    assert always == pytest.approx([1, 1, 1, 1, 1, 0])


def test_what_was_called_already_is_marked() -> None:
    assert said(["ab"], ["x"], "caz", "y")[:, 5].tolist() == [1, 0, 1, 0, 0, 0]


def question(sequences: list[str], intents: list[str], asked: list[Point]) -> NextQuestion:
    return NextQuestion(
        tools=TOOLS,
        train=tuple(map(tuple, sequences)),
        points=tuple(asked),
        past_intents=tuple(intents),
    )


def test_the_pool_learns_that_here_the_intent_decides() -> None:
    """What came before says nothing: after ``a`` comes what the past intents say."""
    words = dict(zip("bcde", ("dog", "cat", "bird", "fish"), strict=True))
    calls = [f"a{tool}" for tool in words] * 10
    intents = [f"my {word} number {at}" for at in range(10) for word in words.values()]
    asked = [Point(prefix=("a",), intent=f"a {word} today") for word in words.values()]
    rankings = Pool().answers(question(calls, intents, asked))
    assert rankings is not None
    assert [ranking[0] for ranking in rankings] == list(words)
    assert all(sorted(ranking) == list(NAMES) for ranking in rankings)


def test_the_pool_learns_that_here_the_order_decides() -> None:
    intents = [f"do {at}" for at in range(30)]
    rankings = Pool().answers(
        question(["abcabc"] * 30, intents, [Point(prefix=tuple("ab"), intent="do tool e")])
    )
    assert rankings is not None
    assert rankings[0][0] == "c"


@pytest.mark.parametrize(
    ("sequences", "intents"),
    [([], []), (["a", "b"], ["x", "y"]), (["ab", "ac"], ["x", "x"]), (["xy", "yx"], ["x", "y"])],
)
def test_the_pool_says_nothing_where_it_could_learn_nothing(
    sequences: list[str], intents: list[str]
) -> None:
    """No training, one call each, one intent alone, and none but unknown tools."""
    asked = [Point(prefix=("a",), intent="x")]
    assert Pool().answers(question(sequences, intents, asked)) is None


def test_the_pool_answers_the_same_each_time() -> None:
    taught = [f"{a}{b}{a}" for a in "abc" for b in "def"]
    asked = [Point(prefix=("a",), intent=f"intent {at}") for at in range(3)]
    of = question(taught, [f"intent {at} {text}" for at, text in enumerate(taught)], asked)
    assert Pool().answers(of) == Pool().answers(of)
