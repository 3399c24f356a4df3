"""Ways to write the same program differently.

Each takes a text and dice and gives a text: the same one where it finds nothing to do.
"""

import json
import re
from collections.abc import Iterator

from pml.analysis.escapes import code_units
from pml.analysis.literals import number_value
from pml.analysis.syntax import LOOPS, Syntax
from tests.analysis.rewriting import (
    STILL,
    Dice,
    Parsed,
    Rewrite,
    has_plain_keys,
    passed_objects,
    put_name,
    some,
)


def rename(text: str, _: Dice) -> str:
    """Variables, functions, parameters, classes, labels."""
    one = Parsed(text)
    names = {**one.scopes.bound, **one.scopes.targets}
    numbers = {binding: f"w{n}_" for n, binding in enumerate(dict.fromkeys(names.values()))}
    for node, binding in names.items():
        if binding.kind != "enum" and not _is_property(binding.node):
            put_name(one, node, numbers[binding])
    for node in one.source.of_kinds("statement_identifier"):
        one.put(node, f"label_{one.text(node)}")
    return one.done()


def _is_property(parameter: Syntax) -> bool:
    """``private x`` in a constructor: its name is that of a property, too."""
    outer = parameter.parent
    return outer is not None and outer.get("pattern") is parameter and outer.start < parameter.start


def comment(text: str, dice: Dice) -> str:
    one = Parsed(text)
    for node in some(one.expressions(), dice):
        before = one.source.data[max(0, node.start - 9) : node.start].rstrip()
        if not before.endswith((b"return", b"throw", b"yield")):  # which a line would end
            text_before = dice.choice([" /* f(1, 'x') */ ", "\n", "  // y\n\t"])
            one.replace(node.start, node.start, text_before)
    return one.done()


def parenthesise(text: str, dice: Dice) -> str:
    one = Parsed(text)
    for node in some(one.expressions(), dice):
        one.replace(node.start, node.start, "(")
        one.replace(node.end, node.end, ")")
    return one.done()


def annotate(text: str, dice: Dice) -> str:
    one = Parsed(text)
    for node in some(one.expressions(), dice):
        # not as an operand: the grammar takes `a && b! > 1` for `(a && b!) > 1`
        if node.parent is not None and node.parent.kind in {"arguments", "array", "pair"}:
            one.replace(node.end, node.end, dice.choice(["!", " as any", " satisfies unknown"]))
    for node in some(one.source.of_kinds("variable_declarator"), dice):
        plain = ":" not in one.source.data[node["name"].end : node.end].decode().partition("=")[0]
        if plain and node.parent is not None and "value" in node.fields:
            one.replace(node["name"].end, node["name"].end, ": any")
    return f"type Any{dice.randrange(9)} = {{ mcp: 'x' }}\n;{one.done()}"


def requote(text: str, dice: Dice) -> str:
    one = Parsed(text)
    for node in some(one.source.of_kinds("string", "template_string"), dice):
        tagged = node.parent is not None and node.parent.kind == "call_expression"
        if node.kind == "template_string" and (
            tagged or any(child.kind == "template_substitution" for child in node.children)
        ):
            continue
        value = code_units(one.text(node)[1:-1].replace("\r\n", "\n"))
        one.put(node, json.dumps(value) if dice.random() < 0.7 else _escaped(value))
    return one.done()


def _escaped(value: str) -> str:
    units = value.encode("utf-16-be", "surrogatepass")
    return (
        "'" + "".join(f"\\u{units[n]:02x}{units[n + 1]:02X}" for n in range(0, len(units), 2)) + "'"
    )


def renumber(text: str, dice: Dice) -> str:
    one = Parsed(text)
    for node in some(one.source.of_kinds("number"), dice):
        value = number_value(one.text(node))
        fixed = node.parent is None or node.parent.kind in {"pair", "member_expression"}
        if isinstance(value, int) and not fixed:
            one.put(node, dice.choice([f"0x{value:X}", f"{value}.00", f"{value}e0", str(value)]))
    return one.done()


def subscript(text: str, dice: Dice) -> str:
    one = Parsed(text)
    for node in some(one.source.of_kinds("member_expression"), dice):
        key, optional = node["property"], node.get("optional_chain")
        if key.kind == "property_identifier":
            start = node.mark if optional is None else optional.start
            name = json.dumps(one.source.name(key))
            one.replace(start, key.end, f"[{name}]" if optional is None else f"?.[{name}]")
    return one.done()


def requote_keys(text: str, dice: Dice) -> str:
    one = Parsed(text)
    for pair in some(one.source.of_kinds("pair"), dice):
        key = pair["key"]
        if key.kind == "property_identifier":
            one.put(key, json.dumps(one.source.name(key)))
        elif key.kind == "string" and re.fullmatch(r"['\"][a-z]+['\"]", one.text(key)):
            one.put(key, one.text(key)[1:-1])
    for name in some(one.source.of_kinds("shorthand_property_identifier"), dice):
        one.put(name, f"{one.text(name)}: {one.text(name)}")
    return one.done()


def brace(text: str, dice: Dice) -> str:
    """A block around the single statement of a branch or loop."""
    one = Parsed(text)
    bodies = [
        body
        for node in one.source.of_kinds(*LOOPS, "if_statement")
        if (body := node.get("consequence") or node.get("body")) is not None
    ]
    bodies += [node.children[0] for node in one.source.of_kinds("else_clause")]
    for body in some(bodies, dice):
        if body.kind != "statement_block":
            one.replace(body.start, body.start, "{")
            one.replace(body.end, body.end, "\n}")  # it may end with a comment
    return one.done()


def let_for_const(text: str, dice: Dice) -> str:
    one = Parsed(text)
    for node in some(one.source.of_kinds("lexical_declaration"), dice):
        if "const" in node.tokens:
            one.replace(node.start, node.start + len("const"), "let")
    return one.done()


def return_from_arrow(text: str, dice: Dice) -> str:
    one = Parsed(text)
    for node in some(one.source.of_kinds("arrow_function"), dice):
        if node["body"].kind != "statement_block":
            one.replace(node["body"].start, node["body"].start, "{ return (")
            one.replace(node["body"].end, node["body"].end, "); }")
    return one.done()


def empty_arguments(text: str, dice: Dice) -> str:
    one = Parsed(text)
    called = [site.call for site in one.calls.sites if site.call is not None]
    for call in some(called, dice):
        given = call["arguments"]
        if not given.children and one.text(given) == "()" and "?." not in call.tokens:
            one.put(given, "({})" if "optional_chain" not in call.fields else "()")
    return one.done()


def reorder(text: str, dice: Dice) -> str:
    """The pairs of an object in what is passed to a tool, whose values only read."""
    one = Parsed(text)
    objects = [o for o in passed_objects(one) if has_plain_keys(one, o) and _is_still(one, o)]
    if not objects:
        return text
    chosen = dice.choice(objects)
    shuffled = dice.sample(chosen.children, len(chosen.children))
    for place, child in zip(chosen.children, shuffled, strict=True):
        one.put(place, one.text(child))
    return one.done()


def _is_still(one: Parsed, node: Syntax) -> bool:
    return (
        all(
            n.kind in STILL
            and n not in one.calls.by_node
            and (n.kind != "member_expression" or re.fullmatch(r"args\.\w+", one.text(n)))
            for n in _below(node)
        )
        and not one.inputs.whole
    )


def _below(node: Syntax) -> Iterator[Syntax]:
    for child in node.children:
        yield child
        yield from _below(child)


def other_literals(text: str, dice: Dice) -> str:
    """What is lifted, of any JSON type; behind a name any scalar."""
    one = Parsed(text)
    scalars = ["'z'", "42", "null", "true", "-1.5", "`t`", "`two\nlines`"]
    for lifted in one.lifted:
        behind_a_name = not lifted.site.node.covers(lifted.node)
        values = scalars if behind_a_name else [*scalars, "[1, ['a']]", "{ a: { b: [] } }", "[]"]
        one.put(lifted.node, dice.choice(values))
    return one.done()


def commas(text: str, dice: Dice) -> str:
    one = Parsed(text)
    for node in some(one.source.of_kinds("array", "object", "arguments"), dice):
        if node.children and node.commas == node.children[-1].index:
            one.replace(node.children[-1].end, node.children[-1].end, ",")
    return one.done()


def semicolons(text: str, dice: Dice) -> str:
    one = Parsed(text)
    for node in some(one.source.of_kinds("expression_statement", "lexical_declaration"), dice):
        if node.parent is not None and node.parent.kind in {"program", "statement_block"}:
            one.replace(node.end, node.end, "; ;")
    return one.done()


SAME: tuple[Rewrite, ...] = (
    rename,
    comment,
    parenthesise,
    annotate,
    requote,
    renumber,
    subscript,
    requote_keys,
    reorder,
    other_literals,
    commas,
    semicolons,
    brace,
    let_for_const,
    return_from_arrow,
    empty_arguments,
)
