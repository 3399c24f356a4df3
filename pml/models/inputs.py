"""What SHGAT is given: a vector and features per node, and per query what retrievers say.

Arrays only: texts were encoded, features computed (`pml.features.matrix`) and retrievers asked
(`pml.discovery`) before.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from jaxtyping import Float32, Int64

from pml.features.columns import CAPABILITY_COLUMNS, TOOL_COLUMNS


class RankingTask(StrEnum):
    """What is ranked for a query."""

    TOOLS = "tools"
    """Which tools serve the intent; candidates are the tools."""
    CAPABILITIES = "capabilities"
    """Which capability serves the intent; candidates are the capabilities of all levels."""
    NEXT_TOOL = "next_tool"
    """Which tool is called next, after those of the prefix; candidates are the tools."""


class FeatureHead(StrEnum):
    """Families of features; each is a head of its own (LE-5)."""

    STRUCTURE = "structure"
    TEMPORAL = "temporal"
    RELIABILITY = "reliability"
    ARGUMENTS = "arguments"


_TEMPORAL = ("frequency", "recency", "activity", "heat", "association")


def head_of(column: str) -> FeatureHead:
    """The head that a column of `pml.features.matrix` belongs to."""
    if column in _TEMPORAL:
        return FeatureHead.TEMPORAL
    for head in (FeatureHead.RELIABILITY, FeatureHead.ARGUMENTS):
        if column.startswith(head):
            return head
    return FeatureHead.STRUCTURE


def columns_of(head: FeatureHead, columns: tuple[str, ...]) -> list[int]:
    """Places of a head's columns among ``columns``."""
    return [place for place, column in enumerate(columns) if head_of(column) is head]


TOOL_WIDTHS: Mapping[FeatureHead, int] = {
    head: len(columns_of(head, TOOL_COLUMNS)) for head in FeatureHead
}
CAPABILITY_WIDTHS: Mapping[FeatureHead, int] = {
    head: len(columns_of(head, CAPABILITY_COLUMNS)) for head in FeatureHead
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NodeInputs:
    """Of all nodes of a hypergraph, in the order of their numbers.

    Invariant: all values are finite.  (`checked_inputs` raises where they are not.)
    """

    vectors: Float32[np.ndarray, "nodes dim"]
    """Of the encoder: of a tool its text's, of a capability the mean of its past intents' and of
    its name's; zeros where nothing is known."""
    tool_features: Float32[np.ndarray, "tools tool_columns"]
    """Columns are `TOOL_COLUMNS`."""
    capability_features: Float32[np.ndarray, "capabilities capability_columns"]
    """Columns are `CAPABILITY_COLUMNS`."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Queries:
    """Some queries of one task, with what retrievers say of the candidates.

    ``candidates`` are all nodes of the task's kind, in the order of their numbers.
    """

    vectors: Float32[np.ndarray, "queries dim"]
    """Of the intents, by the encoder of the nodes' vectors."""
    evidence: Float32[np.ndarray, "queries candidates columns"]
    """What retrievers say, each column about from 0 to 1, 0 where a retriever says nothing."""
    stats: Float32[np.ndarray, "queries stats"]
    """What is known of the query as a whole, by which evidence is weighed (how alike the nearest
    past intent is, ...)."""
    prefixes: tuple[Int64[np.ndarray, " _"], ...] = ()
    """Numbers of the tools called so far, the earliest first, one array per query; empty unless the
    task is `RankingTask.NEXT_TOOL`."""
