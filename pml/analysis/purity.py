"""Which expressions can change places: those that call nothing, wait for nothing, set nothing.

More is impure here than in truth: what is in doubt keeps its place.
"""

from pml.analysis.calls import Calls
from pml.analysis.syntax import CLASSES, Source, Syntax

_IMPURE = (
    "call_expression",
    "new_expression",
    "await_expression",
    "yield_expression",
    "assignment_expression",
    "augmented_assignment_expression",
    "update_expression",
    "spread_element",
    *CLASSES,
)


def impure_nodes(source: Source, calls: Calls) -> set[Syntax]:
    """All nodes with something impure inside, functions that are only made included.

    A tool that is handed on counts: its place decides its site's id.
    """
    found: set[Syntax] = set()
    deletions = [n for n in source.of_kinds("unary_expression") if "delete" in n.tokens]
    for start in (*source.of_kinds(*_IMPURE), *deletions, *(site.node for site in calls.sites)):
        node: Syntax | None = start
        while node is not None and node not in found:
            found.add(node)
            node = node.parent
    return found
