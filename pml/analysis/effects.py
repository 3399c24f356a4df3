"""What calls do with the values that they get, in the graph of `pml.analysis.taint`."""

from dataclasses import dataclass

from pml.analysis.calls import Calls
from pml.analysis.functions import Functions
from pml.analysis.globals import RESERVED, STANDARD
from pml.analysis.literals import NOT_LITERAL, literal
from pml.analysis.patterns import parameters, pattern_names
from pml.analysis.scope import Binding, Scopes
from pml.analysis.shared import Shared
from pml.analysis.standard import (
    ADDING,
    CALLING,
    CHANGING,
    FOLDS,
    FRESH,
    PURE,
    SAME_OBJECTS,
    UNTRACEABLE,
)
from pml.analysis.syntax import MEMBERS, Source, Syntax, bare
from pml.analysis.valuegraph import ValueGraph


@dataclass(frozen=True, slots=True)
class Called:
    """A call that runs no function in sight; ``owner`` holds what its callee does."""

    node: Syntax
    method: str | None
    owner: int
    arguments: list[Syntax]
    values: list[int]
    """What the arguments hold."""
    result: int


class Effects:
    """Links what calls get with what they give and change.

    ``bound`` are the nodes of all that variables hold.
    """

    def __init__(
        self, source: Source, scopes: Scopes, functions: Functions, calls: Calls, shared: Shared
    ) -> None:
        self._source = source
        self._scopes = scopes
        self._functions = functions
        self._calls = calls
        self._shared = shared
        self._methods = shared.methods
        self._returned: dict[Syntax, int] = {}
        self.bound: dict[Binding, int] = {}
        self.graph = ValueGraph()
        self.unfollowed = self.graph.new()
        """Where values meet that go where nobody can follow them."""
        self.failed = self.graph.new()
        """What functions of the program throw, and what fails in them."""

    def returns(self, function: Syntax) -> int:
        """The node of what a function gives."""
        if function not in self._returned:
            self._returned[function] = self.graph.new()
        return self._returned[function]

    def hand(self, function: Syntax, value: int, places: frozenset[int] | None = None) -> None:
        """A value becomes parameters of a function."""
        for place, pattern in parameters(function):
            if places is None or place in places:
                for target, _path, _default in pattern_names(self._source, pattern):
                    binding = self._scopes.targets.get(target)
                    if binding is not None:
                        self.graph.flow(value, self.bound[binding])

    def run(self, call: Called) -> None:
        """What code that is not the program's does with what it gets."""
        root = self._standard_root(call.node)
        method = call.method if call.method not in self._methods else None
        on_value = root is None and method is not None
        fresh = root in FRESH or (on_value and method in PURE and method not in SAME_OBJECTS)
        link = self.graph.made if fresh else self.graph.flow
        for value in call.values if root is not None else (call.owner, *call.values):
            link(value, call.result)
        if on_value and method in PURE:
            return
        if on_value and method in ADDING:
            self._put(call)
        elif on_value and method in CALLING:
            self._call_back(call)
        elif root is not None and root not in UNTRACEABLE and call.method not in self._methods:
            self._library(call)
        elif not self._shared.calls_nothing(_callee(call.node)):
            for value in (call.owner, *call.values):
                self.graph.flow(value, self.unfollowed)
            self.graph.flow(self.unfollowed, call.result)
            self._put(call)

    def _put(self, call: Called) -> None:
        for value in call.values:
            self.graph.store(value, call.owner)

    def _standard_root(self, node: Syntax) -> str | None:
        """The standard name that the callee begins with: ``Object`` of ``Object.assign``."""
        inner = bare(_callee(node))
        if inner.kind in MEMBERS:
            inner = bare(inner["object"])
        if inner.kind != "identifier" or self._scopes.binding(inner) is not None:
            return None
        name = self._source.name(inner)
        return name if name in STANDARD and name not in RESERVED else None

    def _call_back(self, call: Called) -> None:
        owner, result = call.owner, call.result
        method = call.method
        for argument, value in zip(call.arguments, call.values, strict=True):
            if bare(argument) in self._calls.by_node:
                continue  # a tool that is handed on
            function = self._functions.known(argument)
            if function is None and literal(self._source, argument) is NOT_LITERAL:
                self.graph.flow(owner, self.unfollowed)
                self.graph.flow(self.unfollowed, result)
            if function is None:
                continue
            given = self.returns(function)
            self.graph.flow(given, result)
            if method in FOLDS:
                self.hand(function, self.graph.join([owner, given, *call.values]), frozenset({0}))
                self.hand(function, owner, frozenset({1, 3}))
            elif method in {"then", "catch", "finally"}:
                self.hand(function, self.graph.join([owner, self.failed]))
                self.graph.flow(value, result)
            elif method in {"forEach", "sort", "toSorted", "replace", "replaceAll"}:
                self.hand(function, owner)
            else:
                self.hand(function, owner, frozenset({0, 2}))

    def _library(self, call: Called) -> None:
        """A standard function: it may call what it gets with what it gets."""
        values, result = call.values, call.result
        for argument in call.arguments:
            function = self._functions.known(argument)
            if function is not None:
                for value in (*values, result):
                    self.hand(function, value)
                self.graph.flow(self.returns(function), result)
        if call.method in CHANGING and values:
            for value in values[1:]:
                self.graph.store(value, values[0])
        if call.method in {"apply", "construct", "allSettled"}:
            self.graph.flow(self.failed, result)


def _callee(call: Syntax) -> Syntax:
    return call.get("function") or call["constructor"]
