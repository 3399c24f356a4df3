"""Intent to capability: which known workflow serves an intent?

Two kinds of problem, by rules, whatever the set:

- *Tool sets.*  A capability is a distinct set of tools of the split ``train``; its past intents
  are those of the training workflows with that set, in the file's order.  Asked are the
  intents of the splits that begin with ``test`` whose set of tools is known; the label says
  how many of all that is.  Fewer than `LEAST_CASES` such intents are no problem.
- *Descriptions.*  Where workflows have an independent description, every workflow of the set
  is a candidate with its own intent as title, and its description is the query.

One candidate is gold in each case.  Cases whose workflows have the same main tool are one group.
"""

from collections.abc import Sequence

from pml.evaluation.cases import asked, groups
from pml.evaluation.dataset import TRAIN, Dataset, Tool, Workflow
from pml.evaluation.measured import Measured
from pml.evaluation.questions import Candidate, CapabilitiesQuestion, Scores
from pml.evaluation.ranking import measured
from pml.evaluation.task import Problem

LEAST_CASES = 30
"""Fewer cases than this tell methods apart only if one of them is absurd."""


class Capabilities:
    """See the head."""

    name = "capabilities"
    title = "Intent to capability"
    headline = "nDCG10"
    higher_is_better = True

    def problems(self, dataset: Dataset) -> Sequence[Problem[CapabilitiesQuestion, Scores]]:
        """At most one of each kind."""
        found = (_by_tool_sets(dataset), _by_descriptions(dataset))
        return tuple(problem for problem in found if problem is not None)


def _by_tool_sets(dataset: Dataset) -> Problem[CapabilitiesQuestion, Scores] | None:
    known: dict[frozenset[str], list[str]] = {}
    for workflow in dataset.split(TRAIN):
        known.setdefault(frozenset(workflow.nodes), []).append(workflow.intent)
    places = {used: place for place, used in enumerate(known)}
    tested = asked(dataset)
    cases = [workflow for workflow in tested if frozenset(workflow.nodes) in places]
    if len(cases) < LEAST_CASES:
        return None
    tools = _tools(dataset)
    candidates = [
        Candidate(tools=tuple(tools[one] for one in sorted(used)), past_intents=tuple(intents))
        for used, intents in known.items()
    ]
    return _problem(
        label=f"{len(cases)} of {len(tested)} with a known set of tools",
        candidates=candidates,
        cases=cases,
        intents=[workflow.intent for workflow in cases],
        gold=[places[frozenset(workflow.nodes)] for workflow in cases],
    )


def _by_descriptions(dataset: Dataset) -> Problem[CapabilitiesQuestion, Scores] | None:
    described = [
        (place, workflow, workflow.description)
        for place, workflow in enumerate(dataset.workflows)
        if workflow.description
    ]
    if len(described) < LEAST_CASES:
        return None
    tools = _tools(dataset)
    return _problem(
        label="by description",
        candidates=[_titled(workflow, tools) for workflow in dataset.workflows],
        cases=[workflow for _, workflow, _ in described],
        intents=[description for _, _, description in described],
        gold=[place for place, _, _ in described],
    )


def _titled(workflow: Workflow, tools: dict[str, Tool]) -> Candidate:
    return Candidate(
        tools=tuple(tools[node] for node in workflow.nodes),
        past_intents=(),
        title=workflow.intent,
        node_names=workflow.node_names,
        notes=workflow.notes or "",
    )


def _tools(dataset: Dataset) -> dict[str, Tool]:
    """By id; one that the set only names is known by that name."""
    unknown = {one: Tool(id=one, server="", name=one) for one in dataset.unknown_tools}
    return unknown | {tool.id: tool for tool in dataset.tools}


def _problem(
    *,
    label: str,
    candidates: Sequence[Candidate],
    cases: Sequence[Workflow],
    intents: Sequence[str],
    gold: Sequence[int],
) -> Problem[CapabilitiesQuestion, Scores]:
    question = CapabilitiesQuestion(candidates=tuple(candidates), intents=tuple(intents))
    together = groups(cases)

    def judge(answers: Scores) -> Measured:
        return measured(answers, [{one} for one in gold], together, candidates=len(candidates))

    return Problem(task=Capabilities.name, label=label, question=question, judge=judge)


TASK = Capabilities()
