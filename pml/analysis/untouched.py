"""Literals of arrays and objects that nobody changes: what lies in them is known (SA-5)."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property

from pml.analysis.functions import arguments_of, method_of, receiver_of
from pml.analysis.literals import key_name, number_value
from pml.analysis.patterns import parameters
from pml.analysis.scope import Binding, Scopes
from pml.analysis.syntax import MEMBERS, Source, Syntax, bare, wrapped

LITERALS = frozenset({"object", "array"})
TAKING_ELEMENTS = frozenset(
    {"map", "forEach", "flatMap", "some", "every", "findIndex", "findLastIndex"}
)
"""Methods of arrays that give each element to a function, and to nothing else."""
_REACHING_PROTOTYPES = (
    *(b"definePropert", b"__", b"rototype", b"constructor", b"Reflect", b"eval", b"Function"),
    *(b"globalThis", b"\\u", b"\\x"),
)
"""Looked for one by one: a pattern of all of them takes ten times as long."""
_SELF = re.compile(rb"\bself\b")
_WRITES = frozenset(
    {
        "assignment_expression",
        "augmented_assignment_expression",
        "update_expression",
        "for_in_statement",
        "array_pattern",
        "pair_pattern",
        "rest_pattern",
        "assignment_pattern",
        "object_assignment_pattern",
    }
)


class Untouched(ABC):
    """Answers for the literals of one source; remembers what it found of variables."""

    def __init__(self, source: Source, scopes: Scopes) -> None:
        self._source = source
        self._scopes = scopes
        self._untouched: dict[Binding, bool] = {}
        self.calls_tool: Callable[[Syntax], bool] = lambda _expression: False
        """Whether an expression certainly is a tool, which does not look at ``this``."""

    @abstractmethod
    def string(self, expression: Syntax) -> str | None:
        """The string that the expression certainly is, as a key of a property."""

    @cached_property
    def reaches_prototypes(self) -> bool:
        """Whether the program may give all objects a getter, or all arrays another ``map``.

        Only for patterns, where keys that may be missing are common, and for methods of arrays; a
        single read of a key that is not there is never trusted.
        """
        free = self._scopes.free.get("Object", ())
        named = all(use.parent is not None and "property" in use.parent.fields for use in free)
        data = self._source.data
        reaching = any(text in data for text in _REACHING_PROTOTYPES)
        return not named or reaching or _SELF.search(data) is not None

    def key(self, member: Syntax) -> str | None:
        """The property that a member access reads; None if it cannot be known."""
        if member.kind == "member_expression":
            key = member["property"]
            is_private = key.kind == "private_property_identifier"
            return None if is_private else key_name(self._source, key)
        if "index" not in member.fields:
            return None
        index = bare(member["index"])
        if index.kind == "number":
            value = number_value(self._source.text(index))
            return str(value) if isinstance(value, int) else None
        return self.string(index)

    def entry(self, literal: Syntax, key: str) -> Syntax | None:
        """What an array or object literal certainly holds at a key."""
        if literal.kind == "array":
            return self._element(literal, key)
        for child in reversed(literal.children):
            if child.kind == "shorthand_property_identifier":
                name = self._source.name(child)
            elif child.kind in {"pair", "method_definition"}:
                name_node = child.get("key") or child["name"]
                name = self._entry_name(name_node) or ""
                if name == "__proto__" and name_node.kind != "computed_property_name":
                    return None
            else:
                return None  # spread: it may hold the key, too
            if not name:
                return None
            if name == key:
                return child if child.kind != "pair" else child["value"]
        return None

    def untouched(self, binding: Binding) -> bool:
        """Whether a variable holds a literal of which everything is only ever read, by name."""
        known = self._untouched.get(binding)
        if known is None:
            self._untouched[binding] = False  # while it is asked for: it holds itself
            known = self._untouched[binding] = self._is_untouched(binding)
        return known

    def _is_untouched(self, binding: Binding) -> bool:
        if binding.kind != "lexical" or len(binding.definitions) != 1:
            return False
        definition = binding.definitions[0]
        literal = self.written(definition.value)
        if definition.weak or definition.path or definition.at.kind != "variable_declarator":
            return False
        if literal.kind not in LITERALS:
            return False
        return all(self.only_read(wrapped(use), literal) for use in binding.uses)

    def only_read(self, place: Syntax, literal: Syntax) -> bool:
        """Whether an expression that is the literal is only used to read what it holds."""
        parent = place.parent
        if parent is None or has_accessors(self._source, literal):
            return False
        flat = not any(
            bare(child.get("value") or child).kind in LITERALS for child in literal.children
        )
        if parent.kind == "for_in_statement" and parent.get("right") is place:
            return flat or "of" not in parent.tokens
        if parent.kind == "variable_declarator" and parent.get("value") is place:
            return flat and _takes_apart(parent["name"]) and not self.reaches_prototypes
        if parent.kind not in MEMBERS or parent.get("object") is not place:
            return False
        return self._reads_entry(parent, literal, flat=flat)

    def _reads_entry(self, member: Syntax, literal: Syntax, *, flat: bool) -> bool:
        key = self.key(member)
        outer = wrapped(member)
        if key is None or outer.parent is None or is_written(outer):
            return False
        called = is_called(outer)
        entry = self.entry(literal, key)
        if entry is None and called:
            return self._reads_all(outer.parent, literal, key, flat=flat)
        if entry is None:  # a prototype may have a getter for it, which gets the whole
            return literal.kind == "array" and key == "length"
        value = bare(entry)
        if value.kind in LITERALS:
            return self.only_read(outer, value)
        return not called or self._ignores_this(value)

    def _ignores_this(self, value: Syntax) -> bool:
        """Whether a function cannot get hold of the object whose method it is called as."""
        binding = self._scopes.binding(value)
        if binding is not None and binding.kind == "parameter":
            return self.calls_tool(value)
        function = value if binding is None else binding.function
        is_arrow = function is not None and function.kind == "arrow_function"
        return is_arrow or self.calls_tool(value)

    def _reads_all(self, call: Syntax, literal: Syntax, key: str, *, flat: bool) -> bool:
        """Whether a method call hands every element to a function that gets nothing else."""
        given = arguments_of(call)
        if literal.kind != "array" or not flat or self.reaches_prototypes:
            return False
        if key not in TAKING_ELEMENTS or not given:
            return False
        callback = bare(given[0])
        taken = parameters(callback) if callback.kind == "arrow_function" else []
        rest = any(takes_rest(pattern) for _place, pattern in taken)
        return callback.kind == "arrow_function" and not rest and len(taken) < 3  # noqa: PLR2004

    def _entry_name(self, key: Syntax) -> str | None:
        if key.kind == "computed_property_name":
            return self.string(key.children[0]) if key.children else None
        return key_name(self._source, key)

    def _element(self, literal: Syntax, key: str) -> Syntax | None:
        for child in literal.children:
            if child.kind == "spread_element":
                return None
            if str(child.index) == key:
                return child
        return None

    def written(self, value: Syntax) -> Syntax:
        """What is written of a value: of ``Object.freeze({...})`` the literal inside."""
        node = bare(value)
        given = arguments_of(node) if node.kind == "call_expression" else []
        if len(given) != 1 or bare(given[0]).kind not in LITERALS:
            return node
        base = receiver_of(node) if method_of(self._source, node) == "freeze" else None
        is_global = base is not None and base in self._scopes.free.get("Object", ())
        return bare(given[0]) if is_global and self._freeze_is_standard else node

    @cached_property
    def _freeze_is_standard(self) -> bool:
        """Whether ``Object`` is only used to call its functions."""
        owners = [use.parent for use in self._scopes.free.get("Object", ())]
        called = (o is not None and o.kind in MEMBERS and is_called(wrapped(o)) for o in owners)
        return all(called) and not self.reaches_prototypes


def _takes_apart(pattern: Syntax) -> bool:
    """Whether a pattern names single members of what it is given."""
    is_pattern = pattern.kind in {"object_pattern", "array_pattern"}
    return is_pattern and all(child.kind != "rest_pattern" for child in pattern.children)


def has_accessors(source: Source, literal: Syntax) -> bool:
    """Whether an object has code of its own that reads of members run, or a prototype."""
    for child in literal.children if literal.kind == "object" else ():
        if child.kind == "method_definition" and {"get", "set"} & set(child.tokens):
            return True
        is_plain = child.kind == "pair" and child["key"].kind != "computed_property_name"
        if is_plain and key_name(source, child["key"]) == "__proto__":
            return True
    return False


def takes_rest(parameter: Syntax) -> bool:
    """Whether a parameter takes all arguments that are left."""
    inner = parameter.get("pattern")
    return inner is not None and inner.kind == "rest_pattern"


def is_called(place: Syntax) -> bool:
    """Whether the expression is what a call calls."""
    parent = place.parent
    is_call = parent is not None and parent.kind == "call_expression"
    return parent is not None and is_call and parent.get("function") is place


def is_written(place: Syntax) -> bool:
    """Whether something is given to the expression, or it is deleted."""
    parent = place.parent
    if parent is None:
        return True
    if parent.kind == "unary_expression":
        return "delete" in parent.tokens
    if parent.kind not in _WRITES:
        return False
    given = parent.get("right") or parent.get("key")
    return given is not place
