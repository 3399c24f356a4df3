"""Methods `bm25` and `tfidf` of the task `closure`, alone and with what the first tool needs."""

from pml.evaluation.known_closures import KnownClosures, known_closures
from pml.evaluation.questions import Closure, ClosureQuestion, Closures


class Alone:
    """The ranking of the texts."""

    task = "closure"

    def __init__(self, retriever: str) -> None:
        self.name = retriever
        self._retriever = retriever

    def answers(self, question: ClosureQuestion) -> Closures:
        """A ranking by intent; nothing is chosen."""
        rankings = _rankings(known_closures(question), self._retriever)
        return [Closure(ranking=tuple(ranking), chosen=None) for ranking in rankings]


class WithClosure:
    """The first tool of the texts with all that it depends on, then the other tools."""

    task = "closure"

    def __init__(self, retriever: str) -> None:
        self.name = f"{retriever} top-1 + closure"
        self._retriever = retriever

    def answers(self, question: ClosureQuestion) -> Closures:
        """A ranking and a choice by intent."""
        known = known_closures(question)
        return [_with_closure(known, one) for one in _rankings(known, self._retriever)]


def _with_closure(known: KnownClosures, ranking: list[str]) -> Closure:
    fetched = known.closure(ranking[0])
    rest = [tool for tool in ranking if tool not in fetched]
    return Closure(ranking=(*fetched, *rest), chosen=frozenset(fetched))


def _rankings(known: KnownClosures, retriever: str) -> list[list[str]]:
    return known.bm25 if retriever == "bm25" else known.tfidf


METHODS: tuple[Alone | WithClosure, ...] = (
    Alone("bm25"),
    Alone("tfidf"),
    WithClosure("bm25"),
    WithClosure("tfidf"),
)
