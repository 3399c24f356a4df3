"""Which literals are parameters: those that are passed to tools and capabilities (SA-9).

A literal that stands as a value in the argument object of a call can be replaced without
changing what the program does with it.  So can the literal of a scalar constant that is passed
there, at its definition.  Literals that the code computes with stay what they are: the code
was written for their values.  In a program that uses ``args`` as a whole all of them stay.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pml.analysis.calls import Calls, Site
from pml.analysis.inputs import Inputs
from pml.analysis.literals import NOT_LITERAL, key_name, literal
from pml.analysis.scope import Binding, Scopes
from pml.analysis.syntax import Source, Syntax, bare, wrapped

Place = tuple[str | int, ...]
"""Names and indices from the argument object to a value; a name that is not known is empty."""

_NAME_CHARS = 64
_UNNAMED = "value"


@dataclass(frozen=True, slots=True)
class Passed:
    """One value that a call passes on as it is: no array or object, but for whole literals."""

    site: Site
    place: Place
    expression: Syntax


@dataclass(frozen=True, slots=True)
class Lifted:
    """One literal that is a parameter; ``node`` is what stands for it in the source.

    ``site`` and ``place`` say where it is passed first.
    """

    name: str
    value: Any
    node: Syntax
    site: Site
    place: Place


def passed(source: Source, calls: Calls) -> list[Passed]:
    """What all calls pass on, in source order of the calls."""
    found: list[Passed] = []
    for site in calls.sites:
        given = bare(site.arguments[0]) if len(site.arguments) == 1 else None
        if given is not None and given.kind == "object":
            found += (Passed(site, *leaf) for leaf in _members(source, given, ()))
    return found


def _members(source: Source, node: Syntax, place: Place) -> Iterator[tuple[Place, Syntax]]:
    """The leaves of an object literal; of pairs with the same name the last."""
    pairs = [(child, _pair_name(source, child)) for child in node.children]
    last = {name: child for child, name in pairs}
    for child, name in pairs:
        if child.kind == "pair" and name != "__proto__":
            if not name or last[name] is child:
                yield from _leaves(source, child["value"], (*place, name))
        elif child.kind == "shorthand_property_identifier":
            yield (*place, name), child
        elif child.kind == "spread_element" and child.children:
            inner = bare(child.children[0])
            if inner.kind == "object":
                yield from _members(source, inner, place)


def _pair_name(source: Source, child: Syntax) -> str:
    if child.kind == "shorthand_property_identifier":
        return source.name(child)
    return key_name(source, child["key"]) or "" if child.kind == "pair" else ""


def _leaves(source: Source, expression: Syntax, place: Place) -> Iterator[tuple[Place, Syntax]]:
    node = bare(expression)
    if node.kind not in {"object", "array"} or literal(source, node) is not NOT_LITERAL:
        yield place, expression
    elif node.kind == "object":
        yield from _members(source, node, place)
    else:
        for child in node.children:
            if child.kind != "spread_element":
                yield from _leaves(source, child, (*place, child.index))


def lift(
    source: Source, scopes: Scopes, calls: Calls, values: list[Passed], read: Inputs
) -> tuple[Lifted, ...]:
    """The literals among the ``values``, in source order, with names that the code does not read.

    None where the code uses ``args`` as a whole: it may read any name that a literal could get.
    """
    if read.whole:
        return ()
    found: dict[Syntax, tuple[Passed, Any]] = {}
    for one in values:
        node: Syntax | None = one.expression
        value = literal(source, one.expression)
        if value is NOT_LITERAL:
            node, value = _constant(source, scopes, calls, bare(one.expression))
        if node is not None:
            found.setdefault(node, (one, value))
    counts = dict.fromkeys(read.names, 1)
    lifted: list[Lifted] = []
    for node in sorted(found, key=lambda node: node.start):
        one, value = found[node]
        name = _unique(_identifier(one.place), counts)
        lifted.append(Lifted(name, value, node, one.site, one.place))
    return tuple(lifted)


def _constant(
    source: Source, scopes: Scopes, calls: Calls, name: Syntax
) -> tuple[Syntax | None, Any]:
    """Where the scalar that a ``const`` certainly holds is written, and the scalar."""
    binding = scopes.binding(name)
    if binding is None or len(binding.definitions) != 1:
        return None, None
    definition = binding.definitions[0]
    declaration = definition.at.parent
    if definition.path or declaration is None or "const" not in declaration.tokens:
        return None, None
    value = literal(source, definition.value)
    if isinstance(value, dict | list) or value is NOT_LITERAL or _names_a_tool(calls, binding):
        return None, None
    return definition.value, value


def _names_a_tool(calls: Calls, binding: Binding) -> bool:
    """Whether the constant decides what is called: then it is part of the procedure."""
    for use in binding.uses:
        place = wrapped(use)
        parent = place.parent
        if (
            parent is not None
            and parent.get("index") is place
            and calls.handle(parent["object"]) is not None
        ):
            return True
    return False


def _identifier(place: Place) -> str:
    """The place as a name that can be written in code."""
    text = "_".join(str(step) for step in place if step != "")[:_NAME_CHARS]
    made = "".join(char if _may_stand_in_a_name(char) else "_" for char in text) or _UNNAMED
    return f"_{made}" if not made[0].isidentifier() and made[0] != "$" else made


def _may_stand_in_a_name(char: str) -> bool:
    return char == "$" or f"a{char}".isidentifier()


def _unique(name: str, counts: dict[str, int]) -> str:
    """``name``, or ``name_2``, ``name_3`` where that is taken."""
    made = name
    while made in counts:
        counts[name] = counts.get(name, 1) + 1
        made = f"{name}_{counts[name]}"
    counts[made] = 1
    return made
