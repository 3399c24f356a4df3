"""What can be asked of a method, apart from what the right answer is.

A task turns a data set into problems.  A problem has a question, which is all that a method
sees, and a judge, which knows the right answers.  A method answers questions of one type; a
task's judge measures answers of one type.

All cases of a problem come in one question, and some of them tell what is right in others (a
longer prefix, a later call's history, another fold's workflows).  A method has to answer each
case as if it were alone; `tests/evaluation/test_cases_alone.py` holds ours to that.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, runtime_checkable

from pml.evaluation.dataset import Dataset
from pml.evaluation.measured import Measured

Q = TypeVar("Q")
"""Type of question."""
A = TypeVar("A")
"""Type of answers."""
Q_contra = TypeVar("Q_contra", contravariant=True)
A_co = TypeVar("A_co", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem(Generic[Q, A]):
    """One question to a data set."""

    task: str
    """Name of the task."""
    label: str
    """What tells it from the set's other problems of the task (``dev``, ``test``); may be empty."""
    question: Q
    judge: Callable[[A], Measured]
    """Measures one method's answers.

    Raises:
        ValueError: the answers do not fit the question (another number, another shape).
    """


@runtime_checkable
class Task(Protocol[Q, A]):
    """A kind of question."""

    name: str
    """As given to ``--tasks``."""
    title: str
    """In a heading."""
    headline: str
    """Name of the metric by which methods are compared."""
    higher_is_better: bool

    def problems(self, dataset: Dataset) -> Sequence[Problem[Q, A]]:
        """The problems that the data set allows; none where it lacks what the task needs."""


@runtime_checkable
class Method(Protocol[Q_contra, A_co]):
    """Something that answers questions of one task.

    Methods have no state: what they learn they learn from the question, each time.
    """

    name: str
    """As given to ``--methods`` and shown; unique within the task."""
    task: str

    def answers(self, question: Q_contra) -> A_co | None:
        """Answers to all cases of the question; None where it lacks what the method needs."""
