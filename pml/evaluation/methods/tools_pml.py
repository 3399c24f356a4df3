"""Methods `pml` and `pml without recall` of the task `tools`: PML's own search."""

from pml.evaluation.dataset import Tool
from pml.evaluation.questions import Candidate, Scores, ToolsQuestion
from pml.evaluation.served import capability_entry, index_of, ranked, tool_entry


class Pml:
    """The index that is served: each set of tools that past workflows used is a capability."""

    name = "pml"
    task = "tools"
    recall = True

    def answers(self, question: ToolsQuestion) -> Scores | None:
        """A score per intent and tool; 0 for tools that search does not name."""
        tools = [tool_entry(tool) for tool in question.tools]
        past = [
            capability_entry(f"capability {number:06}", candidate, recall=True)
            for number, candidate in enumerate(_capabilities(question))
        ]
        index = index_of([*tools, *(past if self.recall else [])])
        columns = {tool.id: column for column, tool in enumerate(question.tools)}
        return ranked(index, question.intents, "tool", columns)


class PmlWithoutRecall(Pml):
    """The ablation of LE-8: nothing that was asked before is known."""

    name = "pml without recall"
    recall = False

    def answers(self, question: ToolsQuestion) -> Scores | None:
        """None where there is nothing to recall."""
        if not question.train:
            return None
        return super().answers(question)


def _capabilities(question: ToolsQuestion) -> list[Candidate]:
    tools = {tool.id: tool for tool in question.tools}
    intents: dict[frozenset[str], list[str]] = {}
    for workflow in question.train:
        intents.setdefault(frozenset(workflow.nodes), []).append(workflow.intent)
    return [
        Candidate(tools=_of(used, tools), past_intents=tuple(past))
        for used, past in intents.items()
    ]


def _of(used: frozenset[str], tools: dict[str, Tool]) -> tuple[Tool, ...]:
    return tuple(tools[one] for one in sorted(used) if one in tools)
