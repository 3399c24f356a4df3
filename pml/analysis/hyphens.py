"""``mcp.my-server.get-user({ ... })``, which subtracts: names with hyphens go in brackets."""

import re
from collections.abc import Iterator

from pml.analysis.calls import Calls
from pml.analysis.syntax import Source, Syntax, wrapped
from pml.analysis.typescript import access

_NAME = r"[A-Za-z_$][\w$]*(?:-[\w$]+)*"
_DOTTED = re.compile(rf"(?:await\s+)?(mcp|capabilities)((?:\.{_NAME})+)(\()?")
_ROOT = re.compile(rb"(?:await\s+)?(?:mcp|capabilities)\s*[.?\[-]")
"""What is written out is certainly a server or tool, and no number in another case."""
_LOOKED_AT = 300
"""Bytes of a name with hyphens, its server's included."""


def subtractions(source: Source, calls: Calls) -> Iterator[tuple[Syntax, Syntax, str]]:
    """Servers and tools from which something is subtracted.

    Yields the server or tool, the subtraction, and what is to be said.
    """
    for node in (*calls.leaks, *(s.expression for s in calls.sites if s.call is None)):
        whole = _subtraction(node)
        written = _ROOT.match(source.data, node.start)
        if whole is not None and written is not None:
            yield node, whole, _message(source, node, whole)


def _subtraction(node: Syntax) -> Syntax | None:
    """The outermost of the subtractions that begin with the node."""
    place = wrapped(node)
    if place.parent is not None and place.parent.kind == "await_expression":
        place = place.parent
    found = None
    while (whole := place.parent) is not None and whole.kind == "binary_expression":
        if whole.children[0] is place and whole.tokens[:1] == ("-",):
            found = whole
        elif whole.children[-1] is not place:
            break
        place = whole
    return found


def _message(source: Source, node: Syntax, whole: Syntax) -> str:
    end = min(whole.end, node.start + _LOOKED_AT)
    text = source.data[node.start : end].decode("utf-8", "ignore")
    written = _DOTTED.match(text)
    if written is None or "-" not in written[2]:
        return "`-` subtracts, and this is no number: call a tool, mcp.server.tool({ ... })"
    names = "".join(access(name) for name in written[2].split(".")[1:])
    call = "(...)" if written[3] else ""
    return f"`-` subtracts: names with hyphens go in brackets, {written[1]}{names}{call}"
