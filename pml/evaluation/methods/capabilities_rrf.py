"""Method `rrf` of the task `capabilities`."""

from pml.evaluation.fusing import fused
from pml.evaluation.known_capabilities import (
    EVERYTHING_SAID,
    PAST_INTENTS,
    TOOL_TEXTS,
    known_capabilities,
)
from pml.evaluation.questions import CapabilitiesQuestion, Scores


class Fused:
    """Reciprocal rank fusion: of tools and past intents, or of what known workflows say."""

    name = "rrf"
    task = "capabilities"

    def answers(self, question: CapabilitiesQuestion) -> Scores:
        """A score per intent and capability."""
        known = known_capabilities(question)
        intents, nearest = question.intents, known.nearest
        if nearest is None:
            said = known.texts(EVERYTHING_SAID)
            return fused([said.bm25(intents), said.tfidf(intents)])
        texts = [known.texts(kind).bm25(intents) for kind in (TOOL_TEXTS, PAST_INTENTS)]
        return fused([*texts, nearest])
