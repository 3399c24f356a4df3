"""Ways to make a program another one.

Each takes a text and dice and gives a text: the same one where it finds nothing to do.
"""

import json

from pml.analysis.escapes import code_units
from pml.analysis.literals import key_name, literal, number_value
from pml.analysis.syntax import MEMBERS, Syntax, bare
from tests.analysis.rewriting import (
    Dice,
    Parsed,
    Rewrite,
    chosen,
    has_plain_keys,
    passed_objects,
    put_name,
)

_OPERATORS = {
    "+": "-",
    ">": ">=",
    "<": "<=",
    "&&": "||",
    "||": "&&",
    "===": "!==",
    "!=": "==",
    "%": "*",
    "??": "&&",
}


def other_operator(text: str, dice: Dice) -> str:
    one = Parsed(text)
    node = chosen(one.source.of_kinds("binary_expression"), dice)
    if node is None:
        return text
    start, end = node["left"].end, node["right"].start
    operator = one.source.data[start:end].decode().strip()
    if operator in _OPERATORS:
        one.replace(start, end, f" {_OPERATORS[operator]} ")
    return one.done()


def other_tool(text: str, dice: Dice) -> str:
    one = Parsed(text)
    tools = {"read": "list", "list": "stat", "stat": "read", "count": "query", "get": "set"}
    members = [m["property"] for m in one.source.of_kinds("member_expression")]
    node = chosen([m for m in members if one.text(m) in tools], dice)
    if node is not None:
        one.put(node, tools[one.text(node)])
    return one.done()


def other_constant(text: str, dice: Dice) -> str:
    """A literal that is not lifted."""
    one = Parsed(text)
    spans = [lifted.node for lifted in one.lifted]
    nodes = [
        node
        for node in one.source.of_kinds("string", "number")
        if not any(span.covers(node) for span in spans)
    ]
    node = chosen(nodes, dice)
    if node is not None and node.kind == "number":
        one.put(node, f"{number_value(one.text(node)) or 0}7")
    elif node is not None:
        one.put(node, json.dumps(code_units(one.text(node)[1:-1]) + "!"))
    return one.done()


def no_await(text: str, dice: Dice) -> str:
    one = Parsed(text)
    node = chosen(one.source.of_kinds("await_expression"), dice)
    if node is not None:
        one.put(node, f"({one.text(node.children[0])})")
    return one.done()


def _shape(one: Parsed, node: Syntax) -> list[object]:
    """The node without names, spelling and literals that are lifted."""
    if any(lifted.node is node for lifted in one.lifted):
        return ["hole"]
    node = bare(node)
    if node in one.inputs.places and node.kind != "shorthand_property_identifier":
        return ["input", one.inputs.places[node]]
    if node.kind in {"pair", "shorthand_property_identifier"}:
        key = node.get("key") or node
        value = _shape(one, node["value"]) if "value" in node.fields else ["identifier", ""]
        return ["pair", key_name(one.source, key), *value]
    if node.kind in {"string", "number", "template_string"} and not node.get("property"):
        return [literal(one.source, node), *(x for c in node.children for x in _shape(one, c))]
    if node.kind in MEMBERS:
        key = node.get("property") or node["index"]
        name = key_name(one.source, key)
        return ["member", "optional_chain" in node.fields, name, *_shape(one, node["object"])]
    name = one.text(node) if node.kind == "property_identifier" else ""
    return [node.kind, name, *node.tokens, *(x for c in node.children for x in _shape(one, c))]


_BLOCKS = ("program", "statement_block")


def _statements(one: Parsed, *kinds: str) -> list[Syntax]:
    found = [s for block in one.source.of_kinds(*_BLOCKS) for s in block.children]
    return [s for s in found if not kinds or s.kind in kinds]


def swap_statements(text: str, dice: Dice) -> str:
    one = Parsed(text)
    pairs = [
        (a, b)
        for block in one.source.of_kinds(*_BLOCKS)
        for a, b in zip(block.children, block.children[1:], strict=False)
        if _shape(one, a) != _shape(one, b) and "empty_statement" not in {a.kind, b.kind}
    ]
    if pairs:
        a, b = dice.choice(pairs)
        one.put(a, one.text(b) + ";")
        one.put(b, one.text(a) + ";")
    return one.done()


def drop_statement(text: str, dice: Dice) -> str:
    one = Parsed(text)
    node = chosen(_statements(one, "expression_statement"), dice)
    if node is not None:
        one.put(node, ";")
    return one.done()


def double_statement(text: str, dice: Dice) -> str:
    one = Parsed(text)
    node = chosen(_statements(one, "expression_statement"), dice)
    if node is not None:
        one.put(node, f"{one.text(node)};{one.text(node)};")
    return one.done()


def other_variable(text: str, dice: Dice) -> str:
    """A use reads another variable of the same scope, declared before."""
    one = Parsed(text)
    choices = []
    for table in one.scopes.tables.values():
        for binding in table.values():
            for use in binding.uses:
                others = [o for o in table.values() if o is not binding and o.kind != "enum"]
                choices += [(use, o) for o in others if o.node.end < use.start]
    if choices:
        use, other = dice.choice(choices)
        if one.scopes.lookup(other.name, use) is other:
            put_name(one, use, other.name)
    return one.done()


def before_or_after(text: str, dice: Dice) -> str:
    one = Parsed(text)
    node = chosen(one.source.of_kinds("update_expression"), dice)
    if node is not None:
        name, operator = one.text(node["argument"]), node.tokens[0]
        before = node.start < node["argument"].start
        one.put(node, name + operator if before else operator + name)
    return one.done()


def other_declaration(text: str, dice: Dice) -> str:
    one = Parsed(text)
    found = [n for n in one.source.of_kinds("lexical_declaration") if "const" in n.tokens]
    node = chosen(found, dice)
    if node is not None:
        one.replace(node.start, node.start + len("const"), "var")
    return one.done()


def swap_branches(text: str, dice: Dice) -> str:
    one = Parsed(text)
    nodes = [
        n
        for n in one.source.of_kinds("ternary_expression")
        if _shape(one, n["consequence"]) != _shape(one, n["alternative"])
    ]
    node = chosen(nodes, dice)
    if node is not None:
        one.put(node["consequence"], one.text(node["alternative"]))
        one.put(node["alternative"], one.text(node["consequence"]))
    return one.done()


def optional(text: str, dice: Dice) -> str:
    one = Parsed(text)
    members = one.source.of_kinds("member_expression")
    node = chosen([m for m in members if m.mark >= 0 and m not in one.inputs.places], dice)
    if node is not None:
        one.replace(node.mark, node.mark + 1, "?.")
    return one.done()


def rename_input(text: str, dice: Dice) -> str:
    """One input, wherever it is read by its name."""
    one = Parsed(text)
    names = [] if one.inputs.whole else list(one.inputs.names)
    name = dice.choice(names) if names else ""
    for node, read in one.inputs.places.items():
        if read == name and node.kind in MEMBERS:
            key = node.get("property") or node["index"]
            one.put(key, f"other_{name}" if "property" in node.fields else f"'other_{name}'")
        elif read == name and node.kind in {"identifier", "shorthand_property_identifier"}:
            put_name(one, node, f"other_{name}")
    return one.done()


def other_input(text: str, dice: Dice) -> str:
    """One place reads another input that the program has."""
    one = Parsed(text)
    reads = {n: name for n, name in one.inputs.places.items() if n.kind in {*MEMBERS, "identifier"}}
    node = chosen(list(reads), dice)
    others = [name for name in reads.values() if node is not None and name != reads[node]]
    if node is not None and others:
        one.put(node, f"args.{dice.choice(others)}")
    return one.done()


def literal_to_input(text: str, dice: Dice) -> str:
    one = Parsed(text)
    node = chosen([lifted.node for lifted in one.lifted], dice)
    if node is not None:
        one.put(node, "args.name")
    return one.done()


def reorder_elsewhere(text: str, dice: Dice) -> str:
    """Two pairs of an object that code may look at: the order of its keys is observable."""
    one = Parsed(text)
    passed_on = set(passed_objects(one))
    inside = [node for node in one.source.of_kinds("object") if node not in passed_on]
    found = [n for n in inside if len(n.children) > 1 and has_plain_keys(one, n)]
    node = chosen(found, dice)
    if node is not None:
        a, b = dice.sample(node.children, 2)
        one.put(a, one.text(b))
        one.put(b, one.text(a))
    return one.done()


OTHER: tuple[Rewrite, ...] = (
    rename_input,
    other_input,
    literal_to_input,
    reorder_elsewhere,
    other_operator,
    other_tool,
    other_constant,
    no_await,
    swap_statements,
    drop_statement,
    double_statement,
    other_variable,
    before_or_after,
    other_declaration,
    swap_branches,
    optional,
)
