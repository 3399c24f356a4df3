"""Names of the columns of the feature matrices, in their order (LE-5).

Apart from what computes them (`pml.features.matrix`), because a trained model names its columns
where it serves, and no scipy is there.
"""

from pml.features.arguments import ARGUMENT_COLUMNS

_OF_RUNS = ("frequency", "recency", "activity", "heat", "association")
_RELIABILITY = ("reliability_rate", "reliability_lower", "reliability_evidence")
TOOL_COLUMNS: tuple[str, ...] = (
    *("pagerank", "community_share", "community_inside", "adamic_adar"),
    *_OF_RUNS,
    *_RELIABILITY,
    *ARGUMENT_COLUMNS,
)
CAPABILITY_COLUMNS: tuple[str, ...] = (
    *("hypergraph_pagerank", "cluster_share", "cluster_inside", "tools", "nested"),
    *_OF_RUNS,
    *_RELIABILITY,
    "reliability_weakest_tool",
    *ARGUMENT_COLUMNS,
)
