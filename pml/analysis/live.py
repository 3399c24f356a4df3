"""Which parts of the tree matter for control flow: the others are never visited.

A node is live if it holds a call site, a call of a function that does, a use of a variable
that may hold a running call, or a statement that leaves its place (return, throw, break,
continue).
"""

from collections.abc import Iterable

from pml.analysis.calls import Calls
from pml.analysis.functions import method_of
from pml.analysis.literals import key_name
from pml.analysis.scope import Scopes, pattern_names
from pml.analysis.syntax import FUNCTIONS, MEMBERS, Source, Syntax, wrapped

_LEAVING = ("return_statement", "throw_statement", "break_statement", "continue_statement")

_GIVEN = {
    "variable_declarator": (("value", "name"),),
    "assignment_expression": (("right", "left"),),
    "for_in_statement": (("right", "left"),),
}
"""Where a value is given to names: the field of the value and that of the names."""


class Live:
    """The live nodes of a source.

    ``holds_call`` are those with a site or a helper's call inside, ``functions`` the functions
    that call tools, ``methods`` those of them that are reached as ``x.name(...)``.
    """

    def __init__(self, source: Source, scopes: Scopes, calls: Calls) -> None:
        self._source = source
        self._scopes = scopes
        self._calls_by_method: dict[str, list[Syntax]] | None = None
        self.nodes: set[Syntax] = set()
        self.holds_call: dict[Syntax, bool] = {}
        self.functions: set[Syntax] = set()
        self.methods: dict[str, Syntax] = {}
        self._pending: list[tuple[Syntax, bool]] = []
        for site in calls.sites:
            self._climb(site.node, carries=True)
        while self._pending:
            node, carries = self._pending.pop()
            self._climb(node, carries=carries)
        self.nodes.update(self.holds_call)
        for node in source.of_kinds(*_LEAVING):
            self._climb_leaving(node)

    def __contains__(self, node: Syntax) -> bool:
        return node in self.nodes

    def any_call(self, nodes: Iterable[Syntax | None]) -> bool:
        """Whether a call lies in one of the nodes."""
        return any(node is not None and node in self.holds_call for node in nodes)

    def _climb(self, start: Syntax, *, carries: bool) -> None:
        """Mark from a call outwards; ``carries`` while the value may be a running call."""
        node: Syntax | None = start
        while node is not None:
            if node in self.holds_call and (self.holds_call[node] or not carries):
                return
            self.holds_call[node] = carries
            if node.kind in FUNCTIONS:
                self._reach_function(node)
                carries = True  # what the function gives back may run
                if node.parent is not None:
                    self._carry(node, node.parent)
            elif node.kind == "await_expression":
                carries = False
            elif carries and node.parent is not None:
                self._carry(node, node.parent)
            node = node.parent

    def _climb_leaving(self, start: Syntax) -> None:
        node: Syntax | None = start
        while node is not None and node not in self.nodes and node.kind not in FUNCTIONS:
            self.nodes.add(node)
            node = node.parent

    def _carry(self, node: Syntax, parent: Syntax) -> None:
        """A running call is given to names: what uses these is live too."""
        pattern = None
        for given, names in _GIVEN.get(parent.kind, ()):
            if parent.get(given) is node:
                pattern = parent[names]
        if parent.kind == "arguments" and parent.parent is not None:
            callee = parent.parent.get("function")
            if callee is not None and callee.kind in MEMBERS:
                pattern = callee["object"]
        if pattern is None:
            return
        for target, _path, _default in pattern_names(self._source, pattern):
            binding = self._scopes.holder(target)
            if binding is not None:
                self._pending.extend((use, True) for use in binding.uses)

    def _reach_function(self, function: Syntax) -> None:
        """A function calls tools: so does whatever calls or names it."""
        self.functions.add(function)
        name = function.get("name")
        place = wrapped(function)
        parent = place.parent
        if function.kind == "method_definition" and name is not None:
            self._reach_method(key_name(self._source, name), function)
            return
        if parent is not None and parent.kind in {"pair", "public_field_definition"}:
            key = parent.get("key") or parent.get("name")
            if key is not None:
                self._reach_method(key_name(self._source, key), function)
        if parent is not None and parent.kind == "variable_declarator":
            name = parent["name"]
        elif parent is not None and parent.kind == "assignment_expression":
            name = parent["left"]
        binding = None if name is None else self._scopes.targets.get(name)
        if binding is not None:
            self._pending.extend((use, True) for use in binding.uses)

    def _reach_method(self, name: str | None, function: Syntax) -> None:
        if name is None or name in self.methods:
            return
        self.methods[name] = function
        if self._calls_by_method is None:
            self._calls_by_method = {}
            for call in self._source.of_kinds("call_expression"):
                method = method_of(self._source, call)
                if method is not None:
                    self._calls_by_method.setdefault(method, []).append(call)
        self._pending.extend((call, True) for call in self._calls_by_method.get(name, ()))
