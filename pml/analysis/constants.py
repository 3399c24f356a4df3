"""Strings that are known before the program runs, and literals that nobody changes.

The name of a server or tool may be computed; it is known if it is made of constants only:
strings, templates, ``+``, members of enums and of objects that are only ever read.
"""

import re
from collections.abc import Callable
from functools import cached_property
from typing import ClassVar

from pml.analysis.escapes import unescape
from pml.analysis.functions import arguments_of, method_of, receiver_of
from pml.analysis.literals import key_name, number_value, string_value
from pml.analysis.scope import Binding, Into, Path, Scopes, parameters
from pml.analysis.syntax import MEMBERS, Source, Syntax, bare, function_of, wrapped

TAKING_ELEMENTS = frozenset(
    {"map", "forEach", "flatMap", "some", "every", "findIndex", "findLastIndex"}
)
"""Methods of arrays that give each element to a function, and to nothing else."""
_LITERALS = frozenset({"object", "array"})
_LONGEST = 200
"""Characters of a computed name: `a + a` of `a + a`, and so on, would have as many as one likes."""
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


class Constants:
    """Answers for the expressions of one source; remembers what it found of variables."""

    def __init__(self, source: Source, scopes: Scopes) -> None:
        self._source = source
        self._scopes = scopes
        self._untouched: dict[Binding, bool] = {}
        self._strings: dict[Binding, str | None] = {}
        self._folded: dict[Syntax, str | None] = {}
        self._following: set[Binding] = set()
        self.calls_tool: Callable[[Syntax], bool] = lambda _expression: False
        """Whether an expression certainly is a tool, which does not look at ``this``."""
        self.consulted: set[Binding] = set()
        """Variables that were asked for their string."""

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

    def string(self, expression: Syntax) -> str | None:
        """The string that the expression certainly is, as a key of a property."""
        node = bare(expression)
        text = string_value(self._source, node)
        if text is not None:
            return text
        read = self._READERS.get(node.kind)
        if read is None or node.kind == "identifier":
            return None if read is None else read(self, node)
        if node not in self._folded:
            self._folded[node] = read(self, node)
        return self._folded[node]

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
        literal = self._written(definition.value)
        if definition.weak or definition.path or definition.at.kind != "variable_declarator":
            return False
        if literal.kind not in _LITERALS:
            return False
        return all(self.only_read(wrapped(use), literal) for use in binding.uses)

    def only_read(self, place: Syntax, literal: Syntax) -> bool:
        """Whether an expression that is the literal is only used to read what it holds."""
        parent = place.parent
        if parent is None or has_accessors(self._source, literal):
            return False
        flat = not any(
            bare(child.get("value") or child).kind in _LITERALS for child in literal.children
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
        if key is None or outer.parent is None or _is_written(outer):
            return False
        is_called = _is_called(outer)
        entry = self.entry(literal, key)
        if entry is None and is_called:
            return self._reads_all(outer.parent, literal, key, flat=flat)
        if entry is None:  # a prototype may have a getter for it, which gets the whole
            return literal.kind == "array" and key == "length"
        value = bare(entry)
        if value.kind in _LITERALS:
            return self.only_read(outer, value)
        return not is_called or self._ignores_this(value)

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

    # Strings

    def _name(self, node: Syntax) -> str | None:
        binding = self._scopes.binding(node)
        if binding is not None:
            self.consulted.add(binding)
        if binding is None or binding in self._following or len(binding.definitions) != 1:
            return None
        if binding not in self._strings:
            self._following.add(binding)
            self._strings[binding] = self._defined(binding)
            self._following.discard(binding)
        return self._strings[binding] if self._runs_before(binding, node) else None

    def _defined(self, binding: Binding) -> str | None:
        definition = binding.definitions[0]
        if definition.weak or definition.at.kind != "variable_declarator":
            return None
        if any(_is_written(wrapped(use)) for use in binding.uses):
            return None
        return self._at(definition.value, definition.path)

    def _runs_before(self, binding: Binding, use: Syntax) -> bool:
        """Whether the definition has run when the name is read; else it is undefined."""
        if binding.kind == "lexical":
            return True
        at = binding.definitions[0].at
        around = at.parent.parent if at.parent is not None else None
        function = function_of(at)
        plain = around is function or around is function.get("body")
        return plain and function_of(use) is function and at.end <= use.start

    def _at(self, expression: Syntax, path: Path) -> str | None:
        """The string at a path in an expression."""
        node = bare(expression)
        for step in path:
            node = self._written(node)
            if node.kind not in _LITERALS or isinstance(step, Into):
                return None
            entry = self.entry(node, str(step))
            if entry is None:
                return None
            node = bare(entry)
        return self.string(node)

    def _member(self, node: Syntax) -> str | None:
        """``NAMES.read``, ``NAMES["read"]``, ``Enum.Member``."""
        path: list[str] = []
        base = node
        while base.kind in MEMBERS:
            key = self.key(base)
            if key is None:
                return None
            path.insert(0, key)
            base = bare(base["object"])
        if base.kind in _LITERALS:
            return self._at(base, tuple(path)) if self.only_read(wrapped(base), base) else None
        binding = self._scopes.binding(base)
        if binding is None:
            return None
        if not binding.definitions and binding.node.parent is not None:
            return self._enum_member(binding, path)
        if not self.untouched(binding):
            return None
        return self._at(binding.definitions[0].value, tuple(path))

    def _enum_member(self, binding: Binding, path: list[str]) -> str | None:
        declaration = binding.node.parent
        if declaration is None or declaration.kind != "enum_declaration" or len(path) != 1:
            return None
        if binding in self._scopes.merged:  # a later part may say otherwise
            return None
        if not all(self._reads_enum(wrapped(use)) for use in binding.uses):
            return None
        members = [m for m in declaration["body"].children if m.kind == "enum_assignment"]
        names = [(key_name(self._source, member["name"]), member["value"]) for member in members]
        found = [self.string(value) for name, value in names if name == path[0]]
        return found[0] if len(found) == 1 else None

    def _reads_enum(self, place: Syntax) -> bool:
        parent = place.parent
        if parent is None or parent.kind not in MEMBERS or parent.get("object") is not place:
            return False
        return not _is_written(wrapped(parent)) and not _is_called(wrapped(parent))

    def _written(self, value: Syntax) -> Syntax:
        """What is written of a value: of ``Object.freeze({...})`` the literal inside."""
        node = bare(value)
        given = arguments_of(node) if node.kind == "call_expression" else []
        if len(given) != 1 or bare(given[0]).kind not in _LITERALS:
            return node
        base = receiver_of(node) if method_of(self._source, node) == "freeze" else None
        is_global = base is not None and base in self._scopes.free.get("Object", ())
        return bare(given[0]) if is_global and self._freeze_is_standard else node

    @cached_property
    def _freeze_is_standard(self) -> bool:
        """Whether ``Object`` is only used to call its functions."""
        owners = [use.parent for use in self._scopes.free.get("Object", ())]
        called = (o is not None and o.kind in MEMBERS and _is_called(wrapped(o)) for o in owners)
        return all(called) and not self.reaches_prototypes

    def _sum(self, node: Syntax) -> str | None:
        if node.tokens != ("+",):
            return None
        left, right = self.string(node["left"]), self.string(node["right"])
        return None if left is None or right is None else _short(left + right)

    def _template(self, node: Syntax) -> str | None:
        parts: list[str] = []
        start = node.start + 1
        for child in (c for c in node.children if c.kind == "template_substitution"):
            inner = self.string(child.children[0]) if child.children else None
            if inner is None:
                return None
            parts += [self._unescaped(start, child.start), inner]
            start = child.end
        return _short("".join([*parts, self._unescaped(start, node.end - 1)]))

    def _either(self, node: Syntax) -> str | None:
        first, second = self.string(node["consequence"]), self.string(node["alternative"])
        return first if first == second else None

    def _unescaped(self, start: int, end: int) -> str:
        text = self._source.data[start:end].decode("utf-8", "replace")
        return unescape(text.replace("\r\n", "\n"))

    _READERS: ClassVar[dict[str, Callable[["Constants", Syntax], str | None]]] = {
        "identifier": _name,
        "member_expression": _member,
        "subscript_expression": _member,
        "binary_expression": _sum,
        "template_string": _template,
        "ternary_expression": _either,
    }


def _short(text: str) -> str | None:
    return text if len(text) <= _LONGEST else None


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


def _is_called(place: Syntax) -> bool:
    parent = place.parent
    is_call = parent is not None and parent.kind == "call_expression"
    return parent is not None and is_call and parent.get("function") is place


def _is_written(place: Syntax) -> bool:
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
