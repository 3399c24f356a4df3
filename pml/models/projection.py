"""What of a node is known by itself: its state before any message, the terms of its features."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from jaxtyping import Float32

from pml.features.columns import CAPABILITY_COLUMNS, TOOL_COLUMNS
from pml.features.standardising import Standardiser
from pml.models.checked import check_finite, check_shape
from pml.models.config import ShgatConfig
from pml.models.exported import ExportedShgat
from pml.models.hypergraph import Hypergraph
from pml.models.inputs import NodeInputs, columns_of

Parameters = Mapping[str, Float32[np.ndarray, "..."]]
"""By the names of `pml.models.config.parameter_shapes`."""


class NodeKind(StrEnum):
    """As names of parameters call them."""

    TOOLS = "tools"
    CAPABILITIES = "capabilities"


_COLUMNS = {NodeKind.TOOLS: TOOL_COLUMNS, NodeKind.CAPABILITIES: CAPABILITY_COLUMNS}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FeatureTerms:
    """What of a node's features goes into its row, for nodes of one kind."""

    standardiser: Standardiser | None
    """None where the model has no feature heads."""
    heads: tuple[tuple[Sequence[int], np.ndarray, np.ndarray], ...]
    """Per head: places of its columns, weight, bias."""

    @classmethod
    def of(cls, config: ShgatConfig, parameters: Parameters, kind: NodeKind) -> "FeatureTerms":
        """Of the nodes of a kind."""
        if not config.feature_dim:
            return cls(standardiser=None, heads=())
        return cls(
            standardiser=Standardiser(
                mean=parameters[f"standardise.{kind}.mean"],
                deviation=parameters[f"standardise.{kind}.deviation"],
            ),
            heads=tuple(
                (
                    columns_of(head, _COLUMNS[kind]),
                    parameters[f"features.{head}.{kind}.weight"],
                    parameters[f"features.{head}.{kind}.bias"],
                )
                for head in config.feature_heads
            ),
        )

    def terms(
        self, features: Float32[np.ndarray, "nodes columns"]
    ) -> Float32[np.ndarray, "nodes terms"]:
        """Those of all heads side by side."""
        parts = [np.empty((len(features), 0), np.float32)]
        if self.standardiser is not None:
            known = self.standardiser.apply(features)
            parts += [
                np.tanh(known[:, places] @ weight.T + bias) for places, weight, bias in self.heads
            ]
        return np.concatenate(parts, axis=1)


class Projection:
    """From vectors and features to states and terms, for nodes trained on and for new ones."""

    def __init__(self, model: ExportedShgat) -> None:
        config, parameters = model.config, model.parameters
        self._dim = config.dim
        self._trained = model.trained
        self._weights = {kind: parameters[f"project.{kind}.weight"] for kind in NodeKind}
        self._terms = {kind: FeatureTerms.of(config, parameters, kind) for kind in NodeKind}
        self._table = parameters["id_embedding.weight"] if config.id_embeddings else None
        ids = (
            *((NodeKind.TOOLS, key) for key in model.trained.tools),
            *((NodeKind.CAPABILITIES, key) for key in model.trained.capabilities),
        )
        self._rows = {of: row for row, of in enumerate(ids)}

    def states(
        self, graph: Hypergraph, vectors: Float32[np.ndarray, "nodes dim"]
    ) -> Float32[np.ndarray, "nodes width"]:
        """Of all nodes of a graph, before any message."""
        tools = len(graph.tools)
        states = np.concatenate(
            [
                vectors[:tools] @ self._weights[NodeKind.TOOLS].T,
                vectors[tools:] @ self._weights[NodeKind.CAPABILITIES].T,
            ]
        )
        if self._table is not None:
            rows = self._trained.rows(graph)
            known = rows >= 0
            states[known] += self._table[rows[known]]
        return states

    def state(
        self, kind: NodeKind, key: str, vector: Float32[np.ndarray, " dim"]
    ) -> Float32[np.ndarray, " width"]:
        """Of one node.

        Raises:
            ValueError: the vector is of another dimension, or not finite.
        """
        check_shape("vector", vector, (self._dim,), ("dim",))
        check_finite("vector", vector)
        state: Float32[np.ndarray, " width"] = np.vecdot(self._weights[kind], vector)
        row = self._rows.get((kind, key))
        if row is not None and self._table is not None:
            state += self._table[row]
        return state

    def terms(
        self, inputs: NodeInputs
    ) -> tuple[Float32[np.ndarray, "tools terms"], Float32[np.ndarray, "capabilities terms"]]:
        """Of all tools, and of all capabilities."""
        return (
            self._terms[NodeKind.TOOLS].terms(inputs.tool_features),
            self._terms[NodeKind.CAPABILITIES].terms(inputs.capability_features),
        )

    def term(
        self, kind: NodeKind, features: Float32[np.ndarray, " columns"]
    ) -> Float32[np.ndarray, " terms"]:
        """Of one node; raises as `renewed`."""
        terms: Float32[np.ndarray, " terms"] = self.renewed(kind, features[None], 1)[0]
        return terms

    def renewed(
        self, kind: NodeKind, features: Float32[np.ndarray, "nodes columns"], nodes: int
    ) -> Float32[np.ndarray, "nodes terms"]:
        """Of so many nodes.

        Raises:
            ValueError: there are more or fewer rows, more or fewer columns than of that kind, or
                one is not finite.
        """
        check_shape("features", features, (nodes, len(_COLUMNS[kind])), ("nodes", "columns"))
        check_finite("features", features)
        return self._terms[kind].terms(features)
