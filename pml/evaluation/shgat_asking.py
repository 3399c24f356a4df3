"""SHGAT as methods: trained once a question, asked as it is, gated, and taken apart.

Training needs torch (`pml[train]`), and no method fails for want of it: without torch, there are no
answers of these methods, and without anything to learn from, the model answers as it starts.
"""

from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from pml.evaluation.once import once
from pml.evaluation.questions import CapabilitiesQuestion, Scores, ToolsQuestion
from pml.evaluation.shgat_questions import ids_of, of_capabilities, of_tools
from pml.models.inputs import RankingTask

if TYPE_CHECKING:  # torch takes seconds to import, and may not be there
    from pml.evaluation.shgat_ranking import Ranker


def torch_is_there() -> bool:
    """Whether training is possible."""
    return find_spec("torch") is not None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Asked:
    """Answers of the model, and of what ranks where it may not."""

    model: Scores
    fallback: Scores
    passes: bool

    @property
    def gated(self) -> Scores:
        """What ships."""
        return self.model if self.passes else self.fallback


@once
def shgat_of_tools(question: ToolsQuestion) -> Asked:
    """Trained on the question's training split; the same object for the same question."""
    from pml.evaluation.shgat_ranking import trained_ranker

    ranker = trained_ranker(of_tools(question), RankingTask.TOOLS)
    return _asked(ranker, question.intents, [tool.id for tool in question.tools])


@once
def shgat_of_capabilities(question: CapabilitiesQuestion) -> Asked | None:
    """Trained on the candidates' past intents; None where there are none."""
    from pml.evaluation.shgat_ranking import trained_ranker

    if not any(candidate.past_intents for candidate in question.candidates):
        return None
    ranker = trained_ranker(of_capabilities(question), RankingTask.CAPABILITIES)
    return _asked(ranker, question.intents, ids_of(question.candidates))


def _asked(ranker: "Ranker", intents: tuple[str, ...], ids: list[str]) -> Asked:
    place = {key: at for at, key in enumerate(ranker.candidates)}
    columns = [place[key] for key in ids]
    model, fallback = ranker.scores_and_fallback(intents)
    return Asked(
        model=model[:, columns],
        fallback=fallback[:, columns],
        passes=ranker.passes,
    )
