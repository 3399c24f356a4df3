"""Strings that are known before the program runs.

The name of a server or tool may be computed; it is known if it is made of constants only:
strings, templates, ``+``, members of enums and of objects that are only ever read.
"""

from collections.abc import Callable
from typing import ClassVar

from pml.analysis.escapes import unescape
from pml.analysis.literals import key_name, string_value
from pml.analysis.patterns import Into, Path
from pml.analysis.scope import Binding, Scopes
from pml.analysis.syntax import MEMBERS, Source, Syntax, bare, function_of, wrapped
from pml.analysis.untouched import LITERALS, Untouched, is_called, is_written

_LONGEST = 200
"""Characters of a computed name: `a + a` of `a + a`, and so on, would have as many as one likes."""


class Constants(Untouched):
    """Answers for the expressions of one source; remembers what it found of variables."""

    def __init__(self, source: Source, scopes: Scopes) -> None:
        super().__init__(source, scopes)
        self._strings: dict[Binding, str | None] = {}
        self._folded: dict[Syntax, str | None] = {}
        self._following: set[Binding] = set()
        self.consulted: set[Binding] = set()
        """Variables that were asked for their string."""

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
        if any(is_written(wrapped(use)) for use in binding.uses):
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
            node = self.written(node)
            if node.kind not in LITERALS or isinstance(step, Into):
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
        if base.kind in LITERALS:
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
        return not is_written(wrapped(parent)) and not is_called(wrapped(parent))

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
