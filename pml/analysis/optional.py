"""Optional chains: ``a?.b.c(x)`` is one expression, of which ``?.`` skips all the rest."""

from pml.analysis.syntax import MEMBERS, Syntax

_LINKS = MEMBERS | {"call_expression"}
_IN_CHAIN = _LINKS | {"non_null_expression"}


def is_optional(link: Syntax) -> bool:
    """Whether the link itself is ``?.``."""
    return "optional_chain" in link.fields or "?." in link.tokens


def chain_link(node: Syntax) -> Syntax | None:
    """The next link outwards of the chain that the node is a part of; parentheses end it."""
    inner, outer = node, node.parent
    while outer is not None and outer.kind == "non_null_expression":
        inner, outer = outer, outer.parent
    if outer is None or outer.kind not in _LINKS:
        return None
    left = outer.get("function") if outer.kind == "call_expression" else outer.get("object")
    return outer if left is inner else None


def chain_top(link: Syntax) -> Syntax:
    """The whole chain."""
    while (outer := chain_link(link)) is not None:
        link = outer
    return link


def nearest_optional(link: Syntax) -> Syntax | None:
    """The outermost ``?.`` up to and with the link, in whose skip it takes part."""
    node: Syntax | None = link
    while node is not None and node.kind in _IN_CHAIN:
        if is_optional(node):
            return node
        if node.kind == "non_null_expression":
            node = node.children[0] if node.children else None
        else:
            node = node.get("function") if node.kind == "call_expression" else node.get("object")
    return None
