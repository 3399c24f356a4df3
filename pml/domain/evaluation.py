"""What an evaluation found: the report of `pml evaluate --json`, and `report.json`.

A report says all that one needs to compute it again (versions, seed, hash of every file) and to
doubt it (intervals, p-values, what failed, what was odd in the data).
"""

import msgspec

from pml.domain.record import Count, Duration, Record


class MetricValue(Record, frozen=True, kw_only=True):
    """One metric of one method."""

    name: str
    value: float | None
    """None where it has no value: no case has one."""
    low: float | None = None
    """Lower end of the 95 % interval; absent where the data cannot tell."""
    high: float | None = None
    """Upper end of the 95 % interval."""


class Against(Record, frozen=True, kw_only=True):
    """A method's headline metric against that of the best other method."""

    other: str
    """Name of the best other method."""
    difference: float
    """This method's value minus the other's, whichever direction is better."""
    low: float | None = None
    """Lower end of the difference's 95 % interval."""
    high: float | None = None
    """Upper end of the difference's 95 % interval."""
    p: float
    """Two-sided p-value of the paired test, for this comparison alone."""
    p_holm: float
    """The p-value corrected, by Holm's method, over all pairs of methods of the problem."""


class MethodResult(Record, frozen=True, kw_only=True):
    """What one method reached in one problem."""

    method: str
    seconds: Duration
    """Wall time to learn and answer; other work on the machine counts in it."""
    metrics: tuple[MetricValue, ...] = ()
    """The task's metrics in order; none where the method failed."""
    against: Against | None = None
    """Absent where there is nothing to compare with."""
    best: bool = False
    """Whether no other method has a better headline metric."""
    as_good: bool = False
    """Best, or not significantly worse than the best: corrected p-value of 0.05 or more."""
    bound: bool = False
    """Its name says that it is told part of the answer: what it reaches is a bound, and it is
    compared with nothing."""
    error: str | None = None
    """Why the method gave no answers that could be measured."""


class ProblemResult(Record, frozen=True, kw_only=True):
    """One question to one data set, and what each method reached."""

    dataset: str
    task: str
    title: str
    """What the task is about, for people."""
    label: str = ""
    """What tells it from the set's other problems of the task."""
    headline: str
    """The metric by which methods are compared."""
    higher_is_better: bool
    cases: Count = 0
    groups: Count = 0
    """Cases of one group depend on each other, and are drawn together."""
    methods: tuple[MethodResult, ...] = ()
    """Best first, then those that failed."""
    interrupted: bool = False
    """Not all methods were asked, and none compared: what was done until then is here."""
    error: str | None = None
    """Why the problem could not be posed."""


class DataFile(Record, frozen=True, kw_only=True):
    """A file that was read."""

    name: str
    sha256: str
    rows: Count


class DatasetFacts(Record, frozen=True, kw_only=True):
    """A data set that was evaluated on."""

    name: str
    files: tuple[DataFile, ...]
    tools: Count
    workflows: Count
    calls: Count
    notes: tuple[str, ...] = ()
    """What was odd in it, a sentence each."""


class Evaluation(Record, frozen=True, kw_only=True):
    """A report of `pml evaluate`."""

    pml_version: str
    python_version: str
    libraries: dict[str, str]
    """Versions of the libraries that figures can depend on."""
    seed: int
    draws: Count
    """Bootstrap draws per interval."""
    started_at_ms: int
    seconds: Duration
    interrupted: bool = False
    """Somebody stopped it: what was finished until then is here."""
    datasets: tuple[DatasetFacts, ...]
    problems: tuple[ProblemResult, ...] = msgspec.field(default=())

    @property
    def failed(self) -> bool:
        """Whether a method or a problem failed."""
        return any(
            problem.error is not None or any(each.error is not None for each in problem.methods)
            for problem in self.problems
        )
