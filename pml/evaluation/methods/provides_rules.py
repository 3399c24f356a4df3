"""Whether a result feeds an argument: always, where names are equal, and by PML's matcher."""

import numpy as np
from jaxtyping import Float64

from pml.analysis.fields.mapping import Side, provides
from pml.domain import tools as domain
from pml.evaluation.dataset import Tool
from pml.evaluation.fields import field_names
from pml.evaluation.questions import ProvidesQuestion


class AllPairs:
    """Always: its precision is the share of gold among the pairs asked about."""

    name = "all pairs"
    task = "provides"

    def answers(self, question: ProvidesQuestion) -> Float64[np.ndarray, " cases"]:
        """1 for all."""
        return np.ones(len(question.pairs))


class AnySharedName:
    """Where a field of the result has the name of an argument, but for case and punctuation."""

    name = "shared field name"
    task = "provides"

    def answers(self, question: ProvidesQuestion) -> Float64[np.ndarray, " cases"] | None:
        """1 or 0; None where no tool says what it returns."""
        if not any(field_names(tool.output_schema) for pair in question.pairs for tool in pair):
            return None
        shared = [
            not field_names(a.output_schema).isdisjoint(field_names(b.input_schema))
            for a, b in question.pairs
        ]
        return np.array(shared, dtype=np.float64)


class Matcher:
    """PML's own: the matcher of fields that draws `provides` edges (`pml.analysis.fields`, SA-10).

    Trained on the training splits of sealtools and toollinkos, nothing else
    (``experiments/001-provides-edges``): of these two, the training pairs are not unseen.
    """

    name = "pml"
    task = "provides"

    def answers(self, question: ProvidesQuestion) -> Float64[np.ndarray, " cases"]:
        """1 where the matcher draws an edge, else 0."""
        sides = {tool.id: Side(_known(tool)) for pair in question.pairs for tool in pair}
        drawn = [provides(sides[a.id], sides[b.id]) is not None for a, b in question.pairs]
        return np.array(drawn, dtype=np.float64)


def _known(tool: Tool) -> domain.Tool:
    """The tool as PML knows upstream tools."""
    output = dict(tool.output_schema or {}) or None
    if output is not None and "properties" not in output:
        output = {"properties": output}
    return domain.Tool(
        server=tool.server.replace(":", "_") or "none",
        name=tool.name,
        description=tool.description,
        input_schema=dict(tool.input_schema or {"type": "object"}),
        output_schema=output,
    )
