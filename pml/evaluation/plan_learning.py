"""What plans of training teach a search for plans (`pml.evaluation.plan_beam`), and how it does.

Two searches differ in the places by which their evidence is weighed.  One has those of held-back
intents alone, whose tools all have a history.  The other has places in requests for lost servers as
well (`pml.learning.cold_start`), as many as are to be expected; so it also follows texts to what
nobody has used.  Which of them serves, or a method that searches for nothing, is told by trials:
requests of training that what is known in the trial does not know.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Int64

from pml.discovery.next_tool import NextToolEvidence
from pml.discovery.ports import Encoder
from pml.domain.capability import normalised_intent
from pml.evaluation.dataset import Tool, Workflow
from pml.evaluation.next_rankers import LEAST_FOLDS
from pml.evaluation.next_training import LostExamples, NextSettings, NextViews
from pml.evaluation.next_weighed import Ranker, weighed
from pml.evaluation.plan_beam import END, START, PlanBeam
from pml.evaluation.questions import NextQuestion, PlansQuestion
from pml.learning.cold_start import shuffled

_PLACES = 3_500
_TRIED = 100
"""Requests of a trial at most."""
_HELD = 5
"""One in so many may be asked of those whose tools have a history."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Beams:
    """Two searches with the same evidence."""

    warm: PlanBeam
    """Weighed by held-back intents alone."""
    cold: PlanBeam
    """Weighed by requests for lost servers, too."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trial:
    """Requests of training, and what is known without them.

    Invariant: no intent twice, and a server for each request.
    """

    question: PlansQuestion
    right: tuple[Workflow, ...]
    beams: Beams
    servers: Int64[np.ndarray, " requests"]
    """Equal for requests that need the same lost server; the request's number if none is lost."""


class PlanLearning:
    """What is learned from plans.

    Raises:
        ValueError: there are too few different intents to learn from.
    """

    def __init__(self, tools: Sequence[Tool], train: Sequence[Workflow], encoder: Encoder) -> None:
        question = NextQuestion(
            tools=(*tools, Tool(id=END, server=END, name="")),
            train=tuple((START, *workflow.nodes, END) for workflow in train),
            past_intents=tuple(workflow.intent for workflow in train),
            points=(),
        )
        self._tools, self._train = tuple(tools), tuple(train)
        self._ids = tuple(tool.id for tool in question.tools)
        self._views = NextViews(question, NextSettings(most_places=_PLACES), encoder)
        self._folds = self._views.folds()
        if len(self._folds) < LEAST_FOLDS:
            msg = f"expected intents for {LEAST_FOLDS} folds, got {len(self._folds)}"
            raise ValueError(msg)

    def beams(self) -> Beams:
        """With all that is known; equal where no server is new."""
        return self._beams(self._views.without(frozenset()), self._cold(self._lost))

    @property
    def share(self) -> float:
        """Of all requests to come, how many are expected to need a new server."""
        return self._lost[0].share if self._lost else 0.0

    def warm_trial(self) -> Trial:
        """Some intents, whose tools have a history.  The weights alone have seen them."""
        most = min(_TRIED, len(self._train) // _HELD)
        drawn = np.random.default_rng(1).permutation(len(self._train))[:most]
        intents = dict.fromkeys(
            normalised_intent(self._train[at].intent) for at in sorted(drawn.tolist())
        )
        asked = [self._first[intent] for intent in intents][: len(self._first) // _HELD]
        hidden = frozenset(normalised_intent(each.intent) for each in asked)
        known = [each for each in self._train if normalised_intent(each.intent) not in hidden]
        beams = self._beams(self._views.without(hidden), self._cold(self._lost))
        return self._trial(known, asked, beams, np.arange(len(asked)))

    def cold_trials(self) -> tuple[Trial, ...]:
        """Of each part without which something is known; none where hardly any server is new."""
        return tuple(self._lost_trial(at) for at, one in enumerate(self._lost) if one.part.known)

    def _lost_trial(self, at: int) -> Trial:
        lost = self._lost[at]
        needing = {
            normalised_intent(one.intent): lost.part.needing[one.source] for one in lost.part.asked
        }
        drawn = shuffled(sorted(needing), np.random.default_rng(1))[:_TRIED]
        left = {normalised_intent(one.intent) for one in lost.part.known}
        known = [each for each in self._train if normalised_intent(each.intent) in left]
        rest = [*self._lost[:at], *self._lost[at + 1 :]]
        _, servers = np.unique([needing[intent] for intent in drawn], return_inverse=True)
        beams = self._beams(lost.evidence, self._cold(rest))
        return self._trial(known, [self._first[intent] for intent in drawn], beams, servers)

    def _trial(
        self,
        known: Iterable[Workflow],
        asked: Sequence[Workflow],
        beams: Beams,
        servers: Int64[np.ndarray, " requests"],
    ) -> Trial:
        question = PlansQuestion(
            tools=self._tools,
            train=tuple(known),
            intents=tuple(each.intent for each in asked),
            sizes=tuple(len(set(each.nodes)) for each in asked),
        )
        return Trial(question=question, right=tuple(asked), beams=beams, servers=servers)

    def _beams(self, evidence: NextToolEvidence, cold: Ranker) -> Beams:
        warm, other = (
            PlanBeam(self._ids, self._views, evidence, rank) for rank in (self._warm, cold)
        )
        return Beams(warm=warm, cold=other)

    @cached_property
    def _first(self) -> Mapping[str, Workflow]:
        """The first workflow of each intent."""
        found: dict[str, Workflow] = {}
        for each in self._train:
            found.setdefault(normalised_intent(each.intent), each)
        return found

    @cached_property
    def _warm(self) -> Ranker:
        return weighed(self._folds)

    def _cold(self, lost: Sequence[LostExamples]) -> Ranker:
        if not lost:
            return self._warm
        return weighed(self._folds, [part.asked for part in lost], share=self.share)

    @cached_property
    def _lost(self) -> tuple[LostExamples, ...]:
        return self._views.lost({tool.id: tool.server for tool in self._tools})
