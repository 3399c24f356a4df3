"""Ways to write the same program differently, and ways to make it another one.

Each takes a text and dice and gives a text: the same one where it finds nothing to do.
"""

import json
import random
import re
from collections.abc import Callable, Iterator

from pml.analysis.calls import Calls
from pml.analysis.escapes import code_units
from pml.analysis.functions import Functions
from pml.analysis.inputs import inputs
from pml.analysis.lifting import lift, passed
from pml.analysis.literals import key_name, literal, number_value
from pml.analysis.scope import Scopes
from pml.analysis.syntax import LOOPS, MEMBERS, Source, Syntax, bare

Dice = random.Random
Rewrite = Callable[[str, Dice], str]
_POSITIONS = {
    "arguments": None,
    "array": None,
    "pair": "value",
    "binary_expression": None,
    "ternary_expression": None,
    "variable_declarator": "value",
}
"""Where an expression may be put in parentheses: the parent, and the field if only one."""
_CHOSEN = 0.4


class Parsed:
    """A text with what its names mean; collects edits by byte range."""

    def __init__(self, text: str) -> None:
        self.source = Source(text)
        self.scopes = Scopes(self.source)
        functions = Functions(self.source, self.scopes)
        self.calls = Calls(self.source, self.scopes, functions)
        self.inputs = inputs(self.source, self.scopes)
        values = passed(self.source, self.calls)
        lifts = lift(
            self.source, self.scopes, functions, self.calls, values=values, read=self.inputs
        )
        self.lifted = lifts.literals
        self.edits: list[tuple[int, int, str]] = []

    def replace(self, start: int, end: int, text: str) -> None:
        self.edits.append((start, end, text))

    def put(self, node: Syntax, text: str) -> None:
        self.replace(node.start, node.end, text)

    def text(self, node: Syntax) -> str:
        return self.source.text(node)

    def done(self) -> str:
        data, parts, at = self.source.data, [], 0
        for start, end, text in sorted(self.edits):
            parts += [data[at:start], text.encode()]
            at = end
        return b"".join([*parts, data[at:]]).decode()

    def expressions(self) -> list[Syntax]:
        found = []
        for kind, field in _POSITIONS.items():
            for parent in self.source.of_kinds(kind):
                found += [
                    child
                    for child in parent.children
                    if (field is None or parent.get(field) is child)
                    and child.kind != "spread_element"
                ]
        return found


def some(nodes: list[Syntax], dice: Dice) -> list[Syntax]:
    return [node for node in nodes if dice.random() < _CHOSEN]


# The same program


def rename(text: str, _: Dice) -> str:
    """Variables, functions, parameters, classes, labels."""
    one = Parsed(text)
    names = {**one.scopes.bound, **one.scopes.targets}
    numbers = {binding: f"w{n}_" for n, binding in enumerate(dict.fromkeys(names.values()))}
    for node, binding in names.items():
        if binding.kind != "enum" and not _is_property(binding.node):
            _rename(one, node, numbers[binding])
    for node in one.source.of_kinds("statement_identifier"):
        one.put(node, f"label_{one.text(node)}")
    return one.done()


def _is_property(parameter: Syntax) -> bool:
    """``private x`` in a constructor: its name is that of a property, too."""
    outer = parameter.parent
    return outer is not None and outer.get("pattern") is parameter and outer.start < parameter.start


def _rename(one: Parsed, node: Syntax, name: str) -> None:
    one.put(node, f"{one.text(node)}: {name}" if node.kind.startswith("shorthand") else name)


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


_STILL = frozenset(
    """
    identifier shorthand_property_identifier property_identifier member_expression
    string string_fragment escape_sequence number true false null undefined
    array object pair template_string parenthesized_expression as_expression non_null_expression
    """.split()  # noqa: SIM905
)


def reorder(text: str, dice: Dice) -> str:
    """The pairs of an object in what is passed to a tool, whose values only read."""
    one = Parsed(text)
    objects = [o for o in _passed_objects(one) if _has_plain_keys(one, o) and _is_still(one, o)]
    if not objects:
        return text
    chosen = dice.choice(objects)
    shuffled = dice.sample(chosen.children, len(chosen.children))
    for place, child in zip(chosen.children, shuffled, strict=True):
        one.put(place, one.text(child))
    return one.done()


def _passed_objects(one: Parsed) -> list[Syntax]:
    found = []
    for node in one.source.of_kinds("object"):
        outer = node.parent
        while outer is not None and outer.kind in {*_STILL, "satisfies_expression"}:
            outer = outer.parent
        call = outer.parent if outer is not None and outer.kind == "arguments" else None
        site = one.calls.by_node.get(call) if call is not None else None
        if site is not None and len(site.arguments) == 1:
            found.append(node)
    return found


def _has_plain_keys(one: Parsed, node: Syntax) -> bool:
    keys = [one.text(child.get("key") or child).strip("'\"") for child in node.children]
    plain = all(re.fullmatch(r"[a-z][\w-]*", key) for key in keys)
    return plain and len(set(keys)) == len(keys)


def _is_still(one: Parsed, node: Syntax) -> bool:
    return (
        all(
            n.kind in _STILL
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

# Another program


def _one(nodes: list[Syntax], dice: Dice) -> Syntax | None:
    return dice.choice(nodes) if nodes else None


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
    node = _one(one.source.of_kinds("binary_expression"), dice)
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
    node = _one([m for m in members if one.text(m) in tools], dice)
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
    node = _one(nodes, dice)
    if node is not None and node.kind == "number":
        one.put(node, f"{number_value(one.text(node)) or 0}7")
    elif node is not None:
        one.put(node, json.dumps(code_units(one.text(node)[1:-1]) + "!"))
    return one.done()


def no_await(text: str, dice: Dice) -> str:
    one = Parsed(text)
    node = _one(one.source.of_kinds("await_expression"), dice)
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
    node = _one(_statements(one, "expression_statement"), dice)
    if node is not None:
        one.put(node, ";")
    return one.done()


def double_statement(text: str, dice: Dice) -> str:
    one = Parsed(text)
    node = _one(_statements(one, "expression_statement"), dice)
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
            _rename(one, use, other.name)
    return one.done()


def before_or_after(text: str, dice: Dice) -> str:
    one = Parsed(text)
    node = _one(one.source.of_kinds("update_expression"), dice)
    if node is not None:
        name, operator = one.text(node["argument"]), node.tokens[0]
        before = node.start < node["argument"].start
        one.put(node, name + operator if before else operator + name)
    return one.done()


def other_declaration(text: str, dice: Dice) -> str:
    one = Parsed(text)
    found = [n for n in one.source.of_kinds("lexical_declaration") if "const" in n.tokens]
    node = _one(found, dice)
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
    node = _one(nodes, dice)
    if node is not None:
        one.put(node["consequence"], one.text(node["alternative"]))
        one.put(node["alternative"], one.text(node["consequence"]))
    return one.done()


def optional(text: str, dice: Dice) -> str:
    one = Parsed(text)
    members = one.source.of_kinds("member_expression")
    node = _one([m for m in members if m.mark >= 0 and m not in one.inputs.places], dice)
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
            _rename(one, node, f"other_{name}")
    return one.done()


def other_input(text: str, dice: Dice) -> str:
    """One place reads another input that the program has."""
    one = Parsed(text)
    reads = {n: name for n, name in one.inputs.places.items() if n.kind in {*MEMBERS, "identifier"}}
    node = _one(list(reads), dice)
    others = [name for name in reads.values() if node is not None and name != reads[node]]
    if node is not None and others:
        one.put(node, f"args.{dice.choice(others)}")
    return one.done()


def literal_to_input(text: str, dice: Dice) -> str:
    one = Parsed(text)
    node = _one([lifted.node for lifted in one.lifted], dice)
    if node is not None:
        one.put(node, "args.name")
    return one.done()


def reorder_elsewhere(text: str, dice: Dice) -> str:
    """Two pairs of an object that code may look at: the order of its keys is observable."""
    one = Parsed(text)
    passed_on = set(_passed_objects(one))
    inside = [node for node in one.source.of_kinds("object") if node not in passed_on]
    found = [n for n in inside if len(n.children) > 1 and _has_plain_keys(one, n)]
    node = _one(found, dice)
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
