"""Links between given tools: by their order, by what training linked, by names of fields."""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise

from pml.evaluation.dataset import Workflow
from pml.evaluation.fields import field_names
from pml.evaluation.questions import Links, LinksQuestion

_Pair = tuple[str, str]


class GoldOrder:
    """Each tool to the next in the right order: what knowing the order alone brings."""

    name = "gold order"
    task = "links"

    def answers(self, question: LinksQuestion) -> Links:
        """Consecutive pairs."""
        return [frozenset(pairwise(nodes)) for nodes in question.nodes]


class SeenLinks:
    """All pairs that a training workflow links."""

    name = "seen train edges"
    task = "links"

    def answers(self, question: LinksQuestion) -> Links | None:
        """Pairs of different tools; None where training has no links."""
        seen = _links(question.train)
        if not seen:
            return None
        return [frozenset(p for p in _pairs(nodes) if seen[p]) for nodes in question.nodes]


class BestSuccessor:
    """From each tool one link, to the tool that training links it with most often."""

    name = "best successor"
    task = "links"

    def answers(self, question: LinksQuestion) -> Links | None:
        """Of equal ones the first by id; None where training has no links."""
        seen = _links(question.train)
        if not seen:
            return None
        return [frozenset(_best(nodes, seen)) for nodes in question.nodes]


class SharedFields:
    """All pairs of which a result's field has the name of an argument."""

    name = "shared field name"
    task = "links"

    def answers(self, question: LinksQuestion) -> Links | None:
        """Nothing where a tool is unknown; None where no tool says what it returns."""
        given = {tool.id: field_names(tool.output_schema) for tool in question.tools}
        taken = {tool.id: field_names(tool.input_schema) for tool in question.tools}
        if not any(given.values()):
            return None
        return [
            frozenset((a, b) for a, b in _pairs(nodes) if not given[a].isdisjoint(taken[b]))
            if given.keys() >= set(nodes)
            else frozenset()
            for nodes in question.nodes
        ]


def _links(workflows: Iterable[Workflow]) -> Counter[_Pair]:
    return Counter(link for workflow in workflows for link in workflow.links)


def _pairs(nodes: Iterable[str]) -> Iterable[_Pair]:
    """Pairs of different tools, in both directions, by id."""
    tools = sorted(set(nodes))
    return ((a, b) for a in tools for b in tools if a != b)


def _best(nodes: Iterable[str], seen: Mapping[_Pair, int]) -> Iterable[_Pair]:
    tools = sorted(set(nodes))
    for tool in tools:
        pairs = [(tool, other) for other in tools if other != tool and seen[tool, other]]
        if pairs:
            yield max(pairs, key=lambda pair: seen[pair])
