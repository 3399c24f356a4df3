"""Plans as hyperpaths: tools that fit the intent, and the tool sequences that training has shown.

The graph has a node per tool, one per distinct sequence of training (a capability), and a goal::

    start            -> tool        nats: minus the log-odds that the tool is in the plan
    all its tools    -> capability  nats: minus the log of its frequency, weighted
    capability       -> goal
    capability, tool -> goal        the tool often came after the capability's last one

The cheapest hyperpath to the goal is the likeliest plan if tools are in it independently of each
other, given the capability.  Weights must not be negative, so every tool costs `_LARGEST` more,
and a capability of fewer tools than the longest as much more for each that it lacks.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from pml.evaluation.plan_parts import chain
from pml.evaluation.questions import Plan
from pml.pathfinding.drdsp import DRDSP
from pml.pathfinding.records import START, Hyperedge, HyperedgeKind, Hyperpath

_GOAL = "goal"
_LARGEST = 20.0
"""Of log-odds; what is larger counts as this."""
_ALONE = 0.5
"""Times that training counts as having shown a tool alone that it has not, over all such tools."""
_LONGER = 0.05
"""Chance that a plan is a known one and a tool more."""
_FOLLOWERS = 4
"""Tools that may come after a capability: those that most often came after its last one."""


class PlanGraph:
    """The graph, kept from intent to intent: only weights of tools change.

    Args:
        sequences: tools of each training workflow.
        tools: all that may be called; one that training has not shown may be a plan alone.
        frequency: weight of minus the log of a capability's frequency.
    """

    def __init__(
        self, sequences: Iterable[tuple[str, ...]], tools: Sequence[str], *, frequency: float
    ) -> None:
        counts = Counter(sequences)
        after = _followers(counts)
        total = counts.total() + 1
        alone = {(tool,): _ALONE / len(tools) for tool in tools if (tool,) not in counts}
        self._sequences = [*counts, *alone]
        self._longest = max((len(set(each)) for each in self._sequences), default=0)
        edges = [_call(tool, 0.0) for tool in tools]
        for number, (sequence, count) in enumerate([*counts.items(), *alone.items()]):
            edges += self._capability(number, sequence, -math.log(count / total) * frequency)
            edges += _longer(number, sequence, after.get(sequence[-1], {}), frequency)
        self._graph = DRDSP.from_hyperedges(edges, nodes=[_GOAL])
        self._odds = dict.fromkeys(tools, 0.0)

    def plan(self, log_odds: Mapping[str, float]) -> Plan:
        """The likeliest plan.

        Args:
            log_odds: that a tool is in the plan, for all tools.
        """
        changed = {tool: odds for tool, odds in log_odds.items() if odds != self._odds[tool]}
        self._odds.update(changed)
        self._graph.reweight({f"call {tool}": _weight(odds) for tool, odds in changed.items()})
        path = self._graph.find_shortest_hyperpath([START], _GOAL)
        return Plan(nodes=(), links=()) if path is None else self._planned(path)

    def _capability(
        self, number: int, sequence: tuple[str, ...], weight: float
    ) -> Iterable[Hyperedge]:
        members = tuple(dict.fromkeys(map(_tool, sequence)))
        missing = (self._longest - len(members)) * _LARGEST
        yield Hyperedge(
            id=f"members {number}",
            sources=members,
            target=_capability(number),
            weight=weight + missing,
            kind=HyperedgeKind.MEMBERS,
        )
        # As much as one more tool would.
        yield Hyperedge(
            id=f"goal {number}",
            sources=(_capability(number),),
            target=_GOAL,
            weight=_LARGEST,
        )

    def _planned(self, path: Hyperpath) -> Plan:
        last = path.hyperedges[-1]
        capability, *more = last.sources
        sequence = self._sequences[int(capability.partition(" ")[2])]
        return chain([*sequence, *(tool.partition(" ")[2] for tool in more)])


def _followers(counts: Mapping[tuple[str, ...], int]) -> dict[str, dict[str, float]]:
    """After each tool, those that most often came next, with their chances."""
    after: dict[str, Counter[str]] = {}
    for sequence, count in counts.items():
        for first, second in pairwise(sequence):
            after.setdefault(first, Counter())[second] += count
    return {
        first: {tool: times / next_.total() for tool, times in next_.most_common(_FOLLOWERS)}
        for first, next_ in after.items()
    }


def _longer(
    number: int, sequence: tuple[str, ...], after: Mapping[str, float], frequency: float
) -> Iterable[Hyperedge]:
    for tool, chance in after.items():
        if tool not in sequence:
            yield Hyperedge(
                id=f"goal {number} and {tool}",
                sources=(_capability(number), _tool(tool)),
                target=_GOAL,
                weight=-math.log(_LONGER * chance) * frequency,
            )


def _call(tool: str, odds: float) -> Hyperedge:
    return Hyperedge(
        id=f"call {tool}",
        sources=(START,),
        target=_tool(tool),
        weight=_weight(odds),
        kind=HyperedgeKind.START,
    )


def _weight(odds: float) -> float:
    return _LARGEST - min(max(odds, -_LARGEST), _LARGEST)


def _tool(tool: str) -> str:
    return f"tool {tool}"


def _capability(number: int) -> str:
    return f"capability {number}"
