"""Method `hybrid` of the task `capabilities`."""

from pml.evaluation.fusing import fused
from pml.evaluation.known_capabilities import (
    EVERYTHING_SAID,
    PAST_INTENTS,
    TOOL_TEXTS,
    known_capabilities,
)
from pml.evaluation.questions import CapabilitiesQuestion, Scores


class Hybrid:
    """Reciprocal rank fusion as in `rrf`, with what is meant beside what is said."""

    name = "hybrid"
    task = "capabilities"

    def answers(self, question: CapabilitiesQuestion) -> Scores:
        """A score per intent and capability."""
        known = known_capabilities(question)
        intents, nearest = question.intents, known.nearest
        if nearest is None:
            return fused([known.texts(EVERYTHING_SAID).bm25(intents), known.dense])
        texts = [known.texts(kind).bm25(intents) for kind in (TOOL_TEXTS, PAST_INTENTS)]
        return fused([*texts, nearest, known.dense])
