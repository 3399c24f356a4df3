"""The task ``outcomes``: how likely does a call fail?"""

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float64

from pml.evaluation.binary import auc, brier, calibration_error
from pml.evaluation.dataset import Call, Dataset
from pml.evaluation.measured import Measured
from pml.evaluation.questions import Chances, OutcomesQuestion
from pml.evaluation.task import Problem

OutcomesProblem = Problem[OutcomesQuestion, Chances]


class CallOutcomes:
    """How likely does each call fail?

    Of a set with recorded calls whose outcome is known, one problem: the episodes with such a
    call, shuffled with a fixed seed; the first half teaches, with all its calls in order, and the
    known calls of the second half are asked about.  Their outcomes and results are hidden, while
    those of earlier calls of the same episode are told.

    A call is a case, an episode a group.  AUC is that of failing: NaN where all asked about came
    out the same.  ECE is `calibration_error`, with bins of equal filling.
    """

    name = "outcomes"
    title = "Outcome of a call"
    headline = "AUC"
    higher_is_better = True

    def problems(self, dataset: Dataset) -> Sequence[OutcomesProblem]:
        """As the class says; one known episode alone is no problem."""
        episodes = sorted({call.episode_id for call in dataset.calls if call.ok is not None})
        random.Random(0).shuffle(episodes)  # noqa: S311  # a split, no secret
        teaching = frozenset(episodes[: len(episodes) // 2])
        asked = frozenset(episodes) - teaching
        if not teaching:
            return ()
        train = tuple(call for call in dataset.calls if call.episode_id in teaching)
        return (_problem(dataset, train, [c for c in dataset.calls if c.episode_id in asked]),)


TASK = CallOutcomes()


def _problem(dataset: Dataset, train: tuple[Call, ...], later: Sequence[Call]) -> OutcomesProblem:
    done: dict[str, tuple[Call, ...]] = defaultdict(tuple)
    asked: list[Call] = []
    before: list[tuple[Call, ...]] = []
    for call in later:
        if call.ok is not None:
            asked.append(call)
            before.append(done[call.episode_id])
        done[call.episode_id] += (call,)
    number = {episode: at for at, episode in enumerate(done)}
    groups = np.array([number[call.episode_id] for call in asked], dtype=np.int64)
    failed = np.array([not call.ok for call in asked], dtype=np.float64)

    def judge(answers: Chances) -> Measured:
        chances = _checked(answers, len(asked))
        return Measured(
            metrics={
                "AUC": auc(chances, failed),
                "brier": brier(chances, failed),
                "ECE": calibration_error(chances, failed),
            },
            groups=groups,
        )

    question = OutcomesQuestion(
        tools=dataset.tools,
        train=train,
        calls=tuple(replace(call, ok=None, result=None) for call in asked),
        before=tuple(before),
    )
    return Problem(task=TASK.name, label="", question=question, judge=judge)


def _checked(answers: Chances, n_cases: int) -> Float64[np.ndarray, " cases"]:
    if answers.shape != (n_cases,):
        msg = f"expected {n_cases} chances, one per call, got shape {answers.shape}"
        raise ValueError(msg)
    if not np.all((answers >= 0) & (answers <= 1)):
        msg = "chances must be from 0 to 1"
        raise ValueError(msg)
    return answers
