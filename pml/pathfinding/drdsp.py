"""DR-DSP: shortest hyperpaths over tools and capabilities, kept while the graph changes (LE-6).

The one idea: a node's value is the pair of its cost and its depth, compared in this order.  A
hyperedge gives its target its weight plus the costs of its sources, and one more than their
greatest depth.  Shortest hyperpaths from `START` are kept up to date (`tree`); from other nodes
they are searched (`search`).

Reference:
    Ramalingam, Reps. An incremental algorithm for a generalization of the shortest-path problem.
    Journal of Algorithms 21(2), 1996.  Knuth 1977 and Gallo et al. 1993: see `search`.
    Gao et al. Dynamic shortest path algorithms for hypergraphs. IEEE/ACM Transactions on
    Networking 23(6), 2015 (arXiv:1202.0082) treat hyperedges without direction, of which one
    source is enough; their name for it, DR-DSP, is kept, the algorithm is not.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import assert_never

import numpy as np
from jaxtyping import Float64, Int32, Int64

from pml.domain.capability import NewCapability
from pml.domain.provides import ProvidesEdge
from pml.domain.tools import Tool
from pml.domain.trace import ToolDependency
from pml.pathfinding.build import CanGive, hyperedges_of, not_provided
from pml.pathfinding.costs import Cost, LogCost
from pml.pathfinding.hypergraph import Hypergraph, check_weight, flat
from pml.pathfinding.hypothetical import hypothetical, tool_sets
from pml.pathfinding.ranked import Found, ranked
from pml.pathfinding.records import (
    START,
    Action,
    Hyperedge,
    HyperedgeKind,
    HyperedgeUpdate,
    Hyperpath,
)
from pml.pathfinding.values import Values


class DRDSP:
    """A hypergraph and its shortest hyperpaths.

    Invariant: what is kept under updates equals, bit for bit, what a new graph of the same
    hyperedges would hold; `values` says why.

    Which path is found depends on the hyperedges alone, not on the order in which they came: of
    those that give a node its value, the one with the least hash of its id enters it.
    """

    def __init__(self) -> None:
        self._graph = Hypergraph()
        self._graph.add_nodes([START])
        self._values = Values(self._graph, self._graph.number(START))
        self._known: frozenset[frozenset[str]] | None = None
        """Tools of each capability, once somebody asked."""

    @classmethod
    def build_from_capabilities(
        cls,
        capabilities: Iterable[NewCapability],
        tools: Iterable[Tool],
        *,
        provides: Iterable[ProvidesEdge] = (),
        dependencies: Iterable[ToolDependency] = (),
        cost: Cost | None = None,
        can_give: CanGive | None = None,
    ) -> "DRDSP":
        """The graph of tools and capabilities; nodes are their ids (`build` has the rules).

        Args:
            capabilities: with their structure.
            tools: all that may be called.
            provides: what one tool's result covers of another's input.
            dependencies: of type ``dependency``: the target needs the source.  Others are ignored.
            cost: in what unit paths are compared; `LogCost` unless given.
            can_give: which inputs the caller can give; those that no tool provides unless given.

        Raises:
            ValueError: ids repeat, a capability contains itself, or the cost gives no weight.
        """
        tools, provides = tuple(tools), tuple(provides)
        edges = hyperedges_of(
            tuple(capabilities),
            tools,
            provides=provides,
            dependencies=dependencies,
            cost=LogCost() if cost is None else cost,
            can_give=not_provided(provides) if can_give is None else can_give,
        )
        return cls.from_hyperedges(edges, nodes=(tool.id for tool in tools))

    @classmethod
    def from_hyperedges(
        cls, hyperedges: Iterable[Hyperedge], *, nodes: Iterable[str] = ()
    ) -> "DRDSP":
        """A graph of these hyperedges; ``nodes`` may name some that are on none.

        Raises:
            ValueError: ids repeat, or a hyperedge breaks `Hyperedge`'s invariant.
        """
        edges = tuple(hyperedges)
        names = tuple(dict.fromkeys((START, *nodes, *flat(edges))))
        numbers = {name: number for number, name in enumerate(names)}
        sizes = [len(edge.sources) for edge in edges]
        tails = [numbers[name] for edge in edges for name in edge.sources]
        return cls.from_arrays(
            heads=np.array([numbers[edge.target] for edge in edges], dtype=np.int32),
            offsets=np.concatenate(([0], np.cumsum(sizes, dtype=np.int64))).astype(np.int64),
            tails=np.array(tails, dtype=np.int32),
            weights=np.array([edge.weight for edge in edges], dtype=np.float64),
            nodes=names,
            ids=[edge.id for edge in edges],
            kinds=[edge.kind for edge in edges],
        )

    @classmethod
    def from_arrays(
        cls,
        *,
        heads: Int32[np.ndarray, " edges"],
        offsets: Int64[np.ndarray, " bounds"],
        tails: Int32[np.ndarray, " slots"],
        weights: Float64[np.ndarray, " edges"],
        nodes: Sequence[str],
        ids: Sequence[str] | None = None,
        kinds: Sequence[HyperedgeKind] | None = None,
    ) -> "DRDSP":
        """A graph of many hyperedges.

        The sources of hyperedge ``i`` are ``tails[offsets[i]:offsets[i + 1]]``.

        Args:
            heads: targets, as positions in ``nodes``.
            offsets: one more than there are hyperedges.
            tails: sources, as positions in ``nodes``.
            weights: by hyperedge.
            nodes: names, the first of which is `START`.
            ids: of hyperedges; "0", "1", ... unless given.
            kinds: of hyperedges; `HyperedgeKind.OTHER` unless given.

        Raises:
            ValueError: names or ids repeat, arrays do not fit together, or a hyperedge breaks
                `Hyperedge`'s invariant.
        """
        made = cls()
        if not nodes or nodes[0] != START or len(set(nodes)) < len(nodes):
            msg = f"nodes are different names, the first of which is {START!r}"
            raise ValueError(msg)
        made._graph.add_nodes(nodes)
        made._graph.load(
            heads=heads,
            offsets=offsets,
            tails=tails,
            weights=weights,
            ids=[str(number) for number in range(len(heads))] if ids is None else ids,
            kinds=[HyperedgeKind.OTHER] * len(heads) if kinds is None else kinds,
        )
        made._values = Values(made._graph, made._graph.number(START))
        return made

    def __len__(self) -> int:
        """Number of hyperedges."""
        return len(self._graph.ids)

    def __contains__(self, node: str) -> bool:
        """Whether there is such a node."""
        return node in self._graph.nodes

    @property
    def nodes(self) -> tuple[str, ...]:
        """All nodes, `START` first, then in the order in which they came."""
        return tuple(self._graph.names)

    def hyperedges(self) -> Iterator[Hyperedge]:
        """All hyperedges, in no particular order."""
        return map(self._graph.hyperedge, self._graph.ids.values())

    def cost(self, target: str) -> float | None:
        """The cost of reaching a node from `START`; None if it cannot be reached.

        Raises:
            ValueError: there is no such node.
        """
        return self._values.cost(self._graph.number(target))

    def find_shortest_hyperpath(self, sources: Collection[str], target: str) -> Hyperpath | None:
        """The cheapest way to the target when the sources, and nothing else, are reached.

        From `START` alone it is read off the tree, in time that grows with the path; from
        elsewhere it is searched, in time that grows with what is nearer than the target.

        Raises:
            ValueError: there is no such node.
        """
        given, number = self._given(sources), self._graph.number(target)
        if sources and set(sources) == {START}:
            found = self._values.of_tree(number)
        else:
            found = self._values.solve(given, number, {}, frozenset())
        return None if found is None else self._hyperpath(found, number)

    def k_shortest(self, sources: Collection[str], target: str, k: int) -> tuple[Hyperpath, ...]:
        """The ``k`` cheapest hyperpaths, or all if there are fewer, by cost; see `ranked`.

        Raises:
            ValueError: there is no such node, or ``k`` is negative.
        """
        if k < 0:
            msg = f"k is at least 0, not {k}"
            raise ValueError(msg)
        return tuple(islice(self.ranked(sources, target), k))

    def ranked(self, sources: Collection[str], target: str) -> Iterator[Hyperpath]:
        """All hyperpaths by cost, each computed when it is asked for.

        The graph must not change meanwhile.

        Raises:
            ValueError: there is no such node.
        """
        given, number = self._given(sources), self._graph.number(target)
        paths = ranked(lambda forced, banned: self._values.solve(given, number, forced, banned))
        return (self._hyperpath(found, number) for found in paths)

    def find_hypothetical_paths(
        self,
        sources: Collection[str],
        targets: Iterable[str],
        *,
        max_paths: int = 3,
        max_depth: int = 5,
    ) -> tuple[Hyperpath, ...]:
        """Ways to some of the targets that no capability goes yet, by cost (XP-1).

        Args:
            sources: what is reached.
            targets: tools or capabilities that may serve, the likeliest first; those that are not
                in the graph are passed over.
            max_paths: how many are wanted.
            max_depth: of a path, `START` not counted.

        Raises:
            ValueError: a source is no node, or a limit is negative.
        """
        known = [target for target in dict.fromkeys(targets) if target in self]
        return hypothetical(
            {target: self.ranked(sources, target) for target in known},
            self._is_known,
            max_paths=max_paths,
            max_depth=max_depth,
        )

    def apply_update(self, update: HyperedgeUpdate) -> int:
        """Change the graph and repair the tree; returns how many values that changed on the way.

        Raises:
            ValueError: the update does not fit the graph, which is then as it was.
        """
        changed = self._changed(update)
        self._known = None
        return changed

    def reweight(self, weights: Mapping[str, float]) -> int:
        """Give many hyperedges other weights, and repair the tree once for all of them.

        Args:
            weights: by id of the hyperedge.

        Raises:
            ValueError: an id is unknown, or a weight is none; then nothing has changed.
        """
        edges = [self._graph.edge_number(hyperedge_id) for hyperedge_id in weights]
        for hyperedge_id, weight in weights.items():
            check_weight(weight, hyperedge_id)
        return self._values.reweight(
            np.array(edges, dtype=np.int32), np.array(list(weights.values()), dtype=np.float64)
        )

    def _changed(self, update: HyperedgeUpdate) -> int:
        match update.action:
            case Action.INSERT:
                return self._insert(update)
            case Action.DELETE:
                return self._delete(update.id)
            case Action.REWEIGHT:
                return self._reweight(update)
            case never:
                assert_never(never)

    def _insert(self, update: HyperedgeUpdate) -> int:
        if update.hyperedge is None:
            msg = f"the update {update.id!r} inserts no hyperedge"
            raise ValueError(msg)
        return self._values.insert(self._graph.add(update.hyperedge))

    def _delete(self, hyperedge_id: str) -> int:
        return self._values.delete(self._graph.edge_number(hyperedge_id))

    def _reweight(self, update: HyperedgeUpdate) -> int:
        if update.weight is None:
            msg = f"the update {update.id!r} has no weight"
            raise ValueError(msg)
        return self.reweight({update.id: update.weight})

    def _given(self, sources: Collection[str]) -> Int32[np.ndarray, " given"]:
        if isinstance(sources, str):
            msg = f"sources are a collection of nodes, not the text {sources!r}"
            raise ValueError(msg)  # noqa: TRY004  # a wrong argument is a ValueError here
        numbers = [self._graph.number(node) for node in dict.fromkeys(sources)]
        return np.array(numbers, dtype=np.int32)

    def _hyperpath(self, found: Found, target: int) -> Hyperpath:
        edges = tuple(map(self._graph.hyperedge, found.edges))
        name = self._graph.names[target]
        return Hyperpath(
            target=name,
            hyperedges=edges,
            nodes=tuple(dict.fromkeys(flat(edges))) or (name,),
            cost=found.cost,
            distinct_weight=sum(edge.weight for edge in edges),
            depth=found.depth,
        )

    def _is_known(self, tools: frozenset[str]) -> bool:
        """Whether some capability calls exactly these."""
        if self._known is None:
            members = [edge for edge in self.hyperedges() if edge.kind is HyperedgeKind.MEMBERS]
            self._known = tool_sets(members)
        return tools in self._known
