"""Which functions of the program a call may run, and which calls run a function.

A callee is followed through names, parameters, what functions return, and property names.
Property names are matched without looking at the object, so that a method, a function in an
object literal, or one that is assigned to a member is found wherever it is called by its name.
"""

from collections.abc import Iterable, Iterator

from pml.analysis.functions import ARRAY_CALLBACKS, Functions, arguments_of, method_of, receiver_of
from pml.analysis.iteration import Found, Iterated, Iterations, indexed_symbol, property_name
from pml.analysis.literals import string_value
from pml.analysis.patterns import parameters
from pml.analysis.scope import Scopes
from pml.analysis.syntax import CLASSES, FUNCTIONS, MEMBERS, Source, Syntax, bare

_MAX_STEPS = 400
"""How much a callee is followed; more than in any program that somebody reads."""
_MAX_FOUND = 50
"""What one expression stands for, before it takes of what is for all of them together."""
_MAX_FURTHER = 20_000
"""Of all steps over that: ``f()`` in a helper may call many functions, ``o.x()`` anywhere few."""
_MAX_CALLS = 8
"""Of what: ``f()()`` calls what a call returns."""
_FORWARDING = frozenset({"call", "apply", "bind"})
_STORES = frozenset({"push", "unshift", "splice", "set", "add", "concat", "of", "fill", "resolve"})
_REACTIONS = frozenset({"then", "catch", "finally"})
_ACCESSORS = frozenset({"get", "set"})
_EITHER = {
    "ternary_expression": ("consequence", "alternative"),
    "binary_expression": ("left", "right"),
    "assignment_expression": ("right",),
    "augmented_assignment_expression": ("left", "right"),
}
_HANDS_ON = frozenset({"await_expression", "sequence_expression", "non_null_expression"})
_OPERATORS = frozenset({"&&", "||", "??"})


class Targets:
    """Functions and classes by what may run them."""

    def __init__(
        self, source: Source, scopes: Scopes, functions: Functions, iterations: Iterations
    ) -> None:
        self._source = source
        self._scopes = scopes
        self._functions = functions
        self._iterations = iterations
        self._properties: dict[str, list[Syntax]] = {}
        self._accessors: dict[str, list[Syntax]] = {}
        self._callers: dict[Syntax, list[Syntax]] | None = None
        self._kept: Found = ()
        """Functions that are kept in data: what a call runs whose callee is not known."""
        self._unknown: set[Syntax] = set()
        """Calls, and callbacks, that may run these."""
        self._run: dict[Syntax, Found] = {}
        self._further = _MAX_FURTHER

    def callers(self, function: Syntax) -> list[Syntax]:
        """The expressions that may run a function, or make an instance of a class."""
        if self._callers is None:
            self._callers = {}
            self._index_properties()
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
        return self._kept if expression in self._unknown else self._resolve(expression)

    # What can be found by its name

    def _index_properties(self) -> None:
        of = self._source.of_kinds
        for method in of("method_definition"):
            name = property_name(self._source, method["name"])
            if name is not None and name != "constructor":
                accessor = bool(_ACCESSORS & set(method.tokens))
                table = self._accessors if accessor else self._properties
                table.setdefault(name, []).append(method)
        for node in of("pair", "public_field_definition"):
            key, value = node.get("key") or node.get("name"), node.get("value")
            if key is not None and value is not None and _may_be_function(bare(value)):
                self._add_property(property_name(self._source, key), value)
        for node in of("shorthand_property_identifier"):
            self._add_property(self._source.name(node), node)
        for node in of("assignment_expression"):
            left = bare(node["left"])
            if left.kind in MEMBERS and _may_be_function(bare(node["right"])):
                self._add_property(self._property(left), node["right"])

    def _add_property(self, name: str | None, value: Syntax) -> None:
        if name is not None:
            self._properties.setdefault(name, []).append(value)

    def _property(self, member: Syntax) -> str | None:
        if member.kind == "member_expression":
            return property_name(self._source, member["property"])
        index = member.get("index")
        if index is None:
            return None
        return indexed_symbol(self._source, member) or string_value(self._source, bare(index))

    # What runs

    def _index_calls(self) -> None:
        of = self._source.of_kinds
        self._kept = self._kept_in_data()
        for call in of("call_expression"):
            found = tuple(self._called(call))
            if self._kept and not found:
                found = self._dispatched(call)
            self._note(call, found)
        for node in of("new_expression"):
            self._note(node, (*self._resolve(node["constructor"]), *self._handed_on(node)))
        for node in of("class_heritage"):
            derived = node.parent
            if derived is not None and constructor_of(self._source, derived) is None:
                self._note(derived, self._bases(node))
        for node in of(*MEMBERS) if self._accessors else ():
            self._note(node, self._accessors.get(self._property(node) or "", ()))
        self._index_iterations()

    def _index_iterations(self) -> None:
        self._iterations.find(self._properties, self._by_name, self._resolve)
        for node, found in self._iterations.at.items():
            for function in (*found.makers, *found.steps):
                self._callers_of(function).append(node)

    def _by_name(self, name: str) -> Found:
        found = [f for value in self._properties.get(name, ()) for f in self._resolve(value)]
        return tuple(one for one in found if one.kind in FUNCTIONS)

    # What is kept in data, and called by who does not know what it is

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
            if len(found) < _MAX_FOUND and (shorthand or _may_be_function(node)):
                found.update(dict.fromkeys(self._resolve(holder)))
        return tuple(one for one in found if one.kind in FUNCTIONS)[:_MAX_FOUND]

    def _dispatched(self, call: Syntax) -> Found:
        """What is kept in data, if the callee or the callback of a call is not known."""
        callee = call.get("function")
        if callee is not None and self._is_unknown(bare(callee)):
            self._unknown.add(call)
            return self._kept
        if method_of(self._source, call) not in ARRAY_CALLBACKS | _REACTIONS:
            return ()
        callbacks = [a for a in arguments_of(call)[:2] if self._is_unknown(bare(a))]
        self._unknown.update(callbacks)
        self._unknown.update(bare(one) for one in callbacks)
        return self._kept if callbacks else ()

    def _is_unknown(self, node: Syntax) -> bool:
        """Whether an expression may stand for any function."""
        if node.kind == "identifier":
            return self._scopes.binding(node) is not None
        if node.kind == "subscript_expression":
            return self._property(node) is None
        return node.kind in {"call_expression", "await_expression"}

    def _note(self, call: Syntax, functions: Iterable[Syntax]) -> None:
        found = tuple(dict.fromkeys(functions))
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
            yield from self._resolve(receiver_of(call))
        yield from self._resolve(callee)
        if self._functions.called(call) is None:
            yield from self._handed_on(call)

    def _bases(self, node: Syntax) -> Iterator[Syntax]:
        """The classes that the class around extends."""
        around = next((outer for outer in node.ancestors() if outer.kind in CLASSES), None)
        for heritage in () if around is None else around.children:
            if heritage.kind == "class_heritage":
                base = next(iter(heritage.children), heritage)
                found = self._resolve(base.get("value") or base)
                yield from (one for one in found if one.kind in CLASSES)

    def _handed_on(self, call: Syntax) -> Iterator[Syntax]:
        """Functions that are given to code outside the program, which may run them."""
        for argument in arguments_of(call):
            node = argument.children[0] if argument.kind == "spread_element" else argument
            yield from self._resolve(node)

    # What an expression stands for

    def _resolve(self, expression: Syntax) -> Found:
        """What an expression may stand for, however many names and calls lie in between.

        A step is an expression and how often what it stands for is called on the way: each
        is taken once, so that names that come round to themselves end, and cost nothing twice.
        """
        found: dict[Syntax, None] = {}
        pending = [(bare(expression), 0)]
        seen = set(pending)
        while pending:
            if len(seen) > _MAX_STEPS or len(found) > _MAX_FOUND:
                if not self._further:
                    break
                self._further -= 1
            node, calls = pending.pop()
            if node.kind in FUNCTIONS or node.kind in CLASSES:
                if not calls:
                    found[node] = None
                    continue
                after, calls = self._functions.returned(node), calls - 1
            else:
                after, calls = self._followed(node, calls)
            for one in reversed(after[: _MAX_FOUND + self._further]):
                step = (bare(one), calls)
                if step not in seen:
                    seen.add(step)
                    pending.append(step)
        return tuple(found)

    def _followed(self, node: Syntax, calls: int) -> tuple[list[Syntax], int]:
        """What stands for the same as an expression, and how often that is to be called."""
        kind = node.kind
        if kind in {"identifier", "shorthand_property_identifier"}:
            return self._named(node), calls
        if kind in MEMBERS:
            return self._member(node), calls
        if kind == "call_expression":
            return self._callee(node, calls)
        if kind in _EITHER and (kind != "binary_expression" or _OPERATORS & set(node.tokens)):
            return [node[field] for field in _EITHER[kind]], calls
        return (node.children[-1:] if kind in _HANDS_ON else []), calls

    def _named(self, node: Syntax) -> list[Syntax]:
        """The values of a name; a class stands for itself."""
        binding = self._scopes.binding(node)
        if binding is None:
            return []
        declared = binding.node.parent
        if declared is not None and declared.kind in CLASSES and not binding.definitions:
            return [declared]
        given = [d.value for d in binding.definitions if not d.path]
        for definition in binding.definitions:
            if definition.path and isinstance(name := definition.path[-1], str):
                given += self._properties.get(name, ())
        return given

    def _member(self, node: Syntax) -> list[Syntax]:
        name = self._property(node)
        if name is not None:
            return self._properties.get(name, [])
        table = bare(node["object"])
        binding = self._scopes.binding(table)
        values = [table] if binding is None else [bare(d.value) for d in binding.definitions]
        return [member for value in values for member in _members_of(value)]

    def _callee(self, call: Syntax, calls: int) -> tuple[list[Syntax], int]:
        """A call stands for what the function returns; ``f.bind(x)`` for the function."""
        callee = call.get("function")
        if callee is None or calls >= _MAX_CALLS:
            return [], calls
        if method_of(self._source, call) == "bind":
            return [receiver_of(call)], calls
        return [callee], calls + 1


def _may_be_function(node: Syntax) -> bool:
    return (
        node.kind in FUNCTIONS
        or node.kind in CLASSES
        or node.kind
        in {
            "identifier",
            "call_expression",
            "member_expression",
            "ternary_expression",
        }
    )


def _takes_rest(function: Syntax) -> bool:
    return any(
        (inner := pattern.get("pattern")) is not None and inner.kind == "rest_pattern"
        for _place, pattern in parameters(function)
    )


def _members_of(value: Syntax) -> Iterator[Syntax]:
    """What a table of functions holds: an object or array literal's values."""
    if value.kind == "array":
        yield from value.children
    elif value.kind == "object":
        for child in value.children:
            if child.kind == "pair":
                yield child["value"]
            elif child.kind in {"method_definition", "shorthand_property_identifier"}:
                yield child


def constructor_of(source: Source, found: Syntax) -> Syntax | None:
    """The constructor that a class writes down."""
    for member in found["body"].children if "body" in found.fields else ():
        if is_constructor(source, member):
            return member
    return None


def is_constructor(source: Source, function: Syntax) -> bool:
    """Whether a function runs when an instance of its class is made."""
    return function.kind == "method_definition" and source.text(function["name"]) == "constructor"
