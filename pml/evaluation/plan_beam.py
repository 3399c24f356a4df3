"""Plans for an intent, call by call: what is likely to be called next, until nothing is.

A plan of training is a sequence that begins with a sign and ends with another.  The end counts as
a tool, so that a ranker of the next tool (`pml.evaluation.next_rankers`) also says when a plan is
complete, and its softmax is the chance of each step.  The likeliest plans are found by beam search.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float64

from pml.discovery.next_tool import Place
from pml.discovery.ports import Encoder
from pml.evaluation.dataset import Tool, Workflow
from pml.evaluation.next_rankers import LEAST_FOLDS
from pml.evaluation.next_training import NextSettings, NextViews
from pml.evaluation.next_weighed import weighed
from pml.evaluation.questions import NextQuestion

_START, _END = "\x02", "\x03"
"""Start and end of text: no tool has such an id."""
_PLACES = 3_500
_WIDTH = 6
"""Beginnings that are followed up."""
_LONGEST = 7
_LEAST = 0.01
"""Chance of a beginning below which it is given up."""
_Sequence = tuple[str, ...]


class PlanBeam:
    """Says which sequences of calls are likely for an intent.

    Raises:
        ValueError: there are too few different intents to learn from (`learnable`).
    """

    def __init__(self, tools: Sequence[Tool], train: Sequence[Workflow], encoder: Encoder) -> None:
        question = NextQuestion(
            tools=(*tools, Tool(id=_END, server=_END, name="")),
            train=tuple((_START, *workflow.nodes, _END) for workflow in train),
            past_intents=tuple(workflow.intent for workflow in train),
            points=(),
        )
        self._ids = tuple(tool.id for tool in question.tools)
        self._views = NextViews(question, NextSettings(most_places=_PLACES), encoder)
        folds = self._views.folds()
        if len(folds) < LEAST_FOLDS:
            msg = f"expected intents for {LEAST_FOLDS} folds, got {len(folds)}"
            raise ValueError(msg)
        self._rank = weighed(folds)
        self._view, self._evidence = self._views.full()

    def plans(self, intent: str) -> Mapping[_Sequence, float]:
        """Complete sequences of calls with their chances, which sum to at most 1."""
        open_: dict[_Sequence, float] = {(_START,): 0.0}
        complete: dict[_Sequence, float] = {}
        for _ in range(_LONGEST):
            found: dict[_Sequence, float] = {}
            for prefix, row in zip(open_, self._log_chances(intent, list(open_)), strict=True):
                for at in np.argsort(-row, kind="stable")[:_WIDTH].tolist():
                    step, chance = self._ids[at], open_[prefix] + float(row[at])
                    if step != _END and step != prefix[-1]:
                        found[*prefix, step] = chance
                    elif step == _END and len(prefix) > 1:
                        complete[prefix[1:]] = float(np.exp(chance))
            likely = sorted(found, key=lambda prefix: -found[prefix])[:_WIDTH]
            open_ = {prefix: found[prefix] for prefix in likely if np.exp(found[prefix]) > _LEAST}
            if not open_:
                break
        return complete

    def _log_chances(
        self, intent: str, prefixes: Sequence[_Sequence]
    ) -> Float64[np.ndarray, "prefixes tools"]:
        places = [Place(prefix=prefix, intent=intent) for prefix in prefixes]
        scores = self._rank(self._views.queries(self._evidence, places))
        rounded = scores.astype(np.float64).round(4)
        most = rounded.max(axis=1, keepdims=True)
        sums = np.log(np.exp(rounded - most).sum(axis=1, keepdims=True))
        return np.asarray(rounded - most - sums)
