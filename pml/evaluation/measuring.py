"""Lets the methods answer one problem, and says how good each was and how sure that is.

A method that fails fails alone: its row says why, and the others are measured.
"""

import math
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from pml.domain.evaluation import Against, MethodResult, MetricValue, ProblemResult
from pml.evaluation.comparing import ALPHA, Comparison, compare
from pml.evaluation.measured import Measured
from pml.evaluation.registry import AnyMethod, AnyTask
from pml.evaluation.resampling import Resamples, drawn_values, interval, value
from pml.evaluation.task import Problem

_ERROR_CHARS = 300
_TOLD = ("oracle", "gold order")
"""In the names of methods that are told part of the answer (`pml.evaluation.questions`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answered:
    method: str
    seconds: float
    measured: Measured

    @property
    def bound(self) -> bool:
        """Whether it is told part of the answer."""
        return any(word in self.method for word in _TOLD)


class Round:
    """One problem, asked of one method after the other."""

    def __init__(self, dataset: str, task: AnyTask, problem: Problem[Any, Any]) -> None:
        """``dataset`` is the name of the set that the problem is of."""
        self._dataset = dataset
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
            measured = self._problem.judge(answers)
            self._check(measured)
        except (Exception, SystemExit) as exc:  # noqa: BLE001  # whatever a method raises, the others go on
            seconds = round(time.perf_counter() - started, 3)
            self._failed.append(MethodResult(method=method.name, seconds=seconds, error=why(exc)))
        else:
            self._answered.append(_Answered(method=method.name, seconds=seconds, measured=measured))

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

    def result(self, *, seed: int) -> ProblemResult | None:
        """What all of them reached; None where none was concerned.

        The draws depend on seed and problem only, so that a figure is the same whatever else is
        evaluated.
        """
        if not self._answered and not self._failed:
            return None
        key = f"{self._dataset}/{self._task.name}/{self._problem.label}"
        rng = np.random.default_rng([seed, zlib.crc32(key.encode())])
        groups = [each.measured.groups for each in self._answered[:1]]
        return ProblemResult(
            dataset=self._dataset,
            task=self._task.name,
            title=self._task.title,
            label=self._problem.label,
            headline=self._task.headline,
            higher_is_better=self._task.higher_is_better,
            cases=sum(map(len, groups)),
            groups=sum(len(np.unique(each)) for each in groups),
            methods=(*_results(self._answered, self._task, rng), *self._failed),
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


def _results(
    answered: Sequence[_Answered], task: AnyTask, rng: np.random.Generator
) -> list[MethodResult]:
    """Best first; ties by name."""
    if not answered:
        return []
    resamples = Resamples(answered[0].measured.groups, rng)
    headlines = [each.measured.metrics[task.headline] for each in answered]
    free = [at for at, each in enumerate(answered) if not each.bound]
    among = [answered[at] for at in free]
    found = compare(
        [headlines[at] for at in free], resamples, rng, higher_is_better=task.higher_is_better
    )
    compared = {at: _against(each, among) for at, each in zip(free, found, strict=True)}
    values = [value(metric, resamples.n_cases) for metric in headlines]
    sign = -1.0 if task.higher_is_better else 1.0
    keys = [math.inf if math.isnan(each) else sign * each for each in values]
    best = min((keys[at] for at in free), default=math.inf)
    results = [
        _result(
            each,
            _metrics(each.measured, resamples),
            compared.get(at),
            best=not each.bound and keys[at] == best < math.inf,
        )
        for at, each in enumerate(answered)
    ]
    order = sorted(range(len(results)), key=lambda at: (keys[at], results[at].method))
    return [results[at] for at in order]


def _result(
    each: _Answered, metrics: tuple[MetricValue, ...], against: Against | None, *, best: bool
) -> MethodResult:
    return MethodResult(
        method=each.method,
        seconds=round(each.seconds, 3),
        metrics=metrics,
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
