"""Who says what comes next: the whole model, its evidence alone, or the fallback (LE-5).

`tests/evaluation/methods/test_next_shgat.py` has the methods made of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from zlib import crc32

import numpy as np
import pytest
from jaxtyping import Float32
from numpy.typing import NDArray

from pml.discovery.next_tool import Place
from pml.discovery.ports import Encoder
from pml.embedding.static import default_encoder
from pml.evaluation.next_folds import NEXT
from pml.evaluation.next_rankers import NextRankers, beats
from pml.evaluation.next_training import NextSettings, NextViews
from pml.evaluation.next_weighed import Ranker, weighed
from pml.evaluation.next_whole import whole_model
from pml.evaluation.questions import NextQuestion
from pml.learning.folds import TaskExamples
from pml.learning.training_config import TrainingConfig
from pml.models.inputs import Queries
from tests.evaluation.sequences import NAMES, tools

MISLED = NextSettings(
    scale=1_000.0, training=TrainingConfig(epochs=1, learning_rate=1e-9, scalar_rate=1.0)
)
"""The whole model goes by meaning, which tells nothing, and cannot learn otherwise in time."""


def question(calls: list[str], intents: list[str]) -> NextQuestion:
    return NextQuestion(
        tools=tools(), train=tuple(map(tuple, calls)), points=(), past_intents=tuple(intents)
    )


class Meaning:
    """Encodes words as what they mean, and a little of their own; other texts as that alone."""

    name = "meaning"

    def __init__(self, meant: Mapping[str, int]) -> None:
        self._meant = meant

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Of eight dimensions."""
        vectors = [self._vector(text) for text in texts]
        return np.reshape(np.array(vectors, np.float32), (len(texts), 8))

    def _vector(self, text: str) -> NDArray[np.float32]:
        vector = np.random.default_rng(crc32(text.encode())).normal(size=8) / 8
        if text in self._meant:
            vector[self._meant[text]] += 1
        return (vector / np.linalg.norm(vector)).astype(np.float32)


def by_meaning() -> tuple[NextQuestion, list[tuple[Place, str]], Meaning]:
    """What is taught, and places with other words and the tool that comes next there.

    No word is in two intents: what it means tells the tool, and nothing else does.
    """
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("bcdfghjklmnp"), 9)) for _ in range(200)]
    meant = {word: at % 4 for at, word in enumerate(words)}
    known, asked = words[40:], words[:40]
    taught = question([f"a{'bcde'[meant[word]]}" for word in known], known)
    places = [(Place(prefix=("a",), intent=word), "bcde"[meant[word]]) for word in asked]
    return taught, places, Meaning(meant)


def by_words() -> NextQuestion:
    """Words of past intents tell, numbers do not."""
    said = dict(zip("bcde", ("red", "green", "blue", "grey"), strict=True))
    pairs = [(f"a{tool}", f"{word} {at}") for at in range(30) for tool, word in said.items()]
    return question([calls for calls, _ in pairs], [intent for _, intent in pairs])


def learned(
    asked: NextQuestion, settings: NextSettings, encoder: Encoder
) -> tuple[NextRankers, NextViews]:
    views = NextViews(asked, settings, encoder)
    return NextRankers(views.folds(), views.full()[0], settings), views


def right(ranker: Ranker, views: NextViews, asked: list[tuple[Place, str]]) -> float:
    """How often the first tool is the right one."""
    queries = views.queries(views.full()[1], [place for place, _ in asked])
    first = [NAMES[at] for at in ranker(queries).argmax(axis=1).tolist()]
    return float(np.mean([one == tool for one, (_, tool) in zip(first, asked, strict=True)]))


def examples(asked: NextQuestion) -> TaskExamples:
    (fold, *_) = NextViews(asked, NextSettings(), default_encoder()).folds()
    return fold.tasks[NEXT]


def test_the_whole_model_answers_where_evidence_alone_cannot_tell() -> None:
    taught, asked, encoder = by_meaning()
    settings = NextSettings(training=TrainingConfig(epochs=8, batch=16, learning_rate=2e-2))
    rankers, views = learned(taught, settings, encoder)
    assert right(rankers.evidence, views, asked) < 0.5
    assert right(rankers.best, views, asked) > 0.9


def test_evidence_alone_answers_where_the_whole_model_orders_worse() -> None:
    """What followed a tool follows it again, which no fallback looks at."""
    names = [f"t{at}" for at in range(30)]
    pairs = np.random.default_rng(0).permuted(np.tile(np.arange(30), (200, 1)), axis=1)[:, :2]
    runs = [(names[one], names[other]) * 2 for one, other in pairs.tolist()]
    taught = NextQuestion(
        tools=tools(names),
        train=tuple(runs),
        points=(),
        past_intents=tuple(f"do {at}" for at in range(len(runs))),
    )
    rankers, views = learned(taught, MISLED, default_encoder())
    place = Place(prefix=("t1", "t2", "t1"), intent="do it")
    scores = rankers.best(views.queries(views.full()[1], [place]))
    assert names[int(scores.argmax())] == "t2"


def test_evidence_that_was_picked_still_has_to_beat_the_fallback() -> None:
    """What was called says all: PPM is right everywhere, and evidence can be no better."""
    taught = question(["abcabc"] * 120, [f"do {at}" for at in range(120)])
    views = NextViews(taught, MISLED, default_encoder())
    folds = views.folds()
    best = NextRankers(folds, views.full()[0], MISLED).best
    assert best is folds[-1].tasks[NEXT].fallbacks["ppm"]


def test_the_whole_model_begins_where_its_evidence_term_ends() -> None:
    still = replace(MISLED, scale=1e-9)
    views = NextViews(by_words(), still, default_encoder())
    folds, (view, evidence) = views.folds(), views.full()
    term = weighed(folds[:-2])
    model = whole_model(folds, view, still, term)
    queries = views.queries(evidence, [Place(prefix=("a",), intent="red 99")])
    more = model.on(view)(queries) - term(queries)
    assert np.ptp(more) == pytest.approx(0, abs=1e-4)  # a bias is the same for all tools


def test_refitted_it_begins_with_the_weights_of_all_folds() -> None:
    still = replace(MISLED, scale=1e-9)
    views = NextViews(by_words(), still, default_encoder())
    folds, (view, evidence) = views.folds(), views.full()
    few, all_ = weighed(folds[:1]), weighed(folds)
    model = whole_model(folds, view, still, few).refitted(folds, view, still, all_)
    queries = views.queries(evidence, [Place(prefix=("a",), intent="red 99")])
    scores = model.on(view)(queries)
    assert np.ptp(scores - all_(queries)) == pytest.approx(0, abs=1e-4)
    assert np.ptp(scores - few(queries)) > 0.1


def test_what_is_right_beats_what_is_wrong_and_nothing_beats_itself() -> None:
    asked = examples(by_words())
    marks = np.zeros((len(asked.targets), len(NAMES)), np.float32)
    for row, positives in enumerate(asked.targets.positives):
        marks[row, positives] = 1

    def truth(_: Queries) -> Float32[np.ndarray, "queries candidates"]:
        return marks

    def wrong(_: Queries) -> Float32[np.ndarray, "queries candidates"]:
        return -marks

    assert beats(truth, wrong, asked)
    assert not beats(wrong, truth, asked)
    assert not beats(truth, truth, asked)
