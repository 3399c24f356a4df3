"""Call outcomes by what Thompson sampling would have learned: `pml.learning.thompson`, `probit`.

Both read the training calls once, as the running system would: no outcome is seen twice, nothing
is fitted at the end.  Hyper-parameters are the defaults that ship.  The sets do not tell when an
episode was: the order of their ids would bring all calls of a service in one block, so episodes
come in a shuffled order (one seed, one order).
"""

from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np

from pml.evaluation.dataset import Call, Tool
from pml.evaluation.questions import Chances, OutcomesQuestion
from pml.learning.call_context import CallContext, PastCall, ToolFacts, features
from pml.learning.probit import ProbitModel
from pml.learning.thompson import ThompsonSampler
from pml.learning.verdicts import Verdict

_ORDER = 0
"""Seed of the order of episodes."""


class Thompson:
    """The mean of each tool's Beta posterior, its prior from the server and from all."""

    name = "thompson"
    task = "outcomes"

    def answers(self, question: OutcomesQuestion) -> Chances:
        """Chances to fail."""
        facts = Facts(question.tools)
        sampler = ThompsonSampler()
        for call in shuffled(question.train):
            sampler.record(facts.arm(call.tool_id), verdict(call))
        return np.array(
            [1 - sampler.posterior(facts.arm(call.tool_id)).mean for call in question.calls]
        )


class ThompsonWithContext:
    """The posterior mean of a probit model of server, tool, words and run."""

    name = "thompson with context"
    task = "outcomes"

    def answers(self, question: OutcomesQuestion) -> Chances:
        """Chances to fail."""
        facts, model = Facts(question.tools), ProbitModel()
        for call, before in with_history(shuffled(question.train)):
            if call.ok is not None:
                model.learn(features(facts.context(call, before)), success=call.ok)
        asked = zip(question.calls, question.before, strict=True)
        chances = [model.chance(features(facts.context(*case))) for case in asked]
        return 1 - np.array(chances, dtype=np.float64)


class Facts:
    """What a catalogue says of its tools, in the words of `pml.learning`."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._facts = {
            tool.id: ToolFacts(id=tool.id, server=tool.server, name=tool.name) for tool in tools
        }

    def of(self, tool_id: str) -> ToolFacts:
        """Also of a tool that the catalogue lacks."""
        known = self._facts.get(tool_id)
        return known or ToolFacts(id=tool_id, server="", name=tool_id, known=False)

    def arm(self, tool_id: str) -> str:
        """The id ``server:tool`` that arms go by; names of servers hold colons in some sets."""
        return f"{self.of(tool_id).server.replace(':', ' ')}:{tool_id}"

    def context(self, call: Call, before: Sequence[Call]) -> CallContext:
        """A call as it looked before it was made."""
        past = [
            PastCall(tool=self.of(one.tool_id), arguments=one.arguments, verdict=verdict(one))
            for one in before
        ]
        return CallContext(tool=self.of(call.tool_id), arguments=call.arguments, before=past)


def shuffled(calls: Sequence[Call]) -> list[Call]:
    """Calls in another order of episodes, each whole; the same calls give the same order."""
    episodes = [list(group) for _, group in groupby(calls, key=lambda call: call.episode_id)]
    order = np.random.default_rng(_ORDER).permutation(len(episodes))
    return [call for number in order for call in episodes[number]]


def with_history(calls: Sequence[Call]) -> Iterator[tuple[Call, Sequence[Call]]]:
    """Each call with the earlier ones of its episode, which stand before it."""
    history: list[Call] = []
    for call in calls:
        if history and history[-1].episode_id != call.episode_id:
            history = []
        yield call, tuple(history)
        history.append(call)


def verdict(call: Call) -> Verdict:
    """What a recorded call says of its tool."""
    if call.ok is None:
        return Verdict.UNINFORMATIVE
    return Verdict.SUCCESS if call.ok else Verdict.FAILURE
