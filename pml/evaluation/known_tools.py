"""What the methods of the task `tools` share: each retriever's scores, computed once a question."""

from functools import cached_property

import numpy as np

from pml.embedding.static import default_encoder
from pml.evaluation.once import once
from pml.evaluation.questions import Scores, ToolsQuestion
from pml.evaluation.retrieval import Texts, nearest, votes
from pml.evaluation.text import encoded_text, tool_text


class KnownTools:
    """Scores of the question's tools for its intents."""

    def __init__(self, question: ToolsQuestion) -> None:
        self._intents = question.intents
        self._texts = [tool_text(tool) for tool in question.tools]
        self._encoded = [encoded_text(tool) for tool in question.tools]
        self._past = [workflow.intent for workflow in question.train]
        places = {tool.id: place for place, tool in enumerate(question.tools)}
        self._served = [
            {places[node] for node in workflow.nodes if node in places}
            for workflow in question.train
        ]

    @cached_property
    def texts(self) -> Texts:
        """The tools' texts; past intents help to weigh words."""
        return Texts(self._texts, self._past)

    @cached_property
    def bm25(self) -> Scores:
        """How well the words of each tool describe the intents."""
        return self.texts.bm25(self._intents)

    @cached_property
    def tfidf(self) -> Scores:
        """Cosines of intents and tools."""
        return self.texts.tfidf(self._intents)

    @cached_property
    def lsa(self) -> Scores:
        """Cosines of their topics."""
        return self.texts.lsa(self._intents)

    @cached_property
    def dense(self) -> Scores:
        """Cosines of what they mean, where it is above 0."""
        encode = default_encoder().encode
        scores: Scores = np.maximum(encode(self._intents) @ encode(self._encoded).T, 0)
        return scores

    @cached_property
    def knn(self) -> Scores | None:
        """Votes of the 20 nearest past intents for their tools; None where nothing is past."""
        if not self._past:
            return None
        near = nearest(self._intents, self._past, self._texts)
        return votes(near, self._served, len(self._texts))

    @cached_property
    def popularity(self) -> Scores | None:
        """How many past workflows used each tool; None where nothing is past."""
        if not self._past:
            return None
        counts = np.zeros(len(self._texts), np.float32)
        for served in self._served:
            counts[list(served)] += 1
        return np.tile(counts, (len(self._intents), 1))


@once
def known_tools(question: ToolsQuestion) -> KnownTools:
    """The same object for the same question."""
    return KnownTools(question)
