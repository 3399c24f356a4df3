"""Which functions of the program a call may run, and which calls run a function.

A call may run what its callee stands for (`pml.analysis.function_values`), and what it hands to
code outside the program.  A call of who knows what may run any function that is kept in data.
"""

from collections.abc import Iterable, Iterator
from functools import cached_property

from pml.analysis.function_values import FunctionValues, may_be_function
from pml.analysis.functions import ARRAY_CALLBACKS, Functions, arguments_of, method_of, receiver_of
from pml.analysis.iteration import Found, Iterated, Iterations
from pml.analysis.patterns import parameters
from pml.analysis.scope import Scopes
from pml.analysis.syntax import CLASSES, FUNCTIONS, MEMBERS, Source, Syntax, bare

_MAX_KEPT = 50
"""Functions that are kept in data, as each of them may be run by each unknown call."""
_FORWARDING = frozenset({"call", "apply", "bind"})
_STORES = frozenset({"push", "unshift", "splice", "set", "add", "concat", "of", "fill", "resolve"})
_REACTIONS = frozenset({"then", "catch", "finally"})


class Targets:
    """Functions and classes by what may run them."""

    def __init__(
        self, source: Source, scopes: Scopes, functions: Functions, iterations: Iterations
    ) -> None:
        self._source = source
        self._scopes = scopes
        self._functions = functions
        self._iterations = iterations
        self._callers: dict[Syntax, list[Syntax]] | None = None
        self._unknown: set[Syntax] = set()
        """Calls, and callbacks, that may run these."""
        self._run: dict[Syntax, Found] = {}
        self.cut: Syntax | None = None
        """The first call that may run more than is told here."""

    def callers(self, function: Syntax) -> list[Syntax]:
        """The expressions that may run a function, or make an instance of a class."""
        if self._callers is None:
            self._callers = {}
            self._index_calls()
        return self._callers.get(function, [])

    def of(self, call: Syntax) -> Found:
        """The functions, or the class, that a call, ``new`` or a member access may run."""
        return self._run.get(call, ())

    def iterating(self, iterated: Syntax) -> Iterated | None:
        """The methods that iterating the value of an expression or pattern may run."""
        return self._iterations.at.get(bare(iterated))

    def unknown(self, call: Syntax) -> bool:
        """Whether a call, or a callback, runs what is kept in data: one of that, or nothing."""
        return call in self._unknown

    def values(self, expression: Syntax) -> Found:
        """The functions and classes that an expression may stand for."""
        if self._callers is None:
            return ()
        return self._kept if expression in self._unknown else self._values.of(expression)

    @cached_property
    def _values(self) -> FunctionValues:
        return FunctionValues(self._source, self._scopes, self._functions)

    # What runs

    def _index_calls(self) -> None:
        of = self._source.of_kinds
        for call in of("call_expression"):
            found = tuple(self._called(call))
            if self._kept and not found:
                found = self._dispatched(call)
            self._note(call, found)
        for node in of("new_expression"):
            self._note(node, (*self._values.of(node["constructor"]), *self._handed_on(node)))
        for node in of("class_heritage"):
            derived = node.parent
            if derived is not None and constructor_of(self._source, derived) is None:
                self._note(derived, self._bases(node))
        accessors = self._values.accessors
        for node in of(*MEMBERS) if accessors else ():
            self._note(node, accessors.get(self._values.property(node) or "", ()))
        self._index_iterations()

    def _index_iterations(self) -> None:
        values = self._values
        self._iterations.find(values.properties, values.named, values.of)
        for node, found in self._iterations.at.items():
            for function in (*found.makers, *found.steps):
                self._callers_of(function).append(node)

    # What is kept in data, and called by who does not know what it is

    @cached_property
    def _kept(self) -> Found:
        """What a call runs whose callee is not known."""
        return self._kept_in_data[:_MAX_KEPT]

    @cached_property
    def _kept_in_data(self) -> Found:
        """Functions among elements, properties, and what is put into a collection."""
        of = self._source.of_kinds
        holders = [element for array in of("array") for element in array.children]
        holders += [pair["value"] for pair in of("pair") if pair.get("value") is not None]
        holders += of("shorthand_property_identifier")
        for call in of("call_expression"):
            helper = self._functions.called(call)
            stored = method_of(self._source, call) in _STORES
            if stored or (helper is not None and _takes_rest(helper)):
                holders += arguments_of(call)
        found: dict[Syntax, None] = {}
        for method in of("method_definition"):
            if method.parent is not None and method.parent.kind == "object":
                found[method] = None
        for holder in holders:
            node = bare(holder)
            shorthand = node.kind == "shorthand_property_identifier"
            if shorthand or may_be_function(node):
                found.update(dict.fromkeys(self._values.of(holder)))
        return tuple(one for one in found if one.kind in FUNCTIONS)

    def _dispatched(self, call: Syntax) -> Found:
        """What is kept in data, if the callee or the callback of a call is not known."""
        callee = call.get("function")
        if callee is not None and self._is_unknown(bare(callee)):
            self._unknown.add(call)
            return self._any_kept(call)
        if method_of(self._source, call) not in ARRAY_CALLBACKS | _REACTIONS:
            return ()
        callbacks = [a for a in arguments_of(call)[:2] if self._is_unknown(bare(a))]
        self._unknown.update(callbacks)
        self._unknown.update(bare(one) for one in callbacks)
        return self._any_kept(call) if callbacks else ()

    def _any_kept(self, call: Syntax) -> Found:
        if len(self._kept_in_data) > _MAX_KEPT:
            self.cut = self.cut or call
        return self._kept

    def _is_unknown(self, node: Syntax) -> bool:
        """Whether an expression may stand for any function."""
        if node.kind == "identifier":
            return self._scopes.binding(node) is not None
        if node.kind == "subscript_expression":
            return self._values.property(node) is None
        return node.kind in {"call_expression", "await_expression"}

    def _note(self, call: Syntax, functions: Iterable[Syntax]) -> None:
        found = self._values.at_most(functions)
        if self._values.cut:
            self.cut = self.cut or call
        if found:
            self._run[call] = found
            for function in found:
                self._callers_of(function).append(call)

    def _callers_of(self, function: Syntax) -> list[Syntax]:
        assert self._callers is not None
        return self._callers.setdefault(function, [])

    def _called(self, call: Syntax) -> Iterator[Syntax]:
        callee = call.get("function")
        if callee is None:
            return
        callee = bare(callee)
        if callee.kind == "super":
            yield from self._bases(call)
            return
        if method_of(self._source, call) in _FORWARDING:
            yield from self._values.of(receiver_of(call))
        yield from self._values.of(callee)
        if self._functions.called(call) is None:
            yield from self._handed_on(call)

    def _bases(self, node: Syntax) -> Iterator[Syntax]:
        """The classes that the class around extends."""
        around = next((outer for outer in node.ancestors() if outer.kind in CLASSES), None)
        for heritage in () if around is None else around.children:
            if heritage.kind == "class_heritage":
                base = next(iter(heritage.children), heritage)
                found = self._values.of(base.get("value") or base)
                yield from (one for one in found if one.kind in CLASSES)

    def _handed_on(self, call: Syntax) -> Iterator[Syntax]:
        """Functions that are given to code outside the program, which may run them."""
        for argument in arguments_of(call):
            node = argument.children[0] if argument.kind == "spread_element" else argument
            yield from self._values.of(node)


def _takes_rest(function: Syntax) -> bool:
    return any(
        (inner := pattern.get("pattern")) is not None and inner.kind == "rest_pattern"
        for _place, pattern in parameters(function)
    )


def constructor_of(source: Source, found: Syntax) -> Syntax | None:
    """The constructor that a class writes down."""
    for member in found["body"].children if "body" in found.fields else ():
        if is_constructor(source, member):
            return member
    return None


def is_constructor(source: Source, function: Syntax) -> bool:
    """Whether a function runs when an instance of its class is made."""
    return function.kind == "method_definition" and source.text(function["name"]) == "constructor"
