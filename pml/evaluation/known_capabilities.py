"""What the methods of the task `capabilities` share, computed once a question."""

from collections.abc import Callable, Mapping
from functools import cached_property

import numpy as np

from pml.embedding.static import default_encoder
from pml.evaluation.once import once
from pml.evaluation.questions import Candidate, CapabilitiesQuestion, Scores
from pml.evaluation.retrieval import Texts, similarities
from pml.evaluation.text import tool_texts

PAST_INTENTS_READ = 50
"""So many past intents of a capability at most are part of its text."""
TOOL_TEXTS = "tool texts"
PAST_INTENTS = "past intents"
EVERYTHING_SAID = "title+tools+node names+notes"


def _tool_names(candidate: Candidate) -> str:
    return " ".join(tool.name for tool in candidate.tools)


def _titled(candidate: Candidate) -> str:
    """With each tool once."""
    names = {tool.id: tool.name for tool in candidate.tools}
    return " ".join([candidate.title, *names.values()])


DOCUMENTS: Mapping[str, Callable[[Candidate], str]] = {
    TOOL_TEXTS: lambda one: tool_texts(one.tools),
    PAST_INTENTS: lambda one: " ".join(one.past_intents[:PAST_INTENTS_READ]),
    "title+tool names": _titled,
    "tool names only": _tool_names,
    EVERYTHING_SAID: lambda one: " ".join([_titled(one), *filter(None, one.node_names), one.notes]),
}
"""What a capability can be compared by."""
_NEEDED: Mapping[str, Callable[[Candidate], bool]] = {
    TOOL_TEXTS: lambda one: bool(one.tools),
    PAST_INTENTS: lambda one: bool(one.past_intents),
    "title+tool names": lambda one: bool(one.title),
    "tool names only": lambda one: bool(one.tools),
    EVERYTHING_SAID: lambda one: bool(one.node_names or one.notes),
}
"""Whether a candidate has it."""


class KnownCapabilities:
    """Texts of the candidates, and how near their past intents are."""

    def __init__(self, question: CapabilitiesQuestion) -> None:
        self._candidates = question.candidates
        self._intents = question.intents
        self._texts: dict[str, Texts] = {}

    def have(self, kind: str) -> bool:
        """Whether any candidate has a document of a kind of `DOCUMENTS`."""
        return any(map(_NEEDED[kind], self._candidates))

    def texts(self, kind: str) -> Texts:
        """The candidates' documents of a kind."""
        if kind not in self._texts:
            self._texts[kind] = Texts([DOCUMENTS[kind](one) for one in self._candidates])
        return self._texts[kind]

    @cached_property
    def nearest(self) -> Scores | None:
        """The largest cosine with a past intent of each; None where nothing is past."""
        past = [
            (owner, intent)
            for owner, one in enumerate(self._candidates)
            for intent in one.past_intents
        ]
        if not past:
            return None
        owners = np.array([owner for owner, _ in past])
        there, starts = np.unique(owners, return_index=True)
        scores = np.zeros((len(self._intents), len(self._candidates)), np.float32)
        row = 0
        for cosines in similarities(self._intents, [intent for _, intent in past]):
            best = np.maximum.reduceat(cosines, starts, axis=1)
            scores[row : row + len(best), there] = best
            row += len(best)
        return scores

    @cached_property
    def dense(self) -> Scores:
        """The largest cosine of meaning with a past intent of each, or with what it is called."""
        said = [
            (owner, text)
            for owner, one in enumerate(self._candidates)
            for text in one.past_intents or (_titled(one),)
        ]
        scores = np.zeros((len(self._intents), len(self._candidates)), np.float32)
        if not said or not self._intents:
            return scores
        there, starts = np.unique(np.array([owner for owner, _ in said]), return_index=True)
        encode = default_encoder().encode
        rows = encode([text for _, text in said]).T
        for row, vector in zip(scores, encode(self._intents), strict=True):
            row[there] = np.maximum(np.maximum.reduceat(vector @ rows, starts), 0)
        return scores


@once
def known_capabilities(question: CapabilitiesQuestion) -> KnownCapabilities:
    """The same object for the same question."""
    return KnownCapabilities(question)
