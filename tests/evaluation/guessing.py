"""A task and methods of a user's own, as text for a file: they answer for reasons that are known.

The question is a list of numbers; a right answer is the number itself.  Half of the cases belong
together in pairs.
"""

from pathlib import Path

TASK = """
import numpy as np

from pml.evaluation.measured import Mean, Measured, Statistic
from pml.evaluation.task import Problem


class Guess:
    name = "guess"
    title = "Guessing"
    headline = "right"
    higher_is_better = True

    def problems(self, dataset):
        if not dataset.workflows:
            return []
        return [self.problem(dataset, label) for label in ("even", "odd")]

    def problem(self, dataset, label):
        asked = np.arange(100) * 2 + (label == "odd")

        def judge(answers):
            if len(answers) != len(asked):
                raise ValueError("expected 100 answers")
            right = (np.array(answers) == asked).astype(float)
            in_all = Statistic(of=lambda at: right[at].sum())
            metrics = {"right": Mean(values=right), "sum": in_all}
            return Measured(metrics=metrics, groups=np.arange(100) // 2)

        return Problem(task="guess", label=label, question=asked.tolist(), judge=judge)


class Right:
    name = "right"
    task = "guess"

    def answers(self, question):
        return question


class Half:
    name = "half"
    task = "guess"

    def answers(self, question):
        return [number if number % 4 < 2 else -1 for number in question]


class Odd:
    name = "nothing to say of even numbers"
    task = "guess"

    def answers(self, question):
        return None if question[0] % 2 == 0 else question
"""
FAILING = """
class Raises:
    name = "raises"
    task = "guess"

    def answers(self, question):
        raise RuntimeError("no <idea>")


class Short:
    name = "short"
    task = "guess"

    def answers(self, question):
        return question[:3]


class Leaves:
    name = "leaves"
    task = "guess"

    def answers(self, question):
        raise SystemExit(4)
"""
PRINTING = """
class Prints:
    name = "prints"
    task = "guess"

    def answers(self, question):
        print("a method's own words")
        return question
"""
DYING = """
import os
import signal


class Dies:
    name = "dies"
    task = "guess"

    def answers(self, question):
        os.kill(os.getpid(), signal.SIGKILL)
"""
ENDING = """
import os


class Ends:
    name = "ends"
    task = "guess"

    def answers(self, question):
        os._exit(3)
"""
NO_PROBLEM = """
class Broken:
    name = "broken"
    title = "Broken"
    headline = "right"
    higher_is_better = True

    def problems(self, dataset):
        raise KeyError("nodes")


class Any:
    name = "any"
    task = "broken"

    def answers(self, question):
        return None
"""


def written(folder: Path, **files: str) -> tuple[Path, ...]:
    """Files of a user."""
    paths = []
    for name, text in files.items():
        paths.append(folder / f"{name}.py")
        paths[-1].write_text(text)
    return tuple(paths)
