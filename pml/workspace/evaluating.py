"""The stage `evaluate`: a trained model beside the simple methods, as `pml evaluate` measures."""

import platform
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version

from pml.domain.evaluation import Evaluation, ProblemResult
from pml.evaluation.forest import forest_svg
from pml.evaluation.loading import Loaded
from pml.evaluation.measuring import Round
from pml.evaluation.registry import AnyMethod, find
from pml.evaluation.resampling import N_DRAWS
from pml.evaluation.run import LIBRARIES, facts
from pml.workspace.parameters import least


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluateParameters:
    """Section ``evaluate`` of params.yaml."""

    tasks: tuple[str, ...] = ("tools", "capabilities", "next")
    methods: tuple[str, ...] | None = None
    """Names of the simple methods to compare with; None is all of them."""
    seed: int = 0
    """Of the draws for intervals and tests."""

    def __post_init__(self) -> None:
        least(self, seed=0)


def evaluated(
    loaded: Loaded,
    own: Iterable[AnyMethod],
    parameters: EvaluateParameters,
    *,
    clock_s: Callable[[], float],
) -> Evaluation:
    """Ask all methods all questions of these tasks; in this process, one after the other.

    Raises:
        RequestError: there is no such task or method.
    """
    started_s = clock_s()
    tasks = find().only(parameters.tasks, None).tasks
    simple = find().only(parameters.tasks, parameters.methods)
    asked = {task.name: list(simple.of_task(task.name)) for task in tasks}
    for method in own:
        asked.get(method.task, []).append(method)
    rounds = [
        (Round(loaded.dataset.name, task, problem, seed=parameters.seed), asked[task.name])
        for task in tasks
        for problem in task.problems(loaded.dataset)
    ]
    return Evaluation(
        pml_version=version("pml"),
        python_version=platform.python_version(),
        libraries={name: version(name) for name in LIBRARIES},
        seed=parameters.seed,
        draws=N_DRAWS,
        started_at_ms=round(started_s * 1000),
        seconds=round(clock_s() - started_s, 1),
        datasets=(facts(loaded),),
        problems=tuple(filter(None, (_result(*each) for each in rounds))),
    )


def headline_metrics(
    report: Evaluation, methods: Collection[str] | None = None
) -> dict[str, float]:
    """Of each method of each problem the metric by which methods are compared, by name.

    Args:
        report: of an evaluation.
        methods: only these; None for all.
    """
    return {
        f"{problem.task}.{each.method}.{metric.name}".replace(" ", "_"): metric.value
        for problem in report.problems
        for each in problem.methods
        for metric in each.metrics
        if metric.name == problem.headline and metric.value is not None
        if methods is None or each.method in methods
    }


def plots(report: Evaluation) -> dict[str, bytes]:
    """A plot with intervals per problem, by file name."""
    return {
        f"{problem.task}.svg": forest_svg(problem).encode()
        for problem in report.problems
        if problem.methods
    }


def _result(asked: Round, methods: Sequence[AnyMethod]) -> ProblemResult | None:
    for method in methods:
        asked.ask(method)
    return asked.result()
