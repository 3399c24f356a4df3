"""Which functions of the program a call may run, and which calls run a function.

A callee is followed through names, parameters, what functions return, and property names.
Property names are matched without looking at the object, so that a method, a function in an
object literal, or one that is assigned to a member is found wherever it is called by its name.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import ClassVar

from pml.analysis.functions import ARRAY_CALLBACKS, Functions, arguments_of, method_of, receiver_of
from pml.analysis.literals import key_name, string_value
from pml.analysis.scope import Binding, Scopes
from pml.analysis.syntax import CLASSES, FUNCTIONS, MEMBERS, Source, Syntax, bare

_MAX_STEPS = 24
"""How far a callee is followed; further than any program goes that somebody reads."""
_MAX_FOUND = 50
_FORWARDING = frozenset({"call", "apply", "bind"})
_ACCESSORS = frozenset({"get", "set"})
_EITHER = {
    "ternary_expression": ("consequence", "alternative"),
    "binary_expression": ("left", "right"),
    "assignment_expression": ("right",),
    "augmented_assignment_expression": ("left", "right"),
}
_HANDS_ON = frozenset({"await_expression", "sequence_expression", "non_null_expression"})
_OPERATORS = frozenset({"&&", "||", "??"})

Found = tuple[Syntax, ...]


class Targets:
    """Functions and classes by what may run them."""

    def __init__(self, source: Source, scopes: Scopes, functions: Functions) -> None:
        self._source = source
        self._scopes = scopes
        self._functions = functions
        self._of_binding: dict[Binding, Found] = {}
        self._following: set[Binding] = set()
        self._properties: dict[str, list[Syntax]] = {}
        self._accessors: dict[str, list[Syntax]] = {}
        self._callers: dict[Syntax, list[Syntax]] | None = None
        self._run: dict[Syntax, Found] = {}

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

    def values(self, expression: Syntax) -> Found:
        """The functions and classes that an expression may stand for."""
        if self._callers is None:
            return ()
        return self._resolve(expression, 0)

    # What can be found by its name

    def _index_properties(self) -> None:
        of = self._source.of_kinds
        for method in of("method_definition"):
            name = key_name(self._source, method["name"])
            if name is not None and name != "constructor":
                accessor = bool(_ACCESSORS & set(method.tokens))
                table = self._accessors if accessor else self._properties
                table.setdefault(name, []).append(method)
        for node in of("pair", "public_field_definition"):
            key, value = node.get("key") or node.get("name"), node.get("value")
            if key is not None and value is not None and _may_be_function(bare(value)):
                self._add_property(key_name(self._source, key), value)
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
            return key_name(self._source, member["property"])
        index = member.get("index")
        return None if index is None else string_value(self._source, bare(index))

    # What runs

    def _index_calls(self) -> None:
        of = self._source.of_kinds
        for call in of("call_expression"):
            self._note(call, self._called(call))
        for node in of("new_expression"):
            self._note(node, (*self._resolve(node["constructor"], 0), *self._handed_on(node)))
        for node in of("class_heritage"):
            derived = node.parent
            if derived is not None and constructor_of(self._source, derived) is None:
                self._note(derived, self._bases(node))
        for node in of(*MEMBERS) if self._accessors else ():
            self._note(node, self._accessors.get(self._property(node) or "", ()))

    def _note(self, call: Syntax, functions: Iterable[Syntax]) -> None:
        found = tuple(dict.fromkeys(functions))
        if found:
            assert self._callers is not None
            self._run[call] = found
            for function in found:
                self._callers.setdefault(function, []).append(call)

    def _called(self, call: Syntax) -> Iterator[Syntax]:
        callee = call.get("function")
        if callee is None:
            return
        callee = bare(callee)
        if callee.kind == "super":
            yield from self._bases(call)
            return
        if method_of(self._source, call) in _FORWARDING:
            yield from self._resolve(receiver_of(call), 0)
        yield from self._resolve(callee, 0)
        if self._functions.called(call) is None:
            yield from self._handed_on(call)

    def _bases(self, node: Syntax) -> Iterator[Syntax]:
        """The classes that the class around extends."""
        around = next((outer for outer in node.ancestors() if outer.kind in CLASSES), None)
        for heritage in () if around is None else around.children:
            if heritage.kind == "class_heritage":
                base = next(iter(heritage.children), heritage)
                found = self._resolve(base.get("value") or base, 0)
                yield from (one for one in found if one.kind in CLASSES)

    def _handed_on(self, call: Syntax) -> Iterator[Syntax]:
        """Functions that are given to code outside the program, which may run them."""
        for argument in arguments_of(call):
            node = argument.children[0] if argument.kind == "spread_element" else argument
            yield from self._resolve(node, 0)

    # What an expression stands for

    def _resolve(self, expression: Syntax, steps: int) -> Found:
        node = bare(expression)
        kind = node.kind
        if kind in FUNCTIONS or kind in CLASSES:
            return (node,)
        if steps > _MAX_STEPS:
            return ()
        follow = self._FOLLOWED.get(kind)
        if follow is not None:
            return follow(self, node, steps)
        if kind in _EITHER and (kind != "binary_expression" or _OPERATORS & set(node.tokens)):
            return self._each((node[field] for field in _EITHER[kind]), steps)
        last = node.children[-1:] if kind in _HANDS_ON else []
        return self._each(last, steps)

    def _each(self, nodes: Iterable[Syntax], steps: int) -> Found:
        found: dict[Syntax, None] = {}
        for node in nodes:
            found.update(dict.fromkeys(self._resolve(node, steps + 1)))
            if len(found) > _MAX_FOUND:
                break
        return tuple(found)

    def _named(self, node: Syntax, steps: int) -> Found:
        binding = self._scopes.binding(node)
        return () if binding is None else self._bound(binding, steps)

    def _bound(self, binding: Binding, steps: int) -> Found:
        known = self._of_binding.get(binding)
        if known is not None:
            return known
        if binding in self._following:
            return ()
        declared = binding.node.parent
        if declared is not None and declared.kind in CLASSES and not binding.definitions:
            return (declared,)
        self._following.add(binding)
        given = [d.value for d in binding.definitions if not d.path]
        for definition in binding.definitions:
            if definition.path and isinstance(name := definition.path[-1], str):
                given += self._properties.get(name, ())
        found = self._each(given[:_MAX_FOUND], steps)
        self._following.discard(binding)
        if not self._following or found:
            self._of_binding[binding] = found
        return found

    def _member(self, node: Syntax, steps: int) -> Found:
        name = self._property(node)
        if name is not None:
            return self._each(self._properties.get(name, ())[:_MAX_FOUND], steps)
        table = bare(node["object"])
        binding = self._scopes.binding(table)
        values = [table] if binding is None else [bare(d.value) for d in binding.definitions]
        return self._each((v for value in values for v in _members_of(value)), steps)

    def _returned(self, call: Syntax, steps: int) -> Found:
        callee = call.get("function")
        if callee is None:
            return ()
        if method_of(self._source, call) == "bind":
            return self._resolve(receiver_of(call), steps + 1)
        functions = self._resolve(callee, steps + 1)
        return self._each((v for f in functions for v in self._functions.returned(f)), steps)

    _FOLLOWED: ClassVar[dict[str, Callable[["Targets", Syntax, int], Found]]] = {
        "identifier": _named,
        "shorthand_property_identifier": _named,
        "call_expression": _returned,
        "member_expression": _member,
        "subscript_expression": _member,
    }


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


def runs_elements(source: Source, call: Syntax) -> Syntax | None:
    """The callback that a call runs once per element: ``xs.map(f)`` or ``Array.from(xs, f)``."""
    method = method_of(source, call)
    arguments = arguments_of(call)
    if method in ARRAY_CALLBACKS:
        return arguments[0] if arguments else None
    if method == "from" and len(arguments) > 1 and source.text(receiver_of(call)) == "Array":
        return arguments[1]
    return None
