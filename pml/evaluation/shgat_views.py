"""What is known at some time, as SHGAT sees it: a graph, features, and vectors of its nodes.

Everything is made of the examples that are known, so that a view built without some of them holds
nothing of them (`pml.learning.folds`): their capabilities, orders, runs and intents are not there.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from jaxtyping import Float32

from pml.discovery.ports import Encoder
from pml.domain.trace import DependencyType, ExecutionTrace, ToolDependency
from pml.evaluation.dataset import Call, Dataset
from pml.evaluation.shgat_examples import capability_of, learned_from, members_of, runs_of
from pml.evaluation.text import encoded_text
from pml.features.activity import Activity, CallSeen, RunSeen
from pml.features.graph import feature_graph
from pml.features.matrix import feature_matrices
from pml.features.members import Members
from pml.features.structure import structure_of
from pml.learning.examples import Example
from pml.learning.folds import View
from pml.learning.seen import run_seen
from pml.models.hypergraph import Hypergraph, hypergraph
from pml.models.inputs import NodeInputs, RankingTask

_SEED = 0  # of communities, whose numbers mean nothing
_HOUR_MS = 3_600_000


class Source:
    """A data set, the traces that came with it, and the vectors of its texts.

    Invariant: every text is encoded once.
    """

    def __init__(
        self, dataset: Dataset, encoder: Encoder, traces: Sequence[ExecutionTrace] = ()
    ) -> None:
        self.dataset = dataset
        self.encoder = encoder
        self.traces = tuple(traces)
        self.tools = tuple(tool.id for tool in dataset.tools)
        """Ids, in the order of the catalogue."""
        self.names = tuple(f"{tool.server} {tool.name}" for tool in dataset.tools)
        self.texts = tuple(encoded_text(tool) for tool in dataset.tools)
        self.members: Mapping[str, Members] = members_of(dataset, traces)
        """Of all capabilities, by id."""
        self.tool_vectors: Float32[np.ndarray, "tools dim"] = encoder.encode(self.texts)
        self._vectors: dict[str, Float32[np.ndarray, " dim"]] = {}

    @property
    def dim(self) -> int:
        """Of the vectors."""
        return int(self.tool_vectors.shape[1])

    def encoded(self, intents: Sequence[str]) -> Float32[np.ndarray, "intents dim"]:
        """Vectors of intents."""
        new = [each for each in dict.fromkeys(intents) if each not in self._vectors]
        if new:
            self._vectors.update(zip(new, self.encoder.encode(new), strict=True))
        return np.array([self._vectors[one] for one in intents], np.float32).reshape(-1, self.dim)

    def view(self, known: Sequence[Example]) -> View:
        """Of these examples."""
        graph = hypergraph(self.tools, self._capabilities(known))
        sources = {example.source for example in known}
        tool_features, capability_features = self._features(graph, sources)
        inputs = NodeInputs(
            vectors=np.concatenate([self.tool_vectors, self._capability_vectors(graph, known)]),
            tool_features=tool_features,
            capability_features=capability_features,
        )
        return View(graph=graph, inputs=inputs)

    def _capabilities(self, known: Iterable[Example]) -> list[Members]:
        """Those that served an example, in the order of first use."""
        used = (
            key
            for example in known
            if example.task is RankingTask.CAPABILITIES
            for key in example.positives
        )
        return [self.members[key] for key in dict.fromkeys(used) if key in self.members]

    def _features(
        self, graph: Hypergraph, sources: set[str]
    ) -> tuple[
        Float32[np.ndarray, "tools tool_columns"],
        Float32[np.ndarray, "capabilities capability_columns"],
    ]:
        members = [self.members[key] for key in graph.capabilities]
        tied = feature_graph(graph.tools, members, self._edges(sources))
        activity, now_ms = Activity(), 0
        for now_ms, run in enumerate(self._runs(sources), start=1):
            activity.add(_at(run, now_ms * _HOUR_MS))
        structure = structure_of(tied, np.random.default_rng(_SEED))
        tools, capabilities = feature_matrices(structure, activity, (now_ms + 1) * _HOUR_MS)
        return tools.values[: len(graph.tools)], capabilities.values

    def _edges(self, sources: set[str]) -> Iterator[ToolDependency]:
        tools = set(self.tools)
        for need in self.dataset.dependencies:
            yield _edge(need.provider, need.consumer, DependencyType.DEPENDENCY)
        for workflow in learned_from(self.dataset):
            if workflow.id in sources:
                for before, after in workflow.links or pairwise(workflow.nodes):
                    if {before, after} <= tools:
                        yield _edge(before, after, DependencyType.SEQUENCE)

    def _runs(self, sources: set[str]) -> Iterator[RunSeen]:
        """Runs of the known examples: recorded ones, else workflows as runs that went well."""
        tools = set(self.tools)
        traced = [trace for trace in self.traces if trace.id in sources]
        yield from filter(None, map(run_seen, traced))
        told = {trace.id for trace in self.traces}
        for episode, calls in runs_of(self.dataset):
            of = episode.workflow_id or episode.id
            if of in sources and not {of, episode.id} & told:
                told.add(of)
                seen = (
                    CallSeen(tool=c.tool_id, arguments=c.arguments, success=c.ok) for c in calls
                )
                yield RunSeen(at_ms=0, calls=tuple(seen))
        for workflow in learned_from(self.dataset):
            if workflow.id in sources and workflow.id not in told:
                nodes = tuple(node for node in workflow.nodes if node in tools)
                calls_seen = tuple(CallSeen(tool=node, success=True) for node in nodes)
                yield RunSeen(
                    at_ms=0, calls=calls_seen, capability=capability_of(nodes).id, success=True
                )

    def _capability_vectors(
        self, graph: Hypergraph, known: Iterable[Example]
    ) -> Float32[np.ndarray, "capabilities dim"]:
        """Means of past intents and of what the tools are called, as unit vectors."""
        intents: dict[str, list[str]] = defaultdict(list)
        for example in known:
            if example.task is RankingTask.CAPABILITIES:
                for key in example.positives:
                    intents[key].append(example.intent)
        place = {tool: at for at, tool in enumerate(self.tools)}
        rows = np.zeros((len(graph.capabilities), self.dim), np.float32)
        for row, key in zip(rows, graph.capabilities, strict=True):
            named = [place[tool] for tool in self.members[key].tools if tool in place]
            parts = [self.encoded(intents[key]), self.tool_vectors[named].mean(axis=0)[None]]
            row[:] = np.concatenate(parts).mean(axis=0)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        rows /= np.maximum(lengths, np.float32(_LEAST_NORM))
        return rows


_LEAST_NORM = 1e-9


def _edge(source: str, target: str, kind: DependencyType) -> ToolDependency:
    return ToolDependency(
        source=source, target=target, type=kind, edge_source="observed", weight=kind.weight
    )


def _seen(call: Call) -> CallSeen:
    return CallSeen(tool=call.tool_id, arguments=call.arguments, success=call.ok)


def _at(run: RunSeen, at_ms: int) -> RunSeen:
    """Data sets tell no times: runs are taken to have come an hour apart, in their order."""
    return run if run.at_ms else replace(run, at_ms=at_ms)
