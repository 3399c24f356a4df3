"""Objects whose pairs may change places: nobody can tell in which order they stand (SA-8).

The order of keys is observable: ``Object.entries(o)``, ``JSON.stringify(o)``.  It is not in what
goes to a tool, since the members of a JSON object have no order there, as long as evaluating
the values cannot be observed either: literals, names and inputs only, at any depth.  What is
passed to a capability is seen by code, so it keeps its order.
"""

from collections.abc import Iterator

from pml.analysis.calls import Calls, Kind
from pml.analysis.inputs import Inputs
from pml.analysis.literals import NOT_LITERAL, literal
from pml.analysis.spelling import static_key
from pml.analysis.syntax import Source, Syntax, bare

_NAMES = frozenset({"identifier", "shorthand_property_identifier", "undefined"})


def unordered(source: Source, calls: Calls, read: Inputs) -> set[Syntax]:
    """The object literals whose pairs have no order."""
    found = _Unordered(source, calls, read)
    given = [
        site.arguments
        for site in calls.sites
        if site.handle.kind is Kind.TOOL and site.handle.certain
    ]
    return {
        node for arguments in given if len(arguments) == 1 for node in found.inside(arguments[0])
    }


class _Unordered:
    def __init__(self, source: Source, calls: Calls, read: Inputs) -> None:
        self._source = source
        self._handed = calls.by_node
        self._inputs = {} if read.whole else read.places

    def inside(self, expression: Syntax) -> Iterator[Syntax]:
        """The objects among the expression and the values in it."""
        node = bare(expression)
        if node.kind == "object":
            if self._is_plain(node) and self._has_distinct_keys(node):
                yield node
            for child in node.children:
                yield from self.inside(child.get("value") or child)
        elif node.kind == "array":
            for child in node.children:
                yield from self.inside(child)

    def _has_distinct_keys(self, node: Syntax) -> bool:
        """And they are certain, and none sets the prototype."""
        names = [static_key(self._source, child.get("key") or child) for child in node.children]
        return len(set(names)) == len(names) and None not in names and "__proto__" not in names

    def _is_plain(self, expression: Syntax) -> bool:
        """Whether evaluating it reads and does nothing that another value could change.

        A tool that is handed on has its place: that decides the id of its site.
        """
        node = bare(expression)
        if node in self._handed:
            return False
        if node.kind == "pair":
            return self._is_plain(node["value"])
        if node.kind in {"object", "array"}:
            return all(map(self._is_plain, node.children))
        is_read = node.kind in _NAMES or node in self._inputs
        return is_read or literal(self._source, node) is not NOT_LITERAL
