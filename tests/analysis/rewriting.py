"""What rewrites of programs share: a text with what its names mean, and edits by byte range."""

import random
import re
from collections.abc import Callable

from pml.analysis.calls import Calls
from pml.analysis.functions import Functions
from pml.analysis.inputs import inputs
from pml.analysis.lifting import lift, passed
from pml.analysis.scope import Scopes
from pml.analysis.syntax import Source, Syntax

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


def passed_objects(one: Parsed) -> list[Syntax]:
    found = []
    for node in one.source.of_kinds("object"):
        outer = node.parent
        while outer is not None and outer.kind in {*STILL, "satisfies_expression"}:
            outer = outer.parent
        call = outer.parent if outer is not None and outer.kind == "arguments" else None
        site = one.calls.by_node.get(call) if call is not None else None
        if site is not None and len(site.arguments) == 1:
            found.append(node)
    return found


def has_plain_keys(one: Parsed, node: Syntax) -> bool:
    keys = [one.text(child.get("key") or child).strip("'\"") for child in node.children]
    plain = all(re.fullmatch(r"[a-z][\w-]*", key) for key in keys)
    return plain and len(set(keys)) == len(keys)


def chosen(nodes: list[Syntax], dice: Dice) -> Syntax | None:
    return dice.choice(nodes) if nodes else None


def put_name(one: Parsed, node: Syntax, name: str) -> None:
    one.put(node, f"{one.text(node)}: {name}" if node.kind.startswith("shorthand") else name)


STILL = frozenset(
    """
    identifier shorthand_property_identifier property_identifier member_expression
    string string_fragment escape_sequence number true false null undefined
    array object pair template_string parenthesized_expression as_expression non_null_expression
    """.split()  # noqa: SIM905
)
