"""Scores of a trained SHGAT, as it serves: numpy alone, no torch (LE-5, LE-7).

States of nodes are computed once for the graph and kept (`pml.models.served_nodes`); a query is
then one product with the rows of all candidates.  The mathematics is that of `pml.models.config`.

One thread at a time: no score may be asked for while a node is added, changed or removed.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32

from pml.models.checked import check_finite, check_shape
from pml.models.config import contribution_names
from pml.models.exported import ExportedShgat
from pml.models.hypergraph import Hypergraph
from pml.models.inputs import NodeInputs, RankingTask
from pml.models.projection import NodeKind
from pml.models.readout import Readout, by_head
from pml.models.served_nodes import ServedNodes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Query:
    """One intent, with what retrievers say of the candidates."""

    vector: Float32[np.ndarray, " dim"]
    """Of the intent, by the encoder of the nodes' vectors."""
    evidence: Float32[np.ndarray, "candidates columns"] | None = None
    """Columns of the task by `ShgatConfig.evidence`, rows in the order of the scorer's tools or
    capabilities; None where no retriever was asked."""
    stats: Float32[np.ndarray, " stats"] | None = None
    """By `ShgatConfig.stats`; None where nothing is known."""
    called: tuple[str, ...] = ()
    """Ids of the tools called so far, the earliest first; one that is not known is passed over.
    Only the next tool depends on them."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scores:
    """Of all candidates of a task, in the order of the scorer's tools or capabilities."""

    raw: Float32[np.ndarray, " candidates"]
    probabilities: Float32[np.ndarray, " candidates"]
    """Calibrated."""


class Scorer:
    """A model over the nodes that there are now."""

    def __init__(self, model: ExportedShgat, graph: Hypergraph, inputs: NodeInputs) -> None:
        """Pass over the graph, which need not be the one that the model was trained on.

        Raises:
            ValueError: inputs do not fit the graph or the model, or are not finite.
        """
        self.config = model.config
        self.nodes = ServedNodes(model, graph, inputs)
        """What is scored; add, change and remove here."""
        self._readouts = {
            task: Readout.of(model.config, model.parameters, task) for task in model.config.tasks
        }

    def score_all_tools(self, query: Query) -> Scores:
        """How well each tool serves the intent.

        Raises:
            ValueError: the model does not rank tools, or the query does not fit it.
        """
        return self._scores(RankingTask.TOOLS, query)

    def score_all_capabilities(self, query: Query) -> Scores:
        """How well each capability, of any level, serves the intent; raises as for tools."""
        return self._scores(RankingTask.CAPABILITIES, query)

    def predict_next(self, query: Query) -> Scores:
        """How likely each tool is called next, after those of the query; raises as for tools."""
        return self._scores(RankingTask.NEXT_TOOL, query)

    def contributions(
        self, task: RankingTask, query: Query
    ) -> dict[str, Float32[np.ndarray, " candidates"]]:
        """What each head added to the raw scores of all candidates, by `contribution_names`.

        Raises:
            ValueError: as the scores of that task.
        """
        readout = self._readout(task)
        rows = self.nodes.rows(_kind(task))
        heads = by_head(self.config, rows, self._asked(readout, query))
        evidence = self._evidence(readout, query, len(rows))
        bias = np.full(len(rows), readout.intercept)
        names = contribution_names(self.config)
        return dict(zip(names, [*heads, evidence, bias], strict=True))

    def _scores(self, task: RankingTask, query: Query) -> Scores:
        readout = self._readout(task)
        rows = self.nodes.rows(_kind(task))
        raw = np.vecdot(rows, self._asked(readout, query))
        raw += self._evidence(readout, query, len(rows))
        raw += readout.intercept
        return Scores(raw=raw, probabilities=readout.probabilities(raw))

    def _readout(self, task: RankingTask) -> Readout:
        if task not in self._readouts:
            msg = f"the model ranks {', '.join(self.config.tasks)}, not {task}"
            raise ValueError(msg)
        return self._readouts[task]

    def _asked(self, readout: Readout, query: Query) -> Float32[np.ndarray, " columns"]:
        """What the rows of nodes are multiplied with."""
        check_shape("vector", query.vector, (self.config.dim,), ("dim",))
        check_finite("vector", query.vector)
        return readout.asked(query.vector, self.nodes.called(query.called))

    def _evidence(
        self, readout: Readout, query: Query, candidates: int
    ) -> Float32[np.ndarray, " candidates"]:
        """What retrievers add."""
        columns, stats = readout.by_stats.shape
        if query.stats is not None:
            check_shape("stats", query.stats, (stats,), ("stats",))
            check_finite("stats", query.stats)
        if query.evidence is None:
            return np.zeros(candidates, np.float32)
        check_shape("evidence", query.evidence, (candidates, columns), ("candidates", "columns"))
        check_finite("evidence", query.evidence)
        known = np.zeros(stats, np.float32) if query.stats is None else query.stats
        return readout.heard(query.evidence, known)


def _kind(task: RankingTask) -> NodeKind:
    """Of the candidates."""
    return NodeKind.CAPABILITIES if task is RankingTask.CAPABILITIES else NodeKind.TOOLS
