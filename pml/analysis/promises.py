"""Which expressions certainly are promises.

The call of a tool, of an async helper, of ``Promise.all`` is one; a name that holds only one, too.
"""

from collections.abc import Iterator

from pml.analysis.calls import Calls
from pml.analysis.functions import Functions, arguments_of, method_of, receiver_of
from pml.analysis.scope import Binding, Scopes
from pml.analysis.syntax import Source, Syntax, bare

_MAKING = frozenset({"all", "allSettled", "race", "any", "resolve", "reject"})
METHODS = frozenset({"then", "catch", "finally"})
_NAMES = frozenset({"identifier", "shorthand_property_identifier"})
_GIVING = _NAMES | {"call_expression", "ternary_expression", "new_expression"}
"""Expressions that may be promises."""


class Promises:
    """Says of expressions whether they certainly are promises; remembers its answers."""

    def __init__(self, source: Source, scopes: Scopes, functions: Functions, calls: Calls) -> None:
        self._source = source
        self._scopes = scopes
        self._functions = functions
        self._calls = calls
        self._known: dict[Syntax | Binding, bool] = {}

    def is_promise(self, expression: Syntax) -> bool:
        """Whether the expression is a promise whatever happens."""
        return self._remembered(bare(expression))

    def are_promises(self, expression: Syntax) -> bool:
        """Whether it is an array of promises: of ``map`` with an async function."""
        node = bare(expression)
        if node.kind in _NAMES:
            value = self._only_value(node)
            return value is not None and value.kind not in _NAMES and self.are_promises(value)
        if node.kind != "call_expression" or method_of(self._source, node) != "map":
            return False
        if "?." in self._source.text(node["function"]):
            return False
        given = arguments_of(node)
        function = self._functions.known(given[0]) if given else None
        return function is not None and self._gives_promise(function)

    def holders(self) -> Iterator[Binding]:
        """The variables that may hold a promise, or an array of them; of all others it is known."""
        for table in self._scopes.tables.values():
            for binding in table.values():
                value = _only_value_of(binding)
                if value is not None and value.kind in _GIVING:
                    yield binding

    def async_callback(self, call: Syntax) -> bool:
        """Whether the first argument of a call is certainly an async function."""
        given = arguments_of(call)
        function = self._functions.known(given[0]) if given else None
        return function is not None and _is_async(function)

    def _remembered(self, node: Syntax) -> bool:
        known = self._known.get(node)
        if known is None:
            self._known[node] = False  # what is defined by itself is not known
            known = self._known[node] = self._is_promise(node)
        return known

    def _is_promise(self, node: Syntax) -> bool:
        if node.kind == "call_expression":
            return self._call_gives_promise(node)
        if node.kind in _NAMES:
            value = self._only_value(node)
            return value is not None and self.is_promise(value)
        if node.kind == "ternary_expression":
            return self.is_promise(node["consequence"]) and self.is_promise(node["alternative"])
        return node.kind == "new_expression" and self._is_standard(node["constructor"], "Promise")

    def _call_gives_promise(self, call: Syntax) -> bool:
        site = self._calls.by_node.get(call)
        if site is not None:
            return site.call is not None and "?." not in self._source.text(site.expression)
        method = method_of(self._source, call)
        if method in METHODS:
            return self.is_promise(receiver_of(call))
        if method in _MAKING and self._is_standard(receiver_of(call), "Promise"):
            return True
        function = self._functions.called(call)
        return function is not None and self._gives_promise(function)

    def _gives_promise(self, function: Syntax) -> bool:
        if "*" in function.tokens or "generator" in function.kind:
            return False
        if _is_async(function):
            return True
        returned = self._functions.returned(function)
        return bool(returned) and all(map(self.is_promise, returned))

    def _only_value(self, name: Syntax) -> Syntax | None:
        """The one value that a variable ever has."""
        binding = self._scopes.binding(name)
        return None if binding is None else _only_value_of(binding)

    def _is_standard(self, node: Syntax, name: str) -> bool:
        node = bare(node)
        free = node.kind == "identifier" and self._scopes.binding(node) is None
        return free and self._source.text(node) == name


def _only_value_of(binding: Binding) -> Syntax | None:
    """The one value that a variable ever has."""
    if binding.kind not in {"lexical", "var"} or len(binding.definitions) != 1:
        return None
    only = binding.definitions[0]
    return None if only.path or only.weak else bare(only.value)


def _is_async(function: Syntax) -> bool:
    return (
        "async" in function.tokens
        and "*" not in function.tokens
        and ("generator" not in function.kind)
    )
