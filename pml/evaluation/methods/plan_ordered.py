"""A plan for an intent: the tools retrieved first, in the order that training makes likely."""

from dataclasses import dataclass

from pml.evaluation.plan_parts import RETRIEVERS, Size, best, chain, likeliest, plan_parts
from pml.evaluation.questions import Plans, PlansQuestion


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
