"""Lets the methods answer one problem, and says how good each was and how sure that is.

A method that fails fails alone: its row says why, and the others are measured.
"""

import math
import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from pml.domain.evaluation import Against, MethodResult, MetricValue, ProblemResult
from pml.evaluation.answers import cases, check
from pml.evaluation.comparing import ALPHA, Comparison, compare
from pml.evaluation.measured import Measured
from pml.evaluation.registry import AnyMethod, AnyTask
from pml.evaluation.resampling import Resamples, drawn_values, interval, value
from pml.evaluation.task import Problem

_ERROR_CHARS = 300
_LOST = "interrupted before it had answered"
_TOLD = ("oracle", "gold order")
"""In the names of methods that are told part of the answer (`pml.evaluation.questions`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answered:
    method: str
    seconds: float
    measured: Measured
    metrics: tuple[MetricValue, ...]

    @property
    def bound(self) -> bool:
        """Whether it is told part of the answer."""
        return any(word in self.method for word in _TOLD)


class Round:
    """One problem, asked of one method after the other."""

    def __init__(
        self, dataset: str, task: AnyTask, problem: Problem[Any, Any], *, seed: int
    ) -> None:
        """``dataset`` is the name of the set that the problem is of.

        The draws depend on seed and problem only, so that a figure is the same whatever else is
        evaluated.
        """
        self._dataset = dataset
        key = f"{dataset}/{task.name}/{problem.label}"
        self._rng = np.random.default_rng([seed, zlib.crc32(key.encode())])
        self._resamples: Resamples | None = None
        self._task = task
        self._problem = problem
        self._answered: list[_Answered] = []
        self._failed: list[MethodResult] = []

    def ask(self, method: AnyMethod) -> None:
        """Let a method answer; one for which the question lacks something is left out."""
        started = time.perf_counter()
        try:
            # Sums in another order are other sums: one thread, whatever the machine has.
            with threadpool_limits(1):
                answers = method.answers(self._problem.question)
            seconds = time.perf_counter() - started
            if answers is None:
                return
            check(self._problem.question, answers)
            measured = self._problem.judge(answers)
            self._check(measured)
            metrics = _metrics(measured, self._draws(measured))
        except (Exception, SystemExit) as exc:  # noqa: BLE001  # whatever a method raises, the others go on
            self.fail(method.name, why(exc), seconds=time.perf_counter() - started)
        else:
            self._answered.append(
                _Answered(method=method.name, seconds=seconds, measured=measured, metrics=metrics)
            )

    def fail(self, method: str, error: str, *, seconds: float = 0.0) -> None:
        """Take down why a method gave nothing that could be measured."""
        self._failed.append(MethodResult(method=method, seconds=round(seconds, 3), error=error))

    def _draws(self, measured: Measured) -> Resamples:
        if self._resamples is None:
            self._resamples = Resamples(measured.groups, self._rng)
        return self._resamples

    def _check(self, measured: Measured) -> None:
        """What a judge gives has to fit what it gave of the other methods."""
        name, headline = self._task.name, self._task.headline
        if headline not in measured.metrics:
            message = f"the judge of task {name!r} gives no {headline!r}, its headline"
            raise ValueError(message)
        before = self._answered[:1]
        if before and not np.array_equal(before[0].measured.groups, measured.groups):
            message = f"the judge of task {name!r} gives other groups than for the method before"
            raise ValueError(message)

    def so_far(self, asking: str | None = None) -> ProblemResult:
        """What is left if somebody stops now: the methods that were done, compared with none.

        Args:
            asking: The method that is asked now, and would be lost.
        """
        lost = MethodResult(method=asking or "", seconds=0.0, error=_LOST)
        rows = (*_rows(self._answered, self._task, None), *self._failed)
        return self._problem_result(rows if asking is None else (*rows, lost), interrupted=True)

    def result(self) -> ProblemResult | None:
        """What all of them reached; None where none was concerned.  Ask nothing after it."""
        if not self._answered and not self._failed:
            return None
        compared = {}
        if self._resamples is not None:
            compared = _compared(self._answered, self._task, self._resamples, self._rng)
        rows = (*_rows(self._answered, self._task, compared), *self._failed)
        return self._problem_result(rows, interrupted=False)

    def _problem_result(
        self, methods: tuple[MethodResult, ...], *, interrupted: bool
    ) -> ProblemResult:
        found = self._resamples
        return ProblemResult(
            dataset=self._dataset,
            task=self._task.name,
            title=self._task.title,
            label=self._problem.label,
            headline=self._task.headline,
            higher_is_better=self._task.higher_is_better,
            cases=(cases(self._problem.question) or 0) if found is None else found.n_cases,
            groups=0 if found is None else found.n_groups,
            methods=methods,
            interrupted=interrupted,
        )


def why(exc: BaseException) -> str:
    """An error in a line: its kind, its words, and the last place in the code."""
    frame = exc.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    code = frame.tb_frame.f_code.co_filename.rpartition("/")[2] if frame is not None else "?"
    place = f"{code}:{frame.tb_lineno}" if frame is not None else "?"
    said = " ".join(str(exc).split())[:_ERROR_CHARS]
    return f"{type(exc).__name__}: {said} ({place})"


def _compared(
    answered: Sequence[_Answered], task: AnyTask, resamples: Resamples, rng: np.random.Generator
) -> dict[int, Against]:
    """By place in ``answered``, against the best other one; those told the answer take no part."""
    free = [at for at, each in enumerate(answered) if not each.bound]
    among = [answered[at] for at in free]
    found = compare(
        [each.measured.metrics[task.headline] for each in among],
        resamples,
        rng,
        higher_is_better=task.higher_is_better,
    )
    against = {at: _against(each, among) for at, each in zip(free, found, strict=True)}
    return {at: each for at, each in against.items() if each is not None}


def _rows(
    answered: Sequence[_Answered], task: AnyTask, compared: Mapping[int, Against] | None
) -> list[MethodResult]:
    """Best first; ties by name.  None is called best where none was compared."""
    sign = -1.0 if task.higher_is_better else 1.0
    keys = [_key(each.metrics, task.headline, sign) for each in answered]
    free = [key for key, each in zip(keys, answered, strict=True) if not each.bound]
    best = math.inf if compared is None else min(free, default=math.inf)
    against = compared or {}
    results = [
        _result(each, against.get(at), best=not each.bound and keys[at] == best < math.inf)
        for at, each in enumerate(answered)
    ]
    order = sorted(range(len(results)), key=lambda at: (keys[at], results[at].method))
    return [results[at] for at in order]


def _key(metrics: Sequence[MetricValue], headline: str, sign: float) -> float:
    """Smaller is better; infinite without a value."""
    figure = next(metric.value for metric in metrics if metric.name == headline)
    return math.inf if figure is None else sign * figure


def _result(each: _Answered, against: Against | None, *, best: bool) -> MethodResult:
    return MethodResult(
        method=each.method,
        seconds=round(each.seconds, 3),
        metrics=each.metrics,
        against=against,
        bound=each.bound,
        best=best,
        as_good=best or (against is not None and against.p_holm >= ALPHA),
    )


def _metrics(measured: Measured, resamples: Resamples) -> tuple[MetricValue, ...]:
    drawn = drawn_values(list(measured.metrics.values()), resamples)
    found = []
    for at, (name, metric) in enumerate(measured.metrics.items()):
        figure = value(metric, resamples.n_cases)
        known = not math.isnan(figure)
        around = interval(drawn[:, at]) if known and resamples.n_groups > 1 else None
        found.append(
            MetricValue(
                name=name,
                value=figure if known else None,
                low=None if around is None else around.low,
                high=None if around is None else around.high,
            )
        )
    return tuple(found)


def _against(comparison: Comparison | None, answered: Sequence[_Answered]) -> Against | None:
    if comparison is None:
        return None
    around = comparison.interval
    return Against(
        other=answered[comparison.other].method,
        difference=comparison.difference,
        low=None if around is None else around.low,
        high=None if around is None else around.high,
        p=comparison.p,
        p_holm=comparison.p_holm,
    )
