"""One step of a value on its way through the program, from an expression to where it goes next.

Used to find call sites (SA-5).  A value may lie inside an array or object: then a path says where.
A step is a list of the next places, empty where the value comes to nothing (its type is asked
for, it is compared); None says that it goes where it cannot be followed.
"""

from collections.abc import Callable, Iterable
from typing import ClassVar

from msgspec import Struct

from pml.analysis.functions import Functions
from pml.analysis.handle import Handle
from pml.analysis.handles import Handles
from pml.analysis.literals import key_name
from pml.analysis.patterns import Into, Path, Step, parameters, pattern_names
from pml.analysis.scope import Scopes
from pml.analysis.syntax import FUNCTIONS, Source, Syntax, wrapped
from pml.analysis.untouched import has_accessors

_ABSTRACT = frozenset({"typeof", "void", "!", "delete"})
_IDENTITY = frozenset({"===", "!=="})
_CHOICES = frozenset({"||", "??"})
_FILLING = frozenset({"||=", "??=", "&&="})


class Fact(Struct, frozen=True):
    """At ``path`` in the value of ``node`` lies ``handle``; ``entry`` is what was put there."""

    node: Syntax
    path: Path
    handle: Handle
    entry: Syntax

    def at(self, node: Syntax) -> "Fact":
        """The same value as that of another expression."""
        return Fact(node, self.path, self.handle, self.entry if self.path else node)

    def within(self, node: Syntax, step: Step) -> "Fact":
        """The value as a part of ``node``."""
        return Fact(node, (step, *self.path), self.handle, self.entry)


Facts = list[Fact] | None


class Follow:
    """Steps by the kind of node that the value stands in."""

    def __init__(
        self, source: Source, scopes: Scopes, functions: Functions, handles: Handles
    ) -> None:
        self._source = source
        self._scopes = scopes
        self._functions = functions
        self._handles = handles

    def step(self, fact: Fact, expression: Syntax) -> Facts:
        """Where the value of an expression (parentheses included) goes."""
        parent = expression.parent
        take = None if parent is None else self._STEPS.get(parent.kind)
        return None if parent is None or take is None else take(self, fact, expression, parent)

    # Where nothing becomes of it

    def _dropped(self, fact: Fact, expression: Syntax, parent: Syntax) -> Facts:
        del fact, expression, parent
        return []

    def _unary(self, fact: Fact, expression: Syntax, parent: Syntax) -> Facts:
        """``-x`` converts its operand, which calls its methods."""
        del fact, expression
        return [] if _ABSTRACT & set(parent.tokens) else None

    def _statement(self, fact: Fact, expression: Syntax, parent: Syntax) -> Facts:
        """The condition of a statement."""
        del fact
        return [] if expression in {parent.get("condition"), parent.get("value")} else None

    # What is the value of the whole, too

    def _same(self, fact: Fact, expression: Syntax, parent: Syntax) -> Facts:
        del expression
        return [fact.at(parent)]

    def _ternary(self, fact: Fact, expression: Syntax, parent: Syntax) -> Facts:
        return [] if parent.get("condition") is expression else [fact.at(parent)]

    def _sequence(self, fact: Fact, expression: Syntax, parent: Syntax) -> Facts:
        return [fact.at(parent)] if parent.children[-1] is expression else []

    def _binary(self, fact: Fact, expression: Syntax, parent: Syntax) -> Facts:
        operators = set(parent.tokens)
        is_left = parent.get("left") is expression
        if "&&" in operators:
            return [] if is_left else [fact.at(parent)]
        if operators & _CHOICES:
            return [fact.at(parent)]
        if "instanceof" in operators or "in" in operators:  # a class may ask of what is on the left
            return None if is_left else []
        return [] if operators & _IDENTITY else None

    # Members

    def _member(self, fact: Fact, expression: Syntax, parent: Syntax) -> Facts:
        if parent.get("object") is not expression:
            return None
        if fact.path:
            return self._read_from_literal(fact, parent)
        if (
            not fact.handle.certain
            and "optional_chain" in parent.fields
            and (parent.kind == "subscript_expression")
        ):
            return None
        further = fact.handle.step(self._handles.key(parent))
        return None if further is None else [Fact(parent, (), further, parent)]

    def _read_from_literal(self, fact: Fact, member: Syntax) -> Facts:
        key, first = self._handles.key(member), fact.path[0]
        call = wrapped(member).parent
        if call is not None and call.kind == "call_expression":
            callback = self._handles.callback_of(call)
            if callback is not None and call.get("function") is wrapped(member):
                return self._into(parameters(callback)[:1], _element(fact))
        if not isinstance(key, str):
            return None
        if str(first) != key:
            return [] if self._handles.only_read(fact.node) else None
        return [Fact(member, fact.path[1:], fact.handle, fact.entry if fact.path[1:] else member)]

    # Literals

    def _pair(self, fact: Fact, expression: Syntax, parent: Syntax) -> Facts:
        if parent.get("value") is not expression or parent.parent is None:
            return None
        key = key_name(self._source, parent["key"])
        sets_prototype = key == "__proto__" and parent["key"].kind != "computed_property_name"
        if key is None or sets_prototype:
            return None
        return None if self._has_code(parent.parent) else [fact.within(parent.parent, key)]

    def _object(self, fact: Fact, expression: Syntax, parent: Syntax) -> Facts:
        name = self._source.name(expression)
        return None if self._has_code(parent) else [fact.within(parent, name)]

    def _has_code(self, literal: Syntax) -> bool:
        """Whether reads of an object may run code, which then has the object."""
        return has_accessors(self._source, literal)

    def _array(self, fact: Fact, expression: Syntax, parent: Syntax) -> Facts:
        return [fact.within(parent, expression.index)]

    def _spread(self, fact: Fact, expression: Syntax, parent: Syntax) -> Facts:
        """Tools and servers have no members of their own, and are nothing to iterate over."""
        del expression, parent
        return None if fact.path else []

    # Names

    def _declarator(self, fact: Fact, expression: Syntax, parent: Syntax) -> Facts:
        return self._given(fact, parent["name"]) if parent.get("value") is expression else None

    def _assignment(self, fact: Fact, expression: Syntax, parent: Syntax) -> Facts:
        if parent.get("right") is not expression:
            return None
        found = self._given(fact, parent["left"])
        is_statement = parent.parent is not None and parent.parent.kind == "expression_statement"
        return found if found is None or is_statement else [*found, fact.at(parent)]

    def _augmented(self, fact: Fact, expression: Syntax, parent: Syntax) -> Facts:
        if parent.get("right") is not expression or not _FILLING & set(parent.tokens):
            return None
        is_statement = parent.parent is not None and parent.parent.kind == "expression_statement"
        return self._given(fact, parent["left"]) if is_statement else None

    def _default(self, fact: Fact, expression: Syntax, parent: Syntax) -> Facts:
        default = parent.get("right") or parent.get("value")
        target = parent.get("left") or parent.get("pattern")
        return self._given(fact, target) if default is expression and target is not None else None

    def _loop(self, fact: Fact, expression: Syntax, parent: Syntax) -> Facts:
        if parent.get("right") is not expression:
            return None
        if "of" not in parent.tokens or not fact.path:
            return []
        if self._handles.reaches_prototypes:  # and their iterators
            return None
        return self._given(_element(fact), parent["left"])

    def _given(self, fact: Fact, pattern: Syntax) -> Facts:
        """The uses of the names that take a value apart."""
        found: list[Fact] = []
        if fact.path and pattern.kind == "object_pattern" and self._handles.reaches_prototypes:
            return None
        for target, path, _default in pattern_names(self._source, pattern):
            part = _part(fact, path)
            if part is None:
                continue
            binding = self._scopes.targets.get(target)
            if binding is None or (Into.REST in path[-1:] and fact.path):
                return None
            found += [part.at(use) for use in binding.uses]
        return found

    def _into(self, patterns: Iterable[tuple[int, Syntax]], fact: Fact) -> Facts:
        found: list[Fact] = []
        for _place, pattern in patterns:
            names = self._given(fact, pattern)
            if names is None:
                return None
            found += names
        return found

    # Helpers

    def _argument(self, fact: Fact, expression: Syntax, parent: Syntax) -> Facts:
        call = parent.parent
        function = None if call is None else self._handles.called(call)
        if function is None or not self._handles.in_sight(function):
            return None
        place = parent.children.index(expression)
        return self._into([one for one in parameters(function) if one[0] == place], fact)

    def _arrow(self, fact: Fact, expression: Syntax, parent: Syntax) -> Facts:
        return self._results(fact, parent) if parent.get("body") is expression else None

    def _return(self, fact: Fact, expression: Syntax, parent: Syntax) -> Facts:
        del expression
        owner = next((outer for outer in parent.ancestors() if outer.kind in FUNCTIONS), None)
        return None if owner is None else self._results(fact, owner)

    def _results(self, fact: Fact, function: Syntax) -> Facts:
        """The calls of a helper; of one that is async, what awaits them."""
        if not self._handles.in_sight(function) or "*" in function.tokens:
            return None
        calls = self._handles.calls_of(function)
        if "async" not in function.tokens:
            return [fact.at(call) for call in calls]
        waiting = [wrapped(call).parent for call in calls]
        if any(one is None or one.kind != "await_expression" for one in waiting):
            return None
        return [fact.at(one) for one in waiting if one is not None]

    _STEPS: ClassVar[dict[str, Callable[["Follow", Fact, Syntax, Syntax], Facts]]] = {
        "expression_statement": _dropped,
        "unary_expression": _unary,
        "if_statement": _statement,
        "while_statement": _statement,
        "do_statement": _statement,
        "for_statement": _statement,
        "switch_statement": _statement,
        "switch_case": _statement,
        "await_expression": _same,
        "ternary_expression": _ternary,
        "sequence_expression": _sequence,
        "binary_expression": _binary,
        "member_expression": _member,
        "subscript_expression": _member,
        "call_expression": _dropped,
        "pair": _pair,
        "object": _object,
        "array": _array,
        "spread_element": _spread,
        "variable_declarator": _declarator,
        "assignment_expression": _assignment,
        "augmented_assignment_expression": _augmented,
        "required_parameter": _default,
        "optional_parameter": _default,
        "assignment_pattern": _default,
        "object_assignment_pattern": _default,
        "for_in_statement": _loop,
        "arguments": _argument,
        "arrow_function": _arrow,
        "return_statement": _return,
    }


def _element(fact: Fact) -> Fact:
    """What an iteration over an array takes from it."""
    rest = fact.path[1:]
    return Fact(fact.node, rest, fact.handle, fact.entry)


def _part(fact: Fact, path: Path) -> Fact | None:
    """What a name holds that a pattern takes out at ``path``; None if nothing of the value."""
    left, handle = list(fact.path), fact.handle
    for step in path:
        if left:
            if step not in {Into.UNKNOWN, Into.REST} and str(step) != str(left[0]):
                return None
            left = left[1:]
            continue
        further = handle.step(step)
        if further is None:
            return None
        handle = further
    return Fact(fact.node, tuple(left), handle, fact.entry)
