"""Labels that the grammar takes for keys.

What begins a statement or the body of an arrow function with ``{`` is a block, and ``{ a: f() }``
has a label in it; the grammar reads an object.  A label of an expression means nothing when the
code runs, and with blanks for it the grammar reads a block.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tree_sitter import Node

if TYPE_CHECKING:
    from pml.analysis.syntax import Syntax


def labels_read_as_keys(root: Node, objects: "Iterable[Syntax]") -> Iterator[range]:
    """The bytes of such labels and of their colons; ``objects`` in source order."""
    begins = set[int]()
    for node in objects:
        if node.start not in begins and not _begins_statement(node):
            continue
        pair = node.children[0] if node.children else node
        key = pair.get("key")
        if pair.kind == "pair" and key is not None and key.kind == "property_identifier":
            read = root.descendant_for_byte_range(pair.start, pair.end)
            colons = [one for one in read.children if one.type == ":"] if read is not None else []
            yield range(key.start, key.end)
            yield from (range(colon.start_byte, colon.end_byte) for colon in colons)
            begins.add(pair["value"].start)  # what follows the label begins a statement too


def blanked(data: bytearray, marks: list[range]) -> bytes:
    """The data with blanks in those places; ends of lines stay where they are."""
    for mark in marks:
        text = data[mark.start : mark.stop]
        data[mark.start : mark.stop] = bytes(c if c in b"\r\n" else ord(" ") for c in text)
    return bytes(data)


def _begins_statement(node: "Syntax") -> bool:
    """Whether a statement, or the body of an arrow function, begins with the node."""
    inner, outer = node, node.parent
    while outer is not None and outer.start == inner.start:
        if outer.kind == "expression_statement":
            return True
        inner, outer = outer, outer.parent
    return outer is not None and outer.kind == "arrow_function" and outer.get("body") is inner
