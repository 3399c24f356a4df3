"""Methods `dr-dsp`... of the task `closure`: hyperpaths to the tool that an intent asks for.

The hyperpath to a tool is what has to be fetched for it (LE-6).  Three methods show what past
workflows add: `dr-dsp` knows none, `learned needs` learns from them which dependencies are
fetched at all, `learned needs and tool` also which tool words ask for.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from pml.evaluation import main_tool, needs
from pml.evaluation.dataset import Workflow
from pml.evaluation.fetching import Fetching
from pml.evaluation.main_tool import Logits, Tools
from pml.evaluation.questions import Closure, ClosureQuestion, Closures
from pml.evaluation.ranking import best_first

RANKED = 30
"""So many tools a ranking names, beside the closure."""


class DrDsp:
    """The hyperpath to the likeliest tool is what is chosen.

    Args:
        name: Of the method.
        learn_needs: Whether past workflows tell which dependencies are needed.
        learn_tool: Whether past intents tell what words ask for.
    """

    task = "closure"

    def __init__(self, name: str, *, learn_needs: bool, learn_tool: bool) -> None:
        self.name = name
        self._learn_needs, self._learn_tool = learn_needs, learn_tool

    def answers(self, question: ClosureQuestion) -> Closures | None:
        """None where nothing is known of the past and the method would learn."""
        if self._learn_needs and not all(question.known):
            return None
        tools = Tools(question.tools)
        found: dict[int, Closure] = {}
        for past, cases in by_known(question):
            intents = [question.intents[case] for case in cases]
            found |= zip(cases, self._answers(question, past, tools, intents), strict=True)
        return [found[case] for case in range(len(question.intents))]

    def _answers(
        self,
        question: ClosureQuestion,
        past: Sequence[Workflow],
        tools: Tools,
        intents: Sequence[str],
    ) -> Iterator[Closure]:
        """To intents for which the same past may be known."""
        ids = [tool.id for tool in question.tools]
        dependencies = question.dependencies
        needed = (
            needs.learned(dependencies, past) if self._learn_needs else needs.declared(dependencies)
        )
        fetching = Fetching(ids, needed)
        chooser = main_tool.learned(tools, past) if self._learn_tool else None
        if chooser is None:
            return to_first(main_tool.by_text(tools)(intents), ids, fetching)
        return by_chance(chooser(intents), ids, fetching)


def to_first(logits: Logits, ids: Sequence[str], fetching: Fetching) -> Iterator[Closure]:
    """The hyperpath to the likeliest tool, from there back, then the next likely tools."""
    for row in best_first(logits.astype(np.float32))[:, :RANKED].tolist():
        path = fetching.nearest_first(ids[row[0]])
        rest = [ids[place] for place in row if ids[place] not in path]
        yield Closure(ranking=(*path, *rest), chosen=frozenset(path))


def by_chance(logits: Logits, ids: Sequence[str], fetching: Fetching) -> Iterator[Closure]:
    """Tools by the chance that they are on the hyperpath to the tool that is asked for."""
    places = {tool: place for place, tool in enumerate(ids)}
    paths = [fetching.firing_order(tool) for tool in ids]
    fetched = np.zeros((len(ids), len(ids)))  # (asked for, fetched)
    for asked, path in enumerate(paths):
        fetched[asked, [places[tool] for tool in path]] = 1
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    chances = weights / weights.sum(axis=1, keepdims=True) @ fetched
    ranked = best_first(chances.astype(np.float32))[:, :RANKED].tolist()
    for row, first in zip(ranked, logits.argmax(axis=1).tolist(), strict=True):
        yield Closure(ranking=tuple(ids[place] for place in row), chosen=frozenset(paths[first]))


def by_known(
    question: ClosureQuestion,
) -> Iterator[tuple[Sequence[Workflow], list[int]]]:
    """Each past that may be known, with the cases for which it may."""
    cases: dict[int, list[int]] = {}
    for case, past in enumerate(question.known):
        cases.setdefault(id(past), []).append(case)
    for same in cases.values():
        yield question.known[same[0]], same


METHODS = (
    DrDsp("dr-dsp", learn_needs=False, learn_tool=False),
    DrDsp("dr-dsp with learned needs", learn_needs=True, learn_tool=False),
    DrDsp("dr-dsp with learned needs and tool", learn_needs=True, learn_tool=True),
)
