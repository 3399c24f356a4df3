"""TypeScript source as a light tree: parsed once, walked once, then plain attribute access.

tree-sitter's own nodes are made anew at each access.  One pass over its cursor copies what
analysis needs into `Syntax`: named nodes without comments and without types (types vanish
when the code runs), and an index by kind, so that later passes look up instead of walking.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator

import tree_sitter_typescript
from tree_sitter import Language, Node, Parser, Tree, TreeCursor

from pml.analysis.escapes import unescape

LANGUAGE = Language(tree_sitter_typescript.language_typescript())

MAX_DEPTH = 200
"""Nesting of syntax nodes.  Analysis recurses with at most three Python frames per level."""

_COMMENTS = frozenset({"comment", "html_comment"})
_TYPES = frozenset(
    {
        "type_annotation",
        "type_arguments",
        "type_parameters",
        "interface_declaration",
        "type_alias_declaration",
        "ambient_declaration",
        "asserts_annotation",
        "type_predicate_annotation",
        "implements_clause",
        "function_signature",
        "method_signature",
        "abstract_method_signature",
        "index_signature",
        "accessibility_modifier",
        "override_modifier",
    }
)
_TYPE_SUFFIXED = frozenset({"as_expression", "satisfies_expression"})
_KEPT_TOKENS = {
    ("switch_case", ":"): "colon",
    ("switch_default", ":"): "colon",
    ("member_expression", "."): "dot",
    ("subscript_expression", "["): "bracket",
}
"""Punctuation whose place splicing needs, by the node that it stands in."""
_PUNCTUATION = frozenset("(){}[];,.:'\"`") | {"=>", "${", "/"}

FUNCTIONS = frozenset(
    {
        "function_declaration",
        "function_expression",
        "arrow_function",
        "method_definition",
        "generator_function",
        "generator_function_declaration",
    }
)
CLASSES = frozenset({"class", "class_declaration", "abstract_class_declaration"})
LOOPS = frozenset({"for_statement", "for_in_statement", "while_statement", "do_statement"})
MEMBERS = frozenset({"member_expression", "subscript_expression"})


class Syntax:
    """One node.  ``start`` and ``end`` are byte offsets; ``tokens`` the operators and keywords.

    Invariant: children lie inside their parent, in source order, and do not overlap.
    """

    __slots__ = (
        "children",
        "commas",
        "end",
        "fields",
        "index",
        "kind",
        "parent",
        "start",
        "tokens",
    )

    def __init__(self, kind: str, start: int, end: int, parent: "Syntax | None") -> None:
        self.kind = kind
        self.start = start
        self.end = end
        self.parent = parent
        self.children: list[Syntax] = []
        self.fields: dict[str, Syntax] = {}
        self.tokens: tuple[str, ...] = ()
        self.commas = 0
        self.index = 0 if parent is None else parent.commas
        """Commas before the node in its parent: its place in an array, holes counted."""

    def __getitem__(self, field: str) -> "Syntax":
        return self.fields[field]

    def get(self, field: str) -> "Syntax | None":
        """The child in ``field``, the first where there are several."""
        return self.fields.get(field)

    def ancestors(self) -> Iterator["Syntax"]:
        """From the parent to the root."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    def covers(self, other: "Syntax") -> bool:
        """Whether ``other`` lies inside this node (or is it)."""
        return self.start <= other.start and other.end <= self.end

    def __repr__(self) -> str:
        return f"Syntax({self.kind} {self.start}-{self.end})"


class Source:
    """A parsed source.

    ``too_deep`` is the first node beyond `MAX_DEPTH`: the tree stops there and must not be used.
    ``with_types`` is for those who look for what a source says, not for what it does.
    """

    def __init__(self, text: str, *, with_types: bool = False) -> None:
        self._erased = _COMMENTS if with_types else _COMMENTS | _TYPES
        self._suffixed = frozenset[str]() if with_types else _TYPE_SUFFIXED
        self.data = text.encode("utf-8", "surrogatepass")
        self.tree: Tree = Parser(LANGUAGE).parse(self.data)
        self.by_kind: dict[str, list[Syntax]] = defaultdict(list)
        self.too_deep: int | None = None
        self.root = self._copy()
        self._line_starts: list[int] = []

    def of_kinds(self, *kinds: str) -> list[Syntax]:
        """All nodes of these kinds in source order."""
        if len(kinds) == 1:
            return self.by_kind.get(kinds[0], [])
        found = [node for kind in kinds for node in self.by_kind.get(kind, ())]
        return sorted(found, key=lambda node: (node.start, -node.end))

    def text(self, node: Syntax) -> str:
        """The node's source text."""
        return self.data[node.start : node.end].decode("utf-8", "replace")

    def name(self, node: Syntax) -> str:
        """The name that an identifier spells, escapes resolved."""
        return unescape(self.text(node))

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column (in characters), counted from 1."""
        if not self._line_starts:
            ends = (match.end() for match in re.finditer(rb"\n", self.data))
            self._line_starts = [0, *ends]
        line = bisect_right(self._line_starts, offset)
        before = self.data[self._line_starts[line - 1] : offset]
        return line, len(before.decode("utf-8", "replace")) + 1

    def problems(self) -> Iterator[Node]:
        """The ERROR and MISSING nodes, outermost first, in source order."""
        if not self.tree.root_node.has_error:
            return
        stack = [self.tree.root_node]
        while stack:
            node = stack.pop()
            if node.is_missing or node.is_error:
                yield node
            elif node.has_error:
                stack.extend(reversed(node.children))

    def _copy(self) -> Syntax:
        cursor = self.tree.walk()
        root = Syntax("program", 0, len(self.data), None)
        self.by_kind["program"].append(root)
        parents = [root]
        if not cursor.goto_first_child():
            return root
        while True:
            copied = self._copy_node(cursor, parents[-1])
            if copied is not None and len(parents) >= MAX_DEPTH:
                self.too_deep = copied.start
                return root
            if copied is not None and cursor.goto_first_child():
                parents.append(copied)
                continue
            while not cursor.goto_next_sibling():
                if not cursor.goto_parent() or len(parents) == 1:
                    return root
                parents.pop()

    def _copy_node(self, cursor: TreeCursor, parent: Syntax) -> Syntax | None:
        """The copy of a named node that lives at run time; None for the rest."""
        node = cursor.node
        assert node is not None
        kind = node.type
        if not node.is_named:
            if kind == ",":
                parent.commas += 1
            elif (field := _KEPT_TOKENS.get((parent.kind, kind))) is not None:
                parent.fields[field] = Syntax(kind, node.start_byte, node.end_byte, parent)
            elif kind not in _PUNCTUATION:
                parent.tokens += (kind,)
            return None
        if kind in self._erased or (parent.children and parent.kind in self._suffixed):
            return None
        copied = Syntax(kind, node.start_byte, node.end_byte, parent)
        parent.children.append(copied)
        field = cursor.field_name
        if field is not None:
            parent.fields.setdefault(field, copied)
        self.by_kind[kind].append(copied)
        return copied


_TRANSPARENT = frozenset(
    {
        "parenthesized_expression",
        "as_expression",
        "satisfies_expression",
        "non_null_expression",
        "type_assertion",
        "instantiation_expression",
    }
)


def bare(node: Syntax) -> Syntax:
    """The expression without parentheses and type syntax around it."""
    while node.kind in _TRANSPARENT and node.children:
        node = node.children[0]
    return node


def wrapped(node: Syntax) -> Syntax:
    """The outermost expression that is ``node`` in parentheses or type syntax."""
    while node.parent is not None and node.parent.kind in _TRANSPARENT:
        node = node.parent
    return node


def first_offset(node: Syntax) -> int:
    """Where the node starts, not counting parentheses: they must not change an order."""
    while node.children and (
        node.kind == "parenthesized_expression" or node.children[0].start == node.start
    ):
        node = node.children[0]
    return node.start


def function_of(node: Syntax) -> Syntax:
    """The innermost function around the node, or the program."""
    for outer in node.ancestors():
        if outer.kind in FUNCTIONS or outer.parent is None:
            return outer
    return node
