"""A plan for an intent: the tools retrieved first, in the order that training makes likely."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

from pml.evaluation.plan_parts import RETRIEVERS, Size, Transitions, best, chain, plan_parts
from pml.evaluation.questions import Plans, PlansQuestion

_MOST_ORDERED = 5
"""Tools whose orders are all compared; more stay in the order in which they were retrieved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderedTools:
    """The first tools of a retrieval as a chain, in the most likely order."""

    retriever: str
    size: Size
    task: str = "plans"

    @property
    def name(self) -> str:
        """Both choices."""
        return f"{self.retriever} top {self.size.value}"

    def answers(self, question: PlansQuestion) -> Plans | None:
        """A chain for each intent; None without training."""
        if not question.train:
            return None
        parts = plan_parts(question)
        sizes = parts.sizes(self.size, question)
        return [
            chain(likeliest([parts.tools[at] for at in best(row, size)], parts.transitions))
            for row, size in zip(RETRIEVERS[self.retriever](parts), sizes, strict=True)
        ]


METHODS = (
    *(OrderedTools(retriever=each, size=Size.VOTED) for each in ("kNN20", "bm25+kNN20")),
    *(
        OrderedTools(retriever=each, size=size)
        for each in RETRIEVERS
        for size in (Size.TWO, Size.ORACLE)
    ),
)


def likeliest(tools: Sequence[str], transitions: Transitions) -> Sequence[str]:
    """The order whose steps are the most likely; of equal ones the first of `permutations`."""
    if len(tools) > _MOST_ORDERED:
        return tools
    return max(
        permutations(tools), key=lambda order: sum(map(transitions.log_chance, order, order[1:]))
    )
