"""The nodes that a scorer scores: tools and capabilities that come, go and change while it serves.

The model is inductive: a node that was not there in training gets its state from its vector, its
features and whom it is linked to (its id embedding is zero).  Every change either succeeds or
leaves everything as it was.
"""

import numpy as np
from jaxtyping import Float32

from pml.features.members import Members
from pml.models.checked import checked_inputs
from pml.models.exported import ExportedShgat
from pml.models.hypergraph import Hypergraph
from pml.models.inputs import NodeInputs
from pml.models.nesting import Node, link, unlink
from pml.models.passes import Passes
from pml.models.projection import NodeKind, Projection
from pml.models.states import KeptStates


class ServedNodes:
    """All nodes, with their states.

    Invariant: states are those of a fresh pass over the present nodes, up to rounding.
    """

    def __init__(self, model: ExportedShgat, graph: Hypergraph, inputs: NodeInputs) -> None:
        """Pass over the graph, which need not be the one that the model was trained on.

        Raises:
            ValueError: inputs do not fit the graph or the model, or are not finite.
        """
        checked_inputs(model.config, graph, inputs)
        self._projection = Projection(model)
        self._states = KeptStates(
            Passes.of(model.parameters) if model.config.message_passing else None,
            graph,
            self._projection.states(graph, inputs.vectors),
            self._projection.terms(inputs),
        )

    @property
    def tools(self) -> tuple[str, ...]:
        """Ids in the order of scores.

        A new one comes last; where one is removed, the last takes its place.
        """
        return tuple(node.id for node in self._states.of(NodeKind.TOOLS).nodes)

    @property
    def capabilities(self) -> tuple[str, ...]:
        """Ids of all levels, ordered as `tools` are."""
        return tuple(node.id for node in self._states.of(NodeKind.CAPABILITIES).nodes)

    def place(self, kind: NodeKind, key: str) -> int | None:
        """Of a node among those of its kind; None of one that is not known."""
        node = self._states.of(kind).by_id.get(key)
        return None if node is None else node.row

    def rows(self, kind: NodeKind) -> Float32[np.ndarray, "nodes columns"]:
        """State and feature terms of all nodes of a kind; valid until the next change."""
        return self._states.of(kind).rows.values

    def called(self, tools: tuple[str, ...]) -> Float32[np.ndarray, "called width"]:
        """States of tools in this order; one that is not known is passed over."""
        known = self._states.of(NodeKind.TOOLS).by_id
        return self._states.states([known[key] for key in tools if key in known])

    def add_tool(
        self,
        key: str,
        vector: Float32[np.ndarray, " dim"],
        features: Float32[np.ndarray, " tool_columns"],
    ) -> None:
        """A tool that was not there.  Capabilities that name it get it by `change_members`.

        Raises:
            ValueError: it is known, or vector or features do not fit or are not finite.
        """
        self._add(NodeKind.TOOLS, key, (), vector, features)

    def add_capability(
        self,
        members: Members,
        vector: Float32[np.ndarray, " dim"],
        features: Float32[np.ndarray, " capability_columns"],
    ) -> None:
        """A capability that was not there; members that are not known are passed over.

        Raises:
            ValueError: as for a tool, or it contains itself.
        """
        if members.id in members.capabilities:
            msg = f"capability {members.id!r} contains itself"
            raise ValueError(msg)
        known = self._known(members)
        self._add(NodeKind.CAPABILITIES, members.id, known, vector, features)

    def change_tool(
        self,
        key: str,
        *,
        vector: Float32[np.ndarray, " dim"] | None = None,
        features: Float32[np.ndarray, " tool_columns"] | None = None,
    ) -> None:
        """Give a tool another vector, other features, or both.

        Raises:
            ValueError: it is not known, or they do not fit or are not finite.
        """
        self._change(NodeKind.TOOLS, key, vector, features)

    def change_capability(
        self,
        key: str,
        *,
        vector: Float32[np.ndarray, " dim"] | None = None,
        features: Float32[np.ndarray, " capability_columns"] | None = None,
    ) -> None:
        """As `change_tool`; a capability's vector changes with each new past intent."""
        self._change(NodeKind.CAPABILITIES, key, vector, features)

    def renew_features(
        self, kind: NodeKind, features: Float32[np.ndarray, "nodes columns"]
    ) -> None:
        """Give all nodes of a kind the features they have by now, in the order of their ids.

        What is told of runs fades with time, of all nodes at once.

        Raises:
            ValueError: they do not fit or are not finite.
        """
        states = self._states.of(kind)
        terms = self._projection.renewed(kind, features, len(states.nodes))
        states.rows.values[:, self._states.width :] = terms

    def change_members(self, members: Members) -> None:
        """Give a capability other members; those that are not known are passed over.

        Raises:
            ValueError: it is not known, or would contain itself.
        """
        node = self._node(NodeKind.CAPABILITIES, members.id)
        before = list(node.members)
        link(node, self._known(members))
        self._states.settle([node], before)

    def remove(self, kind: NodeKind, key: str) -> None:
        """Take a node away, and out of all capabilities.

        Raises:
            ValueError: it is not known.
        """
        node = self._node(kind, key)
        containers, members = list(node.containers), list(node.members)
        unlink(node)
        self._states.of(kind).drop(node)
        self._states.settle(containers, members)

    def _add(
        self,
        kind: NodeKind,
        key: str,
        members: list[Node] | tuple[()],
        vector: Float32[np.ndarray, " dim"],
        features: Float32[np.ndarray, " columns"],
    ) -> None:
        states = self._states.of(kind)
        if key in states.by_id:
            msg = f"there is {key!r} among the {kind}: change it instead"
            raise ValueError(msg)
        state = self._projection.state(kind, key, vector)
        terms = self._projection.term(kind, features)
        node = Node(id=key, level=0 if kind is NodeKind.TOOLS else 1, row=len(states.nodes))
        states.append(node, state, terms)
        if members:
            link(node, members)
            self._states.settle([node], ())

    def _change(
        self,
        kind: NodeKind,
        key: str,
        vector: Float32[np.ndarray, " dim"] | None,
        features: Float32[np.ndarray, " columns"] | None,
    ) -> None:
        node = self._node(kind, key)
        state = None if vector is None else self._projection.state(kind, key, vector)
        if features is not None:
            terms = self._projection.term(kind, features)
            self._states.put_terms(node, terms)
        if state is not None:
            self._states.of(kind).first.values[node.row] = state
            self._states.settle([node], ())

    def _known(self, members: Members) -> list[Node]:
        tools = self._states.of(NodeKind.TOOLS).by_id
        capabilities = self._states.of(NodeKind.CAPABILITIES).by_id
        return [
            *(tools[key] for key in members.tools if key in tools),
            *(capabilities[key] for key in members.capabilities if key in capabilities),
        ]

    def _node(self, kind: NodeKind, key: str) -> Node:
        node = self._states.of(kind).by_id.get(key)
        if node is None:
            msg = f"{key!r} is not among the {kind}"
            raise ValueError(msg)
        return node
