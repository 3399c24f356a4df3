"""The task ``runs``: which recorded runs failed, told by what their calls came to?"""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float64, Int64

from pml.evaluation.binary import auc
from pml.evaluation.dataset import Call, Dataset
from pml.evaluation.measured import Measured
from pml.evaluation.questions import RunsQuestion
from pml.evaluation.task import Problem

RunsProblem = Problem[RunsQuestion, Float64[np.ndarray, " cases"]]


class RunOutcomes:
    """Which runs failed?

    Of a set with recorded episodes that have a reward, one problem with all of them: a run failed
    if its reward is less than 1.  A method sees the calls of the run with their outcomes, and the
    reward of none, so there is nothing to learn from: what is measured is how much a run's calls
    say of its end.

    A run is a case; runs of one task are one group.  AUC is that of failing: NaN where all runs
    ended the same.
    """

    name = "runs"
    title = "Outcome of a run, by its calls"
    headline = "AUC"
    higher_is_better = True

    def problems(self, dataset: Dataset) -> Sequence[RunsProblem]:
        """As the class says."""
        judged = [(each, each.reward) for each in dataset.episodes if each.reward is not None]
        calls: dict[str, tuple[Call, ...]] = defaultdict(tuple)
        for call in dataset.calls:
            calls[call.episode_id] += (call,)
        if not judged or not calls:
            return ()
        failed = np.array([reward < 1 for _, reward in judged], dtype=np.float64)
        tasks = [episode.workflow_id or episode.id for episode, _ in judged]
        number = {task: at for at, task in enumerate(dict.fromkeys(tasks))}
        groups = np.array([number[task] for task in tasks], dtype=np.int64)

        def judge(answers: Float64[np.ndarray, " cases"]) -> Measured:
            return _measured(answers, failed, groups)

        question = RunsQuestion(runs=tuple(calls[episode.id] for episode, _ in judged))
        return (Problem(task=self.name, label="", question=question, judge=judge),)


def _measured(
    answers: Float64[np.ndarray, " said"],
    failed: Float64[np.ndarray, " cases"],
    groups: Int64[np.ndarray, " cases"],
) -> Measured:
    if answers.shape != failed.shape:
        msg = f"expected {len(failed)} numbers, one per run, got shape {answers.shape}"
        raise ValueError(msg)
    if np.isnan(answers).any():
        msg = "expected a number for each run, got NaN"
        raise ValueError(msg)
    return Measured(metrics={"AUC": auc(answers, failed)}, groups=groups)
