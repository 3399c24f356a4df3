"""Promises that are used as if they were what they promise (SA-7)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from pml.analysis.calls import Calls
from pml.analysis.functions import Functions, method_of
from pml.analysis.literals import key_name
from pml.analysis.promises import METHODS, Promises
from pml.analysis.scope import Scopes
from pml.analysis.standard import FRESH
from pml.analysis.syntax import FUNCTIONS, MEMBERS, Source, Syntax, bare, function_of, wrapped

_OF_EVERY_OBJECT = frozenset({"constructor", "toString", "hasOwnProperty", "valueOf"})
_BELIEVING = frozenset(
    {"filter", "some", "every", "find", "findIndex", "findLast", "findLastIndex"}
)
_SORTING = frozenset({"sort", "toSorted"})
_CONDITIONS = frozenset(
    {"if_statement", "while_statement", "do_statement", "for_statement", "ternary_expression"}
)
_CHOOSING = frozenset({"&&", "||", "??"})
_NOT_VALUES = frozenset({"instanceof", "in", ","})
_IDENTITY = frozenset({"===", "!==", "==", "!="})
_PATTERNS = frozenset({"object_pattern", "array_pattern"})
_AROUND = frozenset({"object", "array", "pair", "parenthesized_expression"})
_BYTES = 60
"""Longer expressions are not repeated in a message."""

_LITERALS = frozenset({"string", "number", "true", "false", "null", "undefined", "template_string"})
_ALWAYS = "a promise is always true"
_AS_JSON = "becomes {} as JSON"


@dataclass(frozen=True, slots=True)
class Misuse:
    """A promise, or a list of them, where a value is needed, and what to write instead."""

    node: Syntax
    message: str


class Misuses:
    """Finds the promises of a source that nobody waited for before using them."""

    def __init__(self, source: Source, scopes: Scopes, functions: Functions, calls: Calls) -> None:
        self._source = source
        self._scopes = scopes
        self._promises = Promises(source, scopes, functions, calls)
        members = source.of_kinds("pair", "method_definition", "public_field_definition")
        keys = (m.get("key") or m.get("name") for m in members)
        self._own_methods = {key_name(source, key) for key in keys if key is not None} - {None}
        self._calls = calls

    def all(self) -> Iterator[Misuse]:
        """Every misuse, in source order."""
        names = [use for binding in self._promises.holders() for use in binding.uses]
        calls = self._source.of_kinds("call_expression", "new_expression")
        for node in sorted([*calls, *names], key=lambda node: (node.start, -node.end)):
            if node.kind == "call_expression":
                yield from self._of_callback(node)
            place = wrapped(node)
            if place.parent is None or self._is_callee(place):
                continue
            said = ""
            if self._promises.is_promise(node):
                said = self._of_promise(place, place.parent)
            elif node.kind != "new_expression" and self._goes_out(place, lists=True):
                said = self._of_list(node)
            if said:
                yield Misuse(place, said)

    def _of_list(self, node: Syntax) -> str:
        if not self._promises.are_promises(node):
            return ""
        shown = self._shown(node)
        return f"these are promises, and each {_AS_JSON}: write await Promise.all({shown})"

    def _is_callee(self, place: Syntax) -> bool:
        return place.parent is not None and place.parent.get("function") is place

    def _shown(self, node: Syntax) -> str:
        text = self._source.text(node) if node.end - node.start <= _BYTES else "\n"
        return "..." if "\n" in text else text

    def _of_callback(self, call: Syntax) -> Iterator[Misuse]:
        if call in self._calls.by_node:
            return
        method = method_of(self._source, call)
        if method in self._own_methods:
            return
        if method in _BELIEVING and self._promises.async_callback(call):
            yield Misuse(
                call,
                f"{method} does not wait for an async function: it gives a promise, and {_ALWAYS}: "
                "first write const found = await Promise.all(xs.map(f)), then "
                f"xs.{method}((x, i) => found[i])",
            )
        elif method in _SORTING and self._promises.async_callback(call):
            yield Misuse(
                call,
                f"{method} does not wait for an async function, so nothing is sorted: first get "
                "what to sort by, with await Promise.all(xs.map(f))",
            )

    def _of_promise(self, place: Syntax, parent: Syntax) -> str:
        """What becomes of a promise at a place; empty where it is well there."""
        say = self._AT.get(parent.kind)
        if say is not None:
            return say(self, place, parent)
        return self._of_what_goes_out(place, parent)

    def _waiting(self, place: Syntax) -> str:
        return f"write await {self._shown(bare(place))}"

    def _of_what_goes_out(self, place: Syntax, parent: Syntax) -> str:
        if parent.kind == "arguments" and self._is_standard(parent.parent):
            return (
                "nothing waits for this promise, so its value is not there yet: "
                f"{self._waiting(place)}"
            )
        if self._goes_out(place, lists=False):
            return f"nothing waits for this promise, and it {_AS_JSON}: {self._waiting(place)}"
        return ""

    def _of_declared(self, place: Syntax, parent: Syntax) -> str:
        if parent["name"].kind not in _PATTERNS:
            return ""
        return f"a promise has nothing to take out of it: {self._waiting(place)}"

    def _of_condition(self, place: Syntax, parent: Syntax) -> str:
        is_it = parent.get("condition") is place
        return f"{_ALWAYS}: {self._waiting(place)}" if is_it else ""

    def _of_sign(self, place: Syntax, parent: Syntax) -> str:
        if {"typeof", "void"} & set(parent.tokens):
            return ""
        return f"{_ALWAYS}, and no number: {self._waiting(place)}"

    def _of_text(self, place: Syntax, _parent: Syntax) -> str:
        return f"a promise in a text is [object Promise]: {self._waiting(place)}"

    def _of_spread(self, place: Syntax, _parent: Syntax) -> str:
        shown = self._shown(bare(place))
        return f"a promise has no elements and no fields: write ...(await {shown})"

    def _of_loop(self, place: Syntax, parent: Syntax) -> str:
        is_it = parent.get("right") is place
        return f"a promise has no elements: {self._waiting(place)}" if is_it else ""

    def _of_member(self, place: Syntax, member: Syntax) -> str:
        if member.get("object") is not place or member.kind != "member_expression":
            return ""
        name = self._source.name(member["property"])
        outer = wrapped(member).parent
        assigned = outer is not None and outer.get("left") is wrapped(member)
        if assigned or name in METHODS or name in _OF_EVERY_OBJECT:
            return ""
        return f"a promise has no {name!r}: write (await {self._shown(bare(place))}).{name}"

    def _of_operator(self, place: Syntax, parent: Syntax) -> str:
        tokens = set(parent.tokens)
        if tokens & _CHOOSING:
            first = parent.children[0] is place
            return f"{_ALWAYS}, and never absent: {self._waiting(place)}" if first else ""
        if tokens & _NOT_VALUES:
            return ""
        if tokens <= _IDENTITY and not any(
            bare(child).kind in _LITERALS for child in (parent.children[0], parent.children[-1])
        ):
            return ""  # which promise it is may matter
        return f"a promise is not its value: {self._waiting(place)}"

    def _is_standard(self, call: Syntax | None) -> bool:
        """Whether a call is of a standard function that looks at the value that it gets."""
        callee = None if call is None else call.get("function")
        if callee is None:
            return False
        callee = bare(callee)
        owner = bare(callee["object"]) if callee.kind in MEMBERS else callee
        free = owner.kind == "identifier" and self._scopes.binding(owner) is None
        return free and self._source.text(owner) in FRESH

    def _goes_out(self, place: Syntax, *, lists: bool) -> bool:
        """Whether a value becomes JSON: as an argument of a tool, or in the program's result."""
        inside = False
        node, parent = place, place.parent
        while parent is not None and parent.kind in _AROUND:
            if parent.kind == "pair" and parent.get("value") is not node:
                return False
            inside = inside or parent.kind in {"object", "array"}
            node, parent = parent, parent.parent
        if parent is None:
            return False
        if parent.kind == "return_statement":
            at_top = function_of(parent).kind not in FUNCTIONS
            return at_top and (inside or lists)
        call = parent.parent if parent.kind == "arguments" else None
        return call is not None and call in self._calls.by_node

    _AT: ClassVar[dict[str, Callable[["Misuses", Syntax, Syntax], str]]] = {
        **dict.fromkeys(MEMBERS, _of_member),
        **dict.fromkeys(_CONDITIONS, _of_condition),
        "variable_declarator": _of_declared,
        "binary_expression": _of_operator,
        "unary_expression": _of_sign,
        "template_substitution": _of_text,
        "spread_element": _of_spread,
        "for_in_statement": _of_loop,
    }
