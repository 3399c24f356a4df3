"""Values written in the source: strings, numbers and JSON made of them."""

from bisect import bisect_left
from collections.abc import Callable
from typing import Any, Final

from pml.analysis.escapes import unescape
from pml.analysis.syntax import Source, Syntax, bare

_SAFE_INTEGER = 2**53


class NotLiteral:
    """The type of `NOT_LITERAL`, which JSON null cannot stand for."""


NOT_LITERAL: Final = NotLiteral()


def string_value(source: Source, node: Syntax) -> str | None:
    """The value of a string or of a template without substitutions, else None."""
    if node.kind == "string":
        return unescape(source.text(node)[1:-1])
    if node.kind == "template_string":
        if any(child.kind == "template_substitution" for child in node.children):
            return None
        return unescape(source.text(node)[1:-1].replace("\r\n", "\n"))
    return None


def key_name(source: Source, key: Syntax) -> str | None:
    """The name that a property key stands for; None for a computed one."""
    if key.kind == "property_identifier":  # most are
        return source.name(key)
    if key.kind == "string":
        return string_value(source, key)
    if key.kind == "number":
        value = _number(source.text(key))
        return None if isinstance(value, NotLiteral) else str(value)
    if key.kind == "computed_property_name":
        return string_value(source, bare(key.children[0])) if key.children else None
    return source.name(key)


def literal(source: Source, node: Syntax) -> Any:  # noqa: ANN401  # any JSON value
    """The JSON value that the expression writes down, or `NOT_LITERAL`."""
    node = bare(node)
    kind = node.kind
    if kind in _CONSTANTS:
        return _CONSTANTS[kind]
    read = _READERS.get(kind)
    return NOT_LITERAL if read is None else read(source, node)


def _text(source: Source, node: Syntax) -> "str | NotLiteral":
    text = string_value(source, node)
    return NOT_LITERAL if text is None else text


_CONSTANTS = {"true": True, "false": False, "null": None}


def number_value(text: str) -> int | float | None:
    """The value of a number, whole ones as integers; None for what JSON has no number for."""
    value = _number(text)
    return None if isinstance(value, NotLiteral) else value


def _number(text: str) -> "int | float | NotLiteral":
    text = text.replace("_", "")
    try:
        if text[:2].lower() in {"0x", "0o", "0b"}:
            value = float(int(text, 0))
        elif text.endswith("n"):
            return NOT_LITERAL
        else:
            value = float(text)
    except (ValueError, OverflowError):
        return NOT_LITERAL
    if value.is_integer() and abs(value) <= _SAFE_INTEGER:
        return int(value)
    return value if abs(value) != float("inf") else NOT_LITERAL


def _signed(source: Source, node: Syntax) -> "int | float | NotLiteral":
    value = literal(source, node["argument"]) if "argument" in node.fields else NOT_LITERAL
    if isinstance(value, bool) or not isinstance(value, int | float):
        return NOT_LITERAL
    if "-" in node.tokens:
        return -value if value != 0 else NOT_LITERAL
    return value if "+" in node.tokens else NOT_LITERAL


def _array(source: Source, node: Syntax) -> "list[Any] | NotLiteral":
    holes = node.commas > len(node.children)
    if holes or any(child.index != place for place, child in enumerate(node.children)):
        return NOT_LITERAL  # a hole
    values = [literal(source, child) for child in node.children]
    return NOT_LITERAL if NOT_LITERAL in values else values


def _object(source: Source, node: Syntax) -> "dict[str, Any] | NotLiteral":
    found: dict[str, Any] = {}
    for child in node.children:
        name = key_name(source, child["key"]) if child.kind == "pair" else None
        value = literal(source, child["value"]) if name is not None else NOT_LITERAL
        if name is None or value is NOT_LITERAL or name == "__proto__":
            return NOT_LITERAL
        found[name] = value
    return found


_READERS: dict[str, Callable[[Source, Syntax], Any]] = {
    "string": _text,
    "template_string": _text,
    "number": lambda source, node: _number(source.text(node)),
    "unary_expression": _signed,
    "array": _array,
    "object": _object,
}


def clause_outcome(source: Source, clause: Syntax) -> str:
    """The outcome that a clause of a switch stands for: ``case:x`` or ``default``.

    For what is no literal, its place among the clauses stands: the text of an expression may
    differ in programs that are one procedure (SA-8).
    """
    if clause.kind == "switch_default":
        return "default"
    value = literal(source, clause["value"])
    if isinstance(value, str):
        return f"case:{value}"
    if value is None or isinstance(value, bool):
        return f"case:{source.text(bare(clause['value']))}"
    if isinstance(value, int | float):
        return f"case:{value!r}"
    clauses = [] if clause.parent is None else clause.parent.children
    place = bisect_left(clauses, clause.start, key=lambda one: one.start)
    return f"case:<{place + 1}>"
