"""The grammar of TypeScript, and what becomes of each kind of its nodes in a light tree."""

from sys import intern

import tree_sitter_typescript
from tree_sitter import Language, Node

LANGUAGE = Language(tree_sitter_typescript.language_typescript())

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
TYPE_SUFFIXED = frozenset({"as_expression", "satisfies_expression"})
_NOTED = frozenset({"html_comment", "type_arguments"})
_PLACED = frozenset(":.[")
"""Punctuation whose place splicing needs."""
_PUNCTUATION = frozenset("(){}];'\"`") | {"=>", "${", "/"}
_LEAVES = frozenset(
    {"identifier", "property_identifier", "number", "string", "true", "false", "null", "this"}
    | {"shorthand_property_identifier", "shorthand_property_identifier_pattern"}
    | {"undefined", "statement_identifier", "type_identifier", "private_property_identifier"}
)
"""Of these the text says all; what is inside a string is not looked at one by one."""
_LOOKED_AT = frozenset({"binary_expression", "non_null_expression"})
"""Kinds that may not be what they seem."""

COPY, LOOK, LEAF, DROP, PLACE, COMMA, TOKEN, NOTE = range(8)
"""What copying does with a node, by its kind: copy it and go into it, the same if it is what it
seems, copy it, leave it out, remember where it stands, count it, remember it as an operator or
keyword, leave it out and remember where it was.  Plain numbers: an enumeration costs a tenth of
the copy."""


def _action(kind: str, *, is_named: bool, with_types: bool) -> int:
    if not is_named:
        if kind == ",":
            return COMMA
        if kind in _PLACED:
            return PLACE
        return DROP if kind in _PUNCTUATION else TOKEN
    if kind in _COMMENTS or (kind in _TYPES and not with_types):
        return NOTE if kind in _NOTED else DROP
    if kind in _LEAVES:
        return LEAF
    return LOOK if kind in _LOOKED_AT else COPY


def _actions(*, with_types: bool) -> dict[int, tuple[int, str]]:
    """Decided once per kind: kinds are numbers, and of names there are few."""
    found = {_ERROR: (COPY, "ERROR")}
    for number in range(LANGUAGE.node_kind_count):
        kind = intern(LANGUAGE.node_kind_for_id(number) or "")
        is_named = LANGUAGE.node_kind_is_named(number)
        found[number] = (_action(kind, is_named=is_named, with_types=with_types), kind)
    return found


_ERROR = 0xFFFF
"""tree-sitter's number for what does not parse."""
ACTIONS = {with_types: _actions(with_types=with_types) for with_types in (False, True)}
FIELDS = {
    number: intern(LANGUAGE.field_name_for_id(number) or "")
    for number in range(1, LANGUAGE.field_count + 1)
}
"""Names of fields by their number: each the same text every time, so that it is found at once."""
_BINARY = LANGUAGE.id_for_node_kind("binary_expression", True)  # of a C function
_LONG_CHAIN = 64
"""Operators in a row from which on `a + b + c` is one node: it is nested to the left, so a sum
of a thousand terms would be a thousand levels deep."""
_IN_CHAIN = frozenset("+-*/%|&^")
"""Operators that evaluate both sides, and group from the left."""
OPERATIONS = frozenset(
    {"binary_expression", "unary_expression", "await_expression", "update_expression"}
)
"""What `!` and `<T>` of a call bind more tightly than, and the grammar less."""
TAKING = frozenset(
    {"binary_expression", "member_expression", "subscript_expression", "call_expression"}
)
"""What makes a difference of it: it takes the whole operation in place of its last operand."""


def chain_length(binary: Node) -> int:
    """How many operations a long chain has that ends with this one; 1 where there is none."""
    if binary.descendant_count < 3 * _LONG_CHAIN:
        return 1
    length = 0
    node: Node | None = binary
    while node is not None and node.kind_id == _BINARY and _is_in_chain(node):
        node = node.child(0)
        length += 1
    return length if length >= _LONG_CHAIN else 1


def _is_in_chain(node: Node) -> bool:
    operator = node.child_by_field_name("operator")
    return operator is not None and operator.type in _IN_CHAIN
