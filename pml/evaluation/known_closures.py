"""What the methods of the task `closure` share, computed once a question."""

from collections import defaultdict, deque
from functools import cached_property

from pml.evaluation.once import once
from pml.evaluation.questions import ClosureQuestion, Scores
from pml.evaluation.ranking import best_first
from pml.evaluation.retrieval import Texts
from pml.evaluation.text import tool_text

READ = 30
"""So many tools of a ranking are read."""


class KnownClosures:
    """Rankings of the tools for each intent, and what the tools declare to depend on."""

    def __init__(self, question: ClosureQuestion) -> None:
        self._intents = question.intents
        self._ids = [tool.id for tool in question.tools]
        self._texts = Texts([tool_text(tool) for tool in question.tools])
        self._providers: defaultdict[str, list[str]] = defaultdict(list)
        for one in question.dependencies:
            self._providers[one.consumer].append(one.provider)

    @cached_property
    def bm25(self) -> list[list[str]]:
        """By intent the first tools."""
        return self._ranked(self._texts.bm25(self._intents))

    @cached_property
    def tfidf(self) -> list[list[str]]:
        """By intent the first tools."""
        return self._ranked(self._texts.tfidf(self._intents))

    def _ranked(self, scores: Scores) -> list[list[str]]:
        order = best_first(scores)[:, :READ]
        return [[self._ids[place] for place in row] for row in order.tolist()]

    def closure(self, tool: str) -> list[str]:
        """The tool and all that it depends on, breadth first, in the order of declaration."""
        found, waiting = [tool], deque([tool])
        while waiting:
            for provider in self._providers[waiting.popleft()]:
                if provider not in found:
                    found.append(provider)
                    waiting.append(provider)
        return found


@once
def known_closures(question: ClosureQuestion) -> KnownClosures:
    """The same object for the same question."""
    return KnownClosures(question)
