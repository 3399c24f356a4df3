"""The values of a source as nodes of a graph, and what names and targets have to do with them.

A part of `pml.analysis.taint`, which goes through the code and says what flows where.
"""

from bisect import bisect_left

from pml.analysis.calls import Calls, Site
from pml.analysis.effects import Effects
from pml.analysis.functions import Functions
from pml.analysis.globals import STANDARD
from pml.analysis.order import Order
from pml.analysis.patterns import pattern_names
from pml.analysis.scope import Binding, Scopes
from pml.analysis.shared import Shared
from pml.analysis.standard import UNTRACEABLE
from pml.analysis.syntax import CLASSES, FUNCTIONS, MEMBERS, Source, Syntax, bare
from pml.analysis.valuegraph import NOTHING
from pml.analysis.versions import Versions

_NAMES = frozenset({"identifier", "shorthand_property_identifier"})


class Held:
    """For every expression that was visited the node of what it holds."""

    def __init__(
        self,
        source: Source,
        scopes: Scopes,
        functions: Functions,
        calls: Calls,
        shared: Shared,
    ) -> None:
        self._source = source
        self._scopes = scopes
        self._functions = functions
        self._calls = calls
        self._methods = shared.methods
        self._effects = Effects(source, scopes, functions, calls, shared)
        self._graph = self._effects.graph
        self._bound = self._effects.bound
        self._unfollowed, self._failed = self._effects.unfollowed, self._effects.failed
        self.order = Order(calls.sites)
        self._versions = Versions()
        self._of: dict[Syntax, int] = {}
        self._given: dict[Site, int] = {}
        self._this: dict[Syntax, int] = {}
        self._free: dict[str, int] = {}

    # Names

    def name(self, node: Syntax) -> int:
        """What a name holds where it stands."""
        if node in self._scopes.targets:
            return self._bound[self._scopes.targets[node]]
        binding = self._scopes.binding(node)
        if binding is not None:
            return self._versions.of_use.get(node, NOTHING)
        return self._outside(self._source.name(node))

    def _outside(self, name: str) -> int:
        if name in UNTRACEABLE:
            return self._unfollowed
        if name not in self._free:
            self._free[name] = self._graph.new()
            if name not in STANDARD:
                self._graph.flow(self._unfollowed, self._free[name])
        return self._free[name]

    def whose(self, node: Syntax) -> int:
        """``this``: of a class, or of whatever a function is called on."""
        for outer in node.ancestors():
            if outer.kind in CLASSES:
                return self._instance(outer)
            is_method = outer.kind == "method_definition"
            if is_method and outer.parent is not None and outer.parent.kind == "object":
                return self._instance(outer.parent)
            if outer.kind in FUNCTIONS and outer.kind != "arrow_function" and not is_method:
                return self._unfollowed
        return self._unfollowed

    def _instance(self, owner: Syntax) -> int:
        if owner not in self._this:
            self._this[owner] = self._graph.new()
        return self._this[owner]

    # What is set

    def _give(self, target: Syntax, value: int) -> None:
        """A target of a pattern gets a value, at whatever place."""
        if target in self._scopes.targets:
            self._give_all(self._scopes.targets[target], value)
        else:
            self._set(bare(target), value)

    def _give_all(self, binding: Binding, value: int) -> None:
        """Every use of a variable may see a value."""
        self._graph.flow(value, self._bound[binding])
        for use in binding.uses:
            self._graph.flow(value, self._versions.of_use.get(use, NOTHING))

    def _set(self, target: Syntax, value: int) -> None:
        if target.kind in MEMBERS:
            holder = self._of.get(target, NOTHING)
            self._graph.store(value, holder)
            if "index" in target.fields:
                self._graph.store(self._of.get(target["index"], NOTHING), holder)
        elif target.kind in _NAMES and not self._is_bound(target):
            self._graph.flow(value, self._outside(self._source.name(target)))

    def _is_bound(self, name: Syntax) -> bool:
        return name in self._scopes.targets or self._scopes.binding(name) is not None

    def _catch(self, node: Syntax) -> None:
        """An error may tell of any call that was waited for, or that a function made."""
        whole = node.parent
        parameter = node.get("parameter")
        if parameter is None or whole is None or "body" not in whole.fields:
            return
        body = whole["body"]
        failed = self._graph.new()
        self._graph.own[failed] = self.order.within(body)
        self._graph.flow(self._failed, failed)
        self._graph.flow(self._unfollowed, failed)
        for kind in ("await_expression", "for_in_statement"):
            for inner in self._between(kind, body):
                value = inner["right"] if kind == "for_in_statement" else inner
                self._graph.flow(self._of.get(value, NOTHING), failed)
        for target, _path, _default in pattern_names(self._source, parameter):
            self._give(target, failed)

    def _between(self, kind: str, body: Syntax) -> list[Syntax]:
        listed = self._source.of_kinds(kind)
        first = bisect_left(listed, body.start, key=lambda node: node.start)
        last = bisect_left(listed, body.end, key=lambda node: node.start)
        return listed[first:last]
