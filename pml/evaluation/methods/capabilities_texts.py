"""Methods `bm25`, `tfidf` and `lsa` of the task `capabilities`, on what can be known of one."""

from pml.evaluation.known_capabilities import DOCUMENTS, known_capabilities
from pml.evaluation.questions import CapabilitiesQuestion, Scores
from pml.evaluation.retrieval import Texts

_SCORERS = {"bm25": Texts.bm25, "tfidf": Texts.tfidf, "lsa": Texts.lsa}


class OnTexts:
    """One way to compare an intent with one kind of text."""

    task = "capabilities"

    def __init__(self, scorer: str, documents: str) -> None:
        self.name = f"{scorer} on {documents}"
        self._scorer = _SCORERS[scorer]
        self._documents = documents

    def answers(self, question: CapabilitiesQuestion) -> Scores | None:
        """None where no candidate has such a text."""
        known = known_capabilities(question)
        if not known.have(self._documents):
            return None
        return self._scorer(known.texts(self._documents), question.intents)


METHODS = tuple(OnTexts(scorer, documents) for documents in DOCUMENTS for scorer in _SCORERS)
