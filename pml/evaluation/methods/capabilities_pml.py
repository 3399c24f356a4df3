"""Methods `pml` and `pml without recall` of the task `capabilities`: PML's own search."""

from pml.evaluation.questions import CapabilitiesQuestion, Scores
from pml.evaluation.served import capability_entry, index_of, ranked, tool_entry


class Pml:
    """The index that is served, with all tools of the candidates beside them."""

    name = "pml"
    task = "capabilities"
    recall = True

    def answers(self, question: CapabilitiesQuestion) -> Scores | None:
        """A score per intent and capability; 0 for those that search does not name."""
        tools = {tool.id: tool for one in question.candidates for tool in one.tools}
        columns = {f"capability {n:06}": n for n in range(len(question.candidates))}
        capabilities = [
            capability_entry(key, question.candidates[column], recall=self.recall)
            for key, column in columns.items()
        ]
        index = index_of([*map(tool_entry, tools.values()), *capabilities])
        return ranked(index, question.intents, "capability", columns)


class PmlWithoutRecall(Pml):
    """The ablation of LE-8: nothing that was asked before is known."""

    name = "pml without recall"
    recall = False

    def answers(self, question: CapabilitiesQuestion) -> Scores | None:
        """None where there is nothing to recall."""
        if not any(one.past_intents for one in question.candidates):
            return None
        return super().answers(question)
