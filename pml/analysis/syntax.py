"""TypeScript source as a light tree: parsed once, walked once, then plain attribute access.

tree-sitter's own nodes are made anew at each access.  One pass over its cursor copies what
analysis needs into `Syntax`: named nodes without comments and without types (types vanish
when the code runs), and an index by kind, so that later passes look up instead of walking.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain

from msgspec import Struct
from tree_sitter import Node, Parser, Tree

from pml.analysis.escapes import unescape
from pml.analysis.grammar import (
    ACTIONS,
    COMMA,
    DROP,
    FIELDS,
    LANGUAGE,
    LEAF,
    LOOK,
    NOTE,
    OPERATIONS,
    PLACE,
    TAKING,
    TOKEN,
    TYPE_SUFFIXED,
    chain_length,
)
from pml.analysis.labels import blanked, labels_read_as_keys
from pml.analysis.lines import Lines

MAX_DEPTH = 200
"""Nesting of syntax nodes.  Analysis recurses with at most three Python frames per level."""

_LONE_RETURN = re.compile(rb"\r(?!\n)")

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


class Syntax(Struct, eq=False):
    """One node.  ``start`` and ``end`` are byte offsets; ``tokens`` the operators and keywords.

    Invariant: children lie inside their parent, in source order, and do not overlap.
    (A struct because a source has thousands, and these are made in half the time.)
    """

    kind: str
    start: int
    end: int
    parent: "Syntax | None"
    children: "list[Syntax]"
    fields: "dict[str, Syntax]"
    index: int = 0
    """Commas before the node in its parent: its place in an array, holes counted."""
    commas: int = 0
    mark: int = -1
    """Where the last ``:``, ``.`` or ``[`` of its own stands."""
    tokens: tuple[str, ...] = ()

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


_NO_CHILDREN: list[Syntax] = []
_NO_FIELDS: dict[str, Syntax] = {}
"""Of the many nodes that have none: a list and a dictionary each would be most of what the garbage
collector looks through.  Nobody changes them."""


class Source:
    """A parsed source.

    ``too_deep`` is the first node beyond `MAX_DEPTH`; then the tree is empty.
    ``with_types`` is for those who look for what a source says, not for what it does.
    """

    def __init__(self, text: str, *, with_types: bool = False) -> None:
        self._actions = ACTIONS[with_types]
        self._suffixed = frozenset[str]() if with_types else TYPE_SUFFIXED
        self.data = text.encode("utf-8", "surrogatepass")
        self.lines = Lines(self.data)
        self._ascii = text if self.data.isascii() else None
        """The source where an offset in bytes is one in characters: slices need no decoding."""
        self._plain = self._ascii if b"\\" not in self.data else None
        """The same, where no name can hold an escape either."""
        self._parsed = _LONE_RETURN.sub(b"\n", self.data)
        """What the parser is given: for it a carriage return alone ends no line."""
        self.by_kind: dict[str, list[Syntax]] = {}
        self._read(self._parsed)
        if self._misread:
            self._read_without_types()
        self._read_labels()

    def of_kinds(self, *kinds: str) -> list[Syntax]:
        """All nodes of these kinds in source order."""
        if len(kinds) == 1:
            return self.by_kind.get(kinds[0], [])
        found = [nodes for kind in kinds if (nodes := self.by_kind.get(kind))]
        if len(found) <= 1:  # in order as they are
            return found[0] if found else []
        return sorted(chain.from_iterable(found), key=lambda node: (node.start, -node.end))

    def text(self, node: Syntax) -> str:
        """The node's source text."""
        if self._ascii is not None:
            return self._ascii[node.start : node.end]
        return self.data[node.start : node.end].decode("utf-8", "replace")

    def name(self, node: Syntax) -> str:
        """The name that an identifier spells, escapes resolved."""
        if self._plain is not None:
            return self._plain[node.start : node.end]
        return unescape(self.text(node))

    def release(self) -> None:
        """Take the tree apart when nobody looks at it any more.

        Nodes know their parents; the garbage collector would have to find all these cycles, which
        is a third of the time of a long program.
        """
        for nodes in self.by_kind.values():
            for node in nodes:
                node.parent = None

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column (in characters), counted from 1."""
        return self.lines.position(offset)

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

    def _read(self, data: bytes) -> None:
        self.release()  # of what was read before
        self._given = data
        self.tree: Tree = Parser(LANGUAGE).parse(data)
        self.by_kind = defaultdict(list)
        self.too_deep: Syntax | None = None
        self._misread: list[range] = []
        """Where a ``!`` or ``<T>`` stands that was given too much: bytes."""
        self._operators: dict[Syntax, list[str]] = {}
        """Of long chains that are being copied."""
        self.root = self._copy()
        if self.too_deep is not None:  # and half a tree is none
            self.root = Syntax("program", 0, len(self.data), None, [], _NO_FIELDS)
            self.by_kind = defaultdict(list, {"program": [self.root]})

    def _read_without_types(self) -> None:
        """Read the source again with blanks for ``!`` and for the types that a call is given.

        The grammar binds them too weakly: it reads ``a && b!.c`` as ``(a && b)!.c``, and
        ``await f<T>()`` as ``(await f)<T>()``.  They mean nothing when the code runs, and blanks
        leave everything else where it is.  First only those that are read wrongly; where others
        then are, all.
        """
        had_errors = self.tree.root_node.has_error
        data = bytearray(self._parsed)
        self._read(blanked(data, self._misread))
        if self._misread:
            marks = [range(n.end - 1, n.end) for n in self.by_kind["non_null_expression"]]
            marks += [range(n.start, n.end) for n in self.by_kind["type_arguments"] if _in_call(n)]
            self._read(blanked(data, [*marks, *self._misread]))
        if self.tree.root_node.has_error and not had_errors:
            self._read(self._parsed)

    def _read_labels(self) -> None:
        """Read labels as such, unless it makes no program (then it is said what is wrong)."""
        labels = list(labels_read_as_keys(self.tree.root_node, self.by_kind.get("object", ())))
        if labels and not self.tree.root_node.has_error:
            given = self._given
            self._read(blanked(bytearray(given), labels))
            if self.tree.root_node.has_error:
                self._read(given)

    def _copy(self) -> Syntax:  # noqa: C901, PLR0912  # a call per token costs a third
        """Copy the tree; a long chain of operators becomes one node with all its operands.

        One loop without calls of its own: it runs for every token of a source.
        """
        cursor = self.tree.walk()
        actions, by_kind, suffixed = self._actions, self.by_kind, self._suffixed
        root = parent = Syntax("program", 0, len(self.data), None, [], _NO_FIELDS)
        by_kind["program"].append(root)
        parents = [root]
        levels = 1
        more = cursor.goto_first_child()
        while more:
            node = cursor.node
            assert node is not None
            do, kind = actions[node.kind_id]
            if do > LEAF:
                if do is PLACE:
                    parent.mark = node.start_byte
                elif do is COMMA:
                    parent.commas += 1
                elif do is not DROP:
                    self._note(do, kind, node, parent)
            elif parent.kind not in suffixed or not parent.children:
                inside = _NO_CHILDREN if do is LEAF else []
                copied = Syntax(
                    kind, node.start_byte, node.end_byte, parent, inside, _NO_FIELDS, parent.commas
                )
                parent.children.append(copied)
                by_kind[kind].append(copied)
                field = cursor.field_id
                if field is not None:
                    if parent.fields is _NO_FIELDS:
                        parent.fields = {FIELDS[field]: copied}
                    else:
                        parent.fields.setdefault(FIELDS[field], copied)
                if do is not LEAF:
                    if levels >= MAX_DEPTH:
                        self.too_deep = copied
                        return root
                    links = self._chain_length(node, copied) if do is LOOK else 1
                    if cursor.goto_first_child():
                        levels += 1
                        parents.append(copied)
                        parent = copied
                        for _ in range(links - 1):  # down to the first operand
                            parents.append(copied)
                            cursor.goto_first_child()
                        continue
            while not (more := cursor.goto_next_sibling()):
                if len(parents) == 1 or not cursor.goto_parent():
                    break
                left = parents.pop()
                parent = parents[-1]
                if left is not parent:
                    levels -= 1
                    if left in self._operators:
                        left.tokens = tuple(self._operators.pop(left))
        return root

    def _note(self, do: int, kind: str, node: Node, parent: Syntax) -> None:
        """What is no node of its own and more than counted."""
        if do is TOKEN:
            if parent in self._operators:
                self._operators[parent].append(kind)
            elif parent.kind != "ERROR":  # which may hold any number of them, and is not looked at
                parent.tokens += (kind,)
        elif do is NOTE:
            noted = Syntax(kind, node.start_byte, node.end_byte, parent, _NO_CHILDREN, _NO_FIELDS)
            self.by_kind[kind].append(noted)
            if _in_call(noted) and parent.children[0].kind in OPERATIONS:
                self._misread.append(range(noted.start, noted.end))

    def _chain_length(self, node: Node | None, copied: Syntax) -> int:
        """How many operations a long chain has that ends with this one; 1 where there is none."""
        if copied.kind == "non_null_expression":
            inner = None if node is None else node.child(0)
            takes = copied.parent is not None and copied.parent.kind in TAKING
            if takes and inner is not None and inner.type in OPERATIONS:
                self._misread.append(range(copied.end - 1, copied.end))
            return 1
        length = 1 if node is None else chain_length(node)
        if length > 1:
            self._operators[copied] = []
        return length


def _in_call(types: Syntax) -> bool:
    return types.parent is not None and types.parent.kind == "call_expression"


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
    outer = node.parent
    if outer is None:
        return node
    while outer.kind not in FUNCTIONS and outer.parent is not None:  # no generator: asked often
        outer = outer.parent
    return outer
