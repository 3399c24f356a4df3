"""What the methods of the task `next` share: counts and similarities, computed once a question."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from jaxtyping import Float64, Int64

from pml.evaluation.once import once
from pml.evaluation.ppm import Ppm
from pml.evaluation.questions import NextQuestion, Scores
from pml.evaluation.retrieval import Texts
from pml.evaluation.text import tool_text

ORDER = 3
"""Of PPM: longer contexts are rare in sequences of a handful of calls."""


class NextParts:
    """Counts of the training sequences, and how well the tools fit the intents."""

    def __init__(self, question: NextQuestion) -> None:
        self.ppm = Ppm(question.train, order=ORDER)
        counts = dict(zip(self.ppm.symbols, self.ppm.counts, strict=True))
        tools = sorted(question.tools, key=lambda tool: (-counts.get(tool.id, 0), tool.id))
        self.tools = tuple(tool.id for tool in tools)
        """The most frequent first, then by id: so are ties broken."""
        self._texts = [tool_text(tool) for tool in tools]
        self._intents = tuple(dict.fromkeys(point.intent for point in question.points))

    @cached_property
    def _row(self) -> dict[str, int]:
        return {intent: row for row, intent in enumerate(self._intents)}

    @cached_property
    def _cosines(self) -> Scores:
        return Texts(self._texts).tfidf(self._intents)

    @cached_property
    def _place(self) -> Int64[np.ndarray, " symbols"]:
        """Where the symbols of `ppm` stand in `tools`, or -1."""
        places = {tool: at for at, tool in enumerate(self.tools)}
        return np.array([places.get(symbol, -1) for symbol in self.ppm.symbols], dtype=np.int64)

    def fit(self, intent: str) -> Float64[np.ndarray, " tools"]:
        """Cosines of `tools` with an intent of the question."""
        return np.asarray(self._cosines[self._row[intent]], dtype=np.float64)

    def chances(self, prefix: Sequence[str], *, order: int) -> Float64[np.ndarray, " tools"]:
        """Chances of `tools` to come after the prefix."""
        known = self._place >= 0
        chances = np.zeros(len(self.tools))
        chances[self._place[known]] = self.ppm.chances(prefix, order=order)[known]
        return chances


@once
def next_parts(question: NextQuestion) -> NextParts:
    """The same object for the same question."""
    return NextParts(question)


def ranked(tools: Sequence[str], scores: Float64[np.ndarray, " tools"]) -> tuple[str, ...]:
    """The tools, the best first; equal ones stay in their order."""
    return tuple(tools[at] for at in np.argsort(-scores, kind="stable").tolist())
