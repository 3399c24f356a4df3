"""What comes next by what came next before: popularity, a Markov chain, PPM."""

from collections import Counter
from dataclasses import dataclass

from pml.evaluation.next_parts import ORDER, next_parts, ranked
from pml.evaluation.questions import NextQuestion, Rankings


class Popularity:
    """The tools called most often, whatever came before; of equals the one called first."""

    name = "popularity"
    task = "next"

    def answers(self, question: NextQuestion) -> Rankings:
        """The same ranking for all points."""
        counts = Counter(tool for sequence in question.train for tool in sequence)
        ranking = tuple(tool for tool, _ in counts.most_common())
        return (ranking,) * len(question.points)


@dataclass(frozen=True, slots=True, kw_only=True)
class AfterContext:
    """The tools most likely after the last calls, by PPM (`pml.evaluation.ppm`).

    Equal chances go by how often a tool was called, then by id.
    """

    name: str
    order: int
    """How many calls count at most."""
    task: str = "next"

    def answers(self, question: NextQuestion) -> Rankings:
        """All tools that training called."""
        ppm = next_parts(question).ppm
        return [
            ranked(ppm.symbols, ppm.chances(point.prefix, order=self.order))
            for point in question.points
        ]


METHODS = (
    Popularity(),
    AfterContext(name="markov1", order=1),
    AfterContext(name=f"ppm{ORDER}", order=ORDER),
)
