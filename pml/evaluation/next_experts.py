"""What several simple predictors say of the next tool, side by side.

Each says for every tool how likely it comes next: PPM and a Markov chain by what came before,
the tool's text by the intent, and the nearest past intents by what was called for them and by
what followed the last call there.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
from jaxtyping import Float64, Int64

from pml.evaluation.dataset import Tool
from pml.evaluation.ppm import Ppm
from pml.evaluation.questions import Point
from pml.evaluation.retrieval import Texts, nearest
from pml.evaluation.text import tool_text

FEATURES = ("ppm", "markov", "text", "votes", "votes after the last call", "called already")
"""All but the last are logarithms."""
_ORDERS = (3, 1)
"""Of PPM and of the Markov chain."""
_LEAST = 0.02
"""Added to cosines and votes, both from 0 to 1: a tool that nothing names may still come."""
_ANY = None
"""In place of the last call: what was called at all."""
_Votes = Mapping[str | None, frozenset[int]]
"""Of a past intent: tools by the call before them."""


class Experts:
    """Predictors that have learned from sequences.

    Args:
        tools: What is ranked.
        sequences: What was called; what is no tool is a context, and never ranked.
        intents: For what, one per sequence.
    """

    def __init__(
        self, tools: Sequence[Tool], sequences: Sequence[Sequence[str]], intents: Sequence[str]
    ) -> None:
        self._texts = [tool_text(tool) for tool in tools]
        self._place = {tool.id: at for at, tool in enumerate(tools)}
        self._ppm = Ppm(sequences, order=max(_ORDERS))
        self._past = _by_intent(sequences, intents)

    def features(self, points: Sequence[Point]) -> Float64[np.ndarray, "points tools features"]:
        """What each predictor says of each tool at each point."""
        intents = list(dict.fromkeys(point.intent for point in points))
        cosines = Texts(self._texts).tfidf(intents)
        near = nearest(intents, list(self._past), self._texts)
        row = {intent: at for at, intent in enumerate(intents)}
        found = np.zeros((len(points), len(self._texts), len(FEATURES)))
        for said, point in zip(found, points, strict=True):
            at = row[point.intent]
            voters = [self._votes[index] for index in near.indices[at].tolist()]
            for column, order in enumerate(_ORDERS):
                said[:, column] = np.log(self._chances(point.prefix, order))
            said[:, 2] = np.log(_LEAST + np.maximum(cosines[at], 0))
            for column, last in ((3, _ANY), (4, point.prefix[-1])):
                said[:, column] = np.log(_LEAST + self._counted(voters, near.cosines[at], last))
            said[[self._place[tool] for tool in point.prefix if tool in self._place], 5] = 1
        return found

    def _chances(self, prefix: Sequence[str], order: int) -> Float64[np.ndarray, " tools"]:
        """PPM's, and what its last escape leaves, shared out among all tools."""
        chances = self._ppm.chances(prefix, order=order)
        found = np.full(len(self._texts), (1 - chances.sum()) / len(self._texts))
        known = self._symbols >= 0
        found[self._symbols[known]] += chances[known]
        return found

    @cached_property
    def _symbols(self) -> Int64[np.ndarray, " symbols"]:
        """Where the symbols of PPM stand among the tools, or -1."""
        places = [self._place.get(symbol, -1) for symbol in self._ppm.symbols]
        return np.array(places, dtype=np.int64)

    @cached_property
    def _votes(self) -> Sequence[_Votes]:
        """Of each past intent: which tools came after which, and which came at all."""
        return [self._follow(sequences) for sequences in self._past.values()]

    def _follow(self, sequences: Iterable[Sequence[str]]) -> _Votes:
        after: dict[str | None, set[int]] = defaultdict(set)
        for sequence in sequences:
            pairs = [*pairwise(sequence), *((_ANY, tool) for tool in sequence)]
            for before, tool in pairs:
                if tool in self._place:
                    after[before].add(self._place[tool])
        return {before: frozenset(places) for before, places in after.items()}

    def _counted(
        self, voters: Sequence[_Votes], cosines: Float64[np.ndarray, " near"], last: str | None
    ) -> Float64[np.ndarray, " tools"]:
        """Squared cosines of the intents that vote for each tool, as a share of the largest sum."""
        votes = np.zeros(len(self._texts))
        for voter, weight in zip(voters, (cosines**2).tolist(), strict=True):
            for place in voter.get(last, ()):
                votes[place] += weight
        most = votes.max(initial=0)
        return votes / most if most > 0 else votes


def _by_intent(
    sequences: Sequence[Sequence[str]], intents: Sequence[str]
) -> dict[str, list[Sequence[str]]]:
    past: dict[str, list[Sequence[str]]] = defaultdict(list)
    for intent, sequence in zip(intents, sequences, strict=True):
        past[intent].append(sequence)
    return dict(past)
