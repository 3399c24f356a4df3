"""Questions about tools and capabilities as data sets of what may be learned from."""

from collections.abc import Sequence

from pml.evaluation.dataset import Dataset, Tool, Workflow
from pml.evaluation.questions import Candidate, CapabilitiesQuestion, ToolsQuestion
from pml.evaluation.shgat_examples import capability_of


def of_tools(question: ToolsQuestion) -> Dataset:
    """Its tools and training workflows."""
    return Dataset(name="asked", tools=question.tools, workflows=question.train)


def of_capabilities(question: CapabilitiesQuestion) -> Dataset:
    """Each past intent of a candidate is a workflow that called the candidate's tools."""
    tools: dict[str, Tool] = {}
    workflows: list[Workflow] = []
    for place, candidate in enumerate(question.candidates):
        tools.update({tool.id: tool for tool in candidate.tools})
        workflows += _runs(place, candidate)
    return Dataset(name="asked", tools=tuple(tools.values()), workflows=tuple(workflows))


def ids_of(candidates: Sequence[Candidate]) -> list[str]:
    """The capability that each candidate is."""
    return [capability_of(tool.id for tool in candidate.tools).id for candidate in candidates]


def _runs(place: int, candidate: Candidate) -> list[Workflow]:
    return [
        Workflow(
            id=f"{place}.{number}",
            intent=intent,
            nodes=tuple(tool.id for tool in candidate.tools),
        )
        for number, intent in enumerate(candidate.past_intents)
    ]
