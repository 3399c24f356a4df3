"""What is known of a value before the program runs, and which parts of it are not (SA-7)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pml.analysis.literals import NOT_LITERAL, key_name, literal
from pml.analysis.patterns import Path
from pml.analysis.syntax import Source, Syntax, bare
from pml.domain.structure import SPREAD, Argument, Literal

PLACEHOLDER: Final = "\0"
"""Stands in a value for what is not known."""


@dataclass(slots=True)
class Partial:
    """A JSON value of which parts are not known.

    ``unknown`` are the places of placeholders, ``open`` those of arrays and objects that may hold
    more than is written; ``touched`` both, and all places around them.
    """

    value: Any = None
    unknown: set[Path] = field(default_factory=set)
    open: set[Path] = field(default_factory=set)
    touched: set[Path] = field(default_factory=set)

    def mark(self, places: set[Path], place: Path) -> None:
        """Note a place in one of the sets."""
        places.add(place)
        self.touched.update(place[:length] for length in range(len(place) + 1))

    def hides(self, place: Path) -> bool:
        """Whether the place lies in what is not known."""
        return any(place[:length] in self.unknown for length in range(len(place) + 1))


def partial_arguments(
    source: Source, written: list[Syntax], known: Mapping[str, Argument]
) -> Partial | None:
    """The one object that a call gives its tool; None where nothing of it is known.

    ``known`` are the values of its members as analysis sees them, variables resolved.
    """
    found = Partial(value={})
    first = bare(written[0]) if written else None
    if first is None:
        return found
    literals = {n: a.value for n, a in known.items() if isinstance(a, Literal) and n != SPREAD}
    if first.kind == "object":
        found.value = _object(source, first, (), found, literals)
        return found
    if SPREAD in known:
        return None
    for name in known:
        found.value[name] = literals.get(name, PLACEHOLDER)
        if name not in literals:
            found.mark(found.unknown, (name,))
    return found


def place_of(source: Source, node: Syntax, place: Path) -> Syntax:
    """The innermost expression that the source has for a place in a value."""
    for step in place:
        inner = bare(node.get("value") or node) if node.kind == "pair" else bare(node)
        children = inner.children if inner.kind in {"object", "array"} else []
        found = [child for child in children if _stands_at(source, child, step)]
        if not found:
            return node
        node = found[-1]
    return node


def _stands_at(source: Source, child: Syntax, step: object) -> bool:
    if isinstance(step, int):
        return child.kind != "pair" and child.index == step
    key = child.get("key") or child
    return child.kind != "spread_element" and key_name(source, key) == step


def _value(source: Source, node: Syntax, place: Path, found: Partial) -> Any:  # noqa: ANN401  # JSON
    node = bare(node)
    value = literal(source, node)
    if value is not NOT_LITERAL:
        return value
    if node.kind == "object":
        return _object(source, node, place, found, {})
    if node.kind == "array":
        return _array(source, node, place, found)
    if node.kind == "template_string":
        return _text(found, place)
    found.mark(found.unknown, place)
    return PLACEHOLDER


def _text(found: Partial, place: Path) -> str:
    found.mark(found.open, place)  # a string, but which
    return PLACEHOLDER


def _array(source: Source, node: Syntax, place: Path, found: Partial) -> list[Any]:
    values: list[Any] = []
    for child in node.children:
        if child.kind == "spread_element" or child.index != len(values):
            found.mark(found.open, place)
            return values
        values.append(_value(source, child, (*place, len(values)), found))
    return values


def _object(
    source: Source, node: Syntax, place: Path, found: Partial, known: Mapping[str, Any]
) -> dict[str, Any]:
    """The last member of a name counts; what follows a spread is certain, what precedes is not."""
    values: dict[str, Any] = {}
    is_open = False
    for child in reversed(node.children):
        name = _member_name(source, child)
        if name is None:
            is_open = True
        elif name not in values:
            value = child.get("value") or child
            inside = (*place, name)
            if is_open:
                found.mark(found.unknown, inside)
                values[name] = PLACEHOLDER
            elif name in known:
                values[name] = known[name]
            elif bare(value).kind != "undefined":  # JSON has no such member
                values[name] = _value(source, value, inside, found)
    if is_open:
        found.mark(found.open, place)
    return dict(reversed(values.items()))


def _member_name(source: Source, child: Syntax) -> str | None:
    if child.kind == "shorthand_property_identifier":
        return source.name(child)
    if child.kind == "method_definition":
        return key_name(source, child["name"])
    return key_name(source, child["key"]) if child.kind == "pair" else None
