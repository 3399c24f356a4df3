"""Which code may throw an exception without a ``throw``: almost all that does something."""

from pml.analysis.syntax import FUNCTIONS, Syntax

_THROWING = frozenset(
    {
        "call_expression",
        "new_expression",
        "member_expression",
        "subscript_expression",
        "await_expression",
        "yield_expression",
        "spread_element",
        "object_pattern",
        "array_pattern",
        "for_in_statement",
        "throw_statement",
        "template_substitution",
        "class_heritage",
    }
)
"""Calls, access to what may be null, conversions and iteration; names and operators are safe."""


def may_throw(node: Syntax) -> bool:
    """Whether evaluating the node may throw; the bodies of functions do not run by that."""
    pending = [node]
    while pending:
        one = pending.pop()
        if one.kind in _THROWING:
            return True
        if one.kind not in FUNCTIONS:
            pending.extend(one.children)
    return False
