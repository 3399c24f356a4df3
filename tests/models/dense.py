"""SHGAT once more, dense and in loops: the oracle of the torch model and of the numpy scorer.

Written from the formulas of `pml.models.config` and nothing else: masks instead of lists of pairs,
one softmax per target, one number per query and candidate.  Double precision throughout.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pml.features.columns import CAPABILITY_COLUMNS, TOOL_COLUMNS
from pml.models.config import ShgatConfig
from pml.models.hypergraph import Hypergraph
from pml.models.inputs import NodeInputs, Queries, RankingTask, columns_of
from pml.models.trained_ids import TrainedIds


@dataclass(frozen=True, kw_only=True)
class Dense:
    """A model with its graph."""

    config: ShgatConfig
    parameters: Mapping[str, np.ndarray]
    trained: TrainedIds
    graph: Hypergraph
    inputs: NodeInputs

    @cached_property
    def states(self) -> np.ndarray:
        """Of all nodes, (nodes, width)."""
        graph, states = self.graph, self._projected()
        if not self.config.message_passing:
            return states
        contains = np.zeros((graph.nodes, graph.nodes), dtype=bool)
        contains[graph.containers, graph.members] = True
        level = np.array([number for number, ids in enumerate(graph.levels) for _ in ids])
        for number in range(1, len(graph.levels)):
            states = self._attended("up", states, contains & (level == number)[:, np.newaxis])
        for number in reversed(range(len(graph.levels) - 1)):
            states = self._attended("down", states, contains.T & (level == number)[:, np.newaxis])
        return states

    def terms(self, task: RankingTask, queries: Queries) -> np.ndarray:
        """Of the scores, (terms, queries, candidates), in the order of `contribution_names`."""
        tools, nodes = len(self.graph.tools), self.graph.nodes
        first, last = (tools, nodes) if task is RankingTask.CAPABILITIES else (0, tools)
        every = [
            [self._terms(task, queries, query, place) for place in range(last - first)]
            for query in range(len(queries.vectors))
        ]
        heads = len(self.config.feature_heads) if self.config.feature_dim else 0
        shape = (len(queries.vectors), last - first, self.config.heads + heads + 2)
        return np.array(every, dtype=np.float64).reshape(shape).transpose(2, 0, 1)

    def _projected(self) -> np.ndarray:
        own = {("tools", key): row for row, key in enumerate(self.trained.tools)}
        for row, key in enumerate(self.trained.capabilities, start=len(own)):
            own["capabilities", key] = row
        nodes = [("tools", key) for key in self.graph.tools]
        nodes += [("capabilities", key) for key in self.graph.capabilities]
        states = np.zeros((len(nodes), self.config.width))
        for at, node in enumerate(nodes):
            states[at] = self.parameters[f"project.{node[0]}.weight"] @ self.inputs.vectors[at]
            if self.config.id_embeddings and node in own:
                states[at] += self.parameters["id_embedding.weight"][own[node]]
        return states

    def _attended(self, direction: str, states: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """After the rows of ``mask`` (nodes, nodes) have attended to its columns."""
        of, split = self.parameters, (-1, self.config.heads, self.config.head_dim)
        values = (states @ of[f"{direction}.source.weight"].T).reshape(split)
        queries = (states @ of[f"{direction}.target.weight"].T).reshape(split)
        after = states.reshape(split).copy()
        for target in np.flatnonzero(mask.any(axis=1)):
            sources = np.flatnonzero(mask[target])
            for head in range(self.config.heads):
                both = values[sources, head] + queries[target, head]
                logits = np.where(both > 0, both, 0.2 * both) @ of[f"{direction}.score"][head]
                weights = np.exp(logits - logits.max())
                weights /= weights.sum()
                after[target, head] += of[f"{direction}.gate"][head] * (
                    weights @ values[sources, head]
                )
        return after.reshape(states.shape)

    def _terms(self, task: RankingTask, queries: Queries, query: int, place: int) -> list[float]:
        of, width = self.parameters, self.config.head_dim
        first = len(self.graph.tools) if task is RankingTask.CAPABILITIES else 0
        state, vector = self.states[first + place], queries.vectors[query].astype(np.float64)
        asked = of[f"query.{task}.weight"] @ vector
        if task is RankingTask.NEXT_TOOL and len(queries.prefixes[query]):
            called = self.states[queries.prefixes[query]]
            asked = asked + of["last.weight"] @ called[-1] + of["mean.weight"] @ called.mean(axis=0)
        starts = range(0, self.config.width, width)
        alike = [asked[at : at + width] @ state[at : at + width] / width**0.5 for at in starts]
        weights = of[f"evidence.{task}.by_stats"] @ queries.stats[query]
        said = (of[f"evidence.{task}.base"] + weights) @ queries.evidence[query, place]
        return [*alike, *self._feature_terms(task, vector, place), said, of[f"bias.{task}"][0]]

    def _feature_terms(self, task: RankingTask, vector: np.ndarray, place: int) -> list[float]:
        of, config = self.parameters, self.config
        if not config.feature_dim:
            return []
        kind, columns, features = "tools", TOOL_COLUMNS, self.inputs.tool_features
        if task is RankingTask.CAPABILITIES:
            kind, columns = "capabilities", CAPABILITY_COLUMNS
            features = self.inputs.capability_features
        standardised = features[place] - of[f"standardise.{kind}.mean"]
        standardised = np.clip(standardised / of[f"standardise.{kind}.deviation"], -5, 5)
        terms = []
        for family in config.feature_heads:
            own, head = standardised[columns_of(family, columns)], f"features.{family}"
            made = np.tanh(of[f"{head}.{kind}.weight"] @ own + of[f"{head}.{kind}.bias"])
            wanted = of[f"{head}.query.{task}.weight"] @ vector
            terms.append((wanted + of[f"{head}.query.{task}.bias"]) @ made)
        return terms
