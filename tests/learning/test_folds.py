"""Cross-fitting (LE-5): who is asked is never known to the view that is asked."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.domain.capability import normalised_intent
from pml.learning.examples import Example, examples_of_workflow
from pml.learning.folds import (
    HeldQueries,
    TaskExamples,
    TrainingFold,
    View,
    cross_fitted,
    dealt,
    targets_of,
)
from pml.models.hypergraph import hypergraph
from pml.models.inputs import CAPABILITY_WIDTHS, TOOL_WIDTHS, NodeInputs, Queries, RankingTask

INTENTS = ["read a file", "Read  a file.", "write it", "get the page", "send mail", "sum it up"]
LISTS = st.lists(st.sampled_from(INTENTS), max_size=20)
EMPTY = View(
    graph=hypergraph(()),
    inputs=NodeInputs(
        vectors=np.zeros((0, 2), np.float32),
        tool_features=np.zeros((0, sum(TOOL_WIDTHS.values())), np.float32),
        capability_features=np.zeros((0, sum(CAPABILITY_WIDTHS.values())), np.float32),
    ),
)


def workflows(intents: list[str]) -> list[Example]:
    """Two examples of each."""
    return [
        example
        for at, intent in enumerate(intents)
        for example in examples_of_workflow(source=f"w{at}", intent=intent, tools=["a:x", "a:y"])
    ]


def intents_of(examples: Sequence[Example]) -> set[str]:
    return {normalised_intent(example.intent) for example in examples}


@given(LISTS, st.integers(2, 5), st.integers(0, 9))
def test_no_view_knows_an_intent_that_it_is_asked(
    intents: list[str], folds: int, seed: int
) -> None:
    examples = workflows(intents)
    asked_of_all: list[Example] = []

    def build(known: Sequence[Example], asked: Sequence[Example]) -> TrainingFold:
        assert asked
        assert not intents_of(known) & intents_of(asked)
        assert len(known) + len(asked) == len(examples)
        asked_of_all.extend(asked)
        return TrainingFold(view=EMPTY, tasks={})

    found = cross_fitted(examples, build, folds=folds, seed=seed)
    assert len(found) == min(folds, len(intents_of(examples)))
    assert sorted(asked_of_all, key=str) == sorted(examples, key=str)


@given(LISTS, st.integers(2, 5), st.integers(0, 9))
def test_intents_are_dealt_evenly_and_alike_for_one_seed(
    intents: list[str], folds: int, seed: int
) -> None:
    examples = workflows(intents)
    fold_of = dealt(examples, folds=folds, seed=seed)
    np.testing.assert_array_equal(fold_of, dealt(examples, folds=folds, seed=seed))
    sizes = [
        len(intents_of([one for one, at in zip(examples, fold_of, strict=True) if at == fold]))
        for fold in range(folds)
    ]
    assert max(sizes) - min(sizes) <= 1


def test_one_fold_is_none() -> None:
    with pytest.raises(ValueError, match="at least 2 folds, got 1"):
        dealt([], folds=1, seed=0)


def test_targets_number_the_candidates_and_pass_over_what_is_none() -> None:
    served = Example(
        task=RankingTask.TOOLS, source="t1", intent="Do it", positives=("b", "gone"), failed=("a",)
    )
    targets = targets_of(
        [
            served,
            *[
                Example(
                    task=RankingTask.TOOLS,
                    source="t2",
                    intent="do it",
                    positives=("gone",),
                    weight=0.5,
                )
            ],
        ],
        ["a", "b"],
    )
    assert [found.tolist() for found in targets.positives] == [[1], []]
    assert [found.tolist() for found in targets.failed] == [[0], []]
    assert targets.weights.tolist() == [1.0, 0.5]
    assert targets.sources == ("t1", "t2")
    assert targets.groups.tolist() == [0, 0]


def test_held_queries_give_the_rows_asked_for() -> None:
    held = Queries(
        vectors=np.arange(6, dtype=np.float32).reshape(3, 2),
        evidence=np.arange(12, dtype=np.float32).reshape(3, 4, 1),
        stats=np.arange(3, dtype=np.float32).reshape(3, 1),
        prefixes=tuple(np.array([at], dtype=np.int64) for at in range(3)),
    )
    some = HeldQueries(queries=held).take(np.array([2, 0]))
    assert some.vectors.tolist() == [[4, 5], [0, 1]]
    assert some.evidence[:, 0, 0].tolist() == [8, 0]
    assert some.stats.tolist() == [[2], [0]]
    assert [prefix.tolist() for prefix in some.prefixes] == [[2], [0]]


def test_as_many_targets_as_queries() -> None:
    nothing = Queries(
        vectors=np.zeros((0, 2), np.float32),
        evidence=np.zeros((0, 1, 0), np.float32),
        stats=np.zeros((0, 0), np.float32),
    )
    one = Example(task=RankingTask.TOOLS, source="t", intent="do it", positives=("a",))
    with pytest.raises(ValueError, match="0 queries for 1 targets"):
        TaskExamples(
            queries=HeldQueries(queries=nothing),
            targets=targets_of([one], ["a"]),
            fallbacks={"said": lambda queries: queries.evidence[..., 0]},
        )
    with pytest.raises(ValueError, match="at least one fallback"):
        TaskExamples(queries=HeldQueries(queries=nothing), targets=targets_of([], []), fallbacks={})


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf])
def test_a_weight_that_is_none_is_refused(weight: float) -> None:
    example = Example(
        task=RankingTask.TOOLS, source="trace", intent="send", positives=("mail",), weight=weight
    )
    with pytest.raises(ValueError, match="weights of examples must be finite and not negative"):
        targets_of([example], ["mail"])
