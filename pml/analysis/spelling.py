"""What a program says, however it is spelled: exact texts, numbers, keys, ends of chains.

Used by the canonical form, so everything here is exact where `pml.analysis.literals`, which
makes JSON values, may round: halves of surrogate pairs and large integers stay apart.
"""

from pml.analysis.escapes import code_units
from pml.analysis.literals import number_value
from pml.analysis.syntax import MEMBERS, Source, Syntax, bare

_CHAIN = MEMBERS | {"call_expression"}
_NAMES = frozenset(
    {
        "property_identifier",
        "shorthand_property_identifier",
        "shorthand_property_identifier_pattern",
        "identifier",
    }
)


def fragment(source: Source, start: int, end: int) -> str:
    """The text that a range inside quotes stands for."""
    text = source.data[start:end].decode("utf-8", "replace")
    return code_units(text.replace("\r\n", "\n"))


def static_text(source: Source, node: Syntax) -> str | None:
    """The string that a string, a template or a whole number is as a key; None for others."""
    if node.kind == "number":
        text = number_text(source, node)
        return text if text.isdecimal() else None
    if node.kind == "string" or (
        node.kind == "template_string"
        and all(child.kind != "template_substitution" for child in node.children)
    ):
        return fragment(source, node.start + 1, node.end - 1)
    return None


def static_key(source: Source, key: Syntax) -> str | None:
    """The name that a property key surely has; None for one that is computed.

    ``["__proto__"]`` counts as computed: it is a property, and ``__proto__`` is none.
    """
    if key.kind in _NAMES:  # most are
        return source.name(key)
    node = bare(key)
    if node.kind == "computed_property_name" and node.children:
        name = static_text(source, bare(node.children[0]))
        return None if name == "__proto__" else name
    return source.name(node) if node.kind in _NAMES else static_text(source, node)


def number_text(source: Source, node: Syntax) -> str:
    """The value of a number in one spelling."""
    text = source.text(node).replace("_", "").lower()
    if text.endswith("n"):
        try:
            return f"{int(text[:-1], 0)}n"
        except ValueError:  # too long to convert: as it is spelled
            return text
    value = number_value(text)
    return text if value is None else repr(value)


def ends_chain(node: Syntax) -> bool:
    """Whether parentheses around an optional chain keep it from going on."""
    in_parentheses = False
    while node is not bare(node):
        in_parentheses |= node.kind != "non_null_expression"
        node = node.children[0]
    while in_parentheses and node.kind in _CHAIN:
        if "optional_chain" in node.fields or "?." in node.tokens:
            return True
        inner = node["function"] if node.kind == "call_expression" else node["object"]
        while inner.kind == "non_null_expression" and inner.children:
            inner = inner.children[0]
        node = inner
    return False
