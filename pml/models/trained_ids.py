"""The nodes that a model was trained on: which row of its id embeddings is whose.

A row follows the id, not the node's number, so a graph may grow, shrink and renumber its nodes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import numpy as np
from jaxtyping import Int64

from pml.models.hypergraph import Hypergraph

UNKNOWN = -1
"""Row of a node that was never trained on; its id embedding is zero."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedIds:
    """Rows are those of the tools, then those of the capabilities.

    Kinds are kept apart because a tool and a capability may have the same id.

    Raises:
        ValueError: an id comes twice within its kind.
    """

    tools: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for kind, ids in (("tools", self.tools), ("capabilities", self.capabilities)):
            if len(set(ids)) != len(ids):
                twice = next(key for at, key in enumerate(ids) if key in ids[:at])
                msg = f"trained {kind} must not repeat an id, got {twice!r} twice"
                raise ValueError(msg)

    @classmethod
    def of(cls, graph: Hypergraph) -> "TrainedIds":
        """All nodes of a graph."""
        return cls(tools=graph.tools, capabilities=graph.capabilities)

    def __len__(self) -> int:
        return len(self.tools) + len(self.capabilities)

    def rows(self, graph: Hypergraph) -> Int64[np.ndarray, " nodes"]:
        """Row of each node of a graph; `UNKNOWN` where it has none."""
        return np.fromiter(self._rows(graph), dtype=np.int64, count=graph.nodes)

    def _rows(self, graph: Hypergraph) -> Iterator[int]:
        row = count()
        tools = {key: next(row) for key in self.tools}
        capabilities = {key: next(row) for key in self.capabilities}
        yield from (tools.get(key, UNKNOWN) for key in graph.tools)
        yield from (capabilities.get(key, UNKNOWN) for key in graph.capabilities)
