"""Which literals are parameters: those that are passed to tools and capabilities (SA-9).

A literal that stands as a value in the argument object of a call can be replaced without
changing what the program does with it.  So can one that gets there through names that hold
nothing else: a scalar of a ``const``, or an object or array that is only passed on, at its
definition, and what calls of a helper give for its parameter, at each call.  Literals that the
code computes with, or that decide what is called or read (``mcp.s[name]``, ``o[name]``), stay
what they are: the code was written for their values.  In a program that uses ``args`` as a whole
all of them stay.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct

from pml.analysis.calls import Calls, Site
from pml.analysis.functions import Functions
from pml.analysis.inputs import Inputs
from pml.analysis.literals import NOT_LITERAL, key_name, literal
from pml.analysis.phrasing import Keeping
from pml.analysis.scope import Binding, Definition, Scopes
from pml.analysis.syntax import Source, Syntax, bare, wrapped

Place = tuple[str | int, ...]
"""Names and indices from the argument object to a value; a name that is not known is empty."""

_NAMES = frozenset({"identifier", "shorthand_property_identifier"})
_HOPS = 20
"""Names that stand for names."""
_NAME_CHARS = 64
_UNNAMED = "value"


class Passed(Struct, frozen=True):
    """One value that a call passes on as it is: no array or object, but for whole literals."""

    site: Site
    place: Place
    expression: Syntax
    hidden: frozenset[str] | None = None
    """Of what is spread at the place: names that others there have after it."""


class Lifted(Struct, frozen=True):
    """One literal that is a parameter; ``node`` is what stands for it in the source.

    ``site`` and ``place`` say where it is passed first.
    """

    name: str
    value: Any
    node: Syntax
    site: Site
    place: Place


@dataclass(frozen=True, slots=True)
class Lifts:
    """The lifted literals in source order; ``names`` of those that each passed value may be."""

    literals: tuple[Lifted, ...] = ()
    names: Mapping[Syntax, tuple[str, ...]] = field(default_factory=dict)


def passed(source: Source, calls: Calls) -> list[Passed]:
    """What all calls pass on, in source order of the calls."""
    found: list[Passed] = []
    for site in calls.sites:
        given = bare(site.arguments[0]) if len(site.arguments) == 1 else None
        if given is not None and given.kind == "object":
            found += (Passed(site, *leaf) for leaf in _members(source, given, ()))
        elif given is not None and given.kind == "identifier":
            found.append(Passed(site, (), site.arguments[0]))
    return found


_Leaf = tuple[Place, Syntax, frozenset[str] | None]


def _members(source: Source, node: Syntax, place: Place) -> Iterator[_Leaf]:
    """The leaves of an object literal; of pairs with the same name the last."""
    pairs = [(child, _pair_name(source, child)) for child in node.children]
    last = {name: child for child, name in pairs}
    for child, name in pairs:
        if child.kind == "pair" and name != "__proto__":
            if not name or last[name] is child:
                yield from _leaves(source, child["value"], (*place, name))
        elif child.kind == "shorthand_property_identifier":
            yield (*place, name), child, None
        elif child.kind == "spread_element" and child.children:
            inner = bare(child.children[0])
            if inner.kind == "object":
                yield from _members(source, inner, place)
            else:
                later = (one for other, one in pairs if one and other.start > child.start)
                yield place, inner, frozenset(later)


def _pair_name(source: Source, child: Syntax) -> str:
    if child.kind == "shorthand_property_identifier":
        return source.name(child)
    return key_name(source, child["key"]) or "" if child.kind == "pair" else ""


def _leaves(source: Source, expression: Syntax, place: Place) -> Iterator[_Leaf]:
    node = bare(expression)
    if node.kind not in {"object", "array"} or literal(source, node) is not NOT_LITERAL:
        yield place, expression, None
    elif node.kind == "object":
        yield from _members(source, node, place)
    else:
        for child in node.children:
            if child.kind != "spread_element":
                yield from _leaves(source, child, (*place, child.index))


def lift(
    source: Source,
    scopes: Scopes,
    functions: Functions,
    calls: Calls,
    *,
    values: list[Passed],
    read: Inputs,
) -> Lifts:
    """The literals among the ``values``, with names that the code does not read.

    None where the code uses ``args`` as a whole: it may read any name that a literal could get.
    """
    if read.whole:
        return Lifts()
    finder = _Finder(source, scopes, functions, calls, values=values)
    found: dict[Syntax, tuple[Passed, Place, Any]] = {}
    behind: dict[Syntax, list[Syntax]] = {}
    for one in values:
        for place, node, value in finder.literals(one.expression, one.place, one.hidden, set()):
            found.setdefault(node, (one, place, value))
            behind.setdefault(bare(one.expression), []).append(node)
    counts = dict.fromkeys(read.names, 1)
    lifted: list[Lifted] = []
    for node in sorted(found, key=lambda node: node.start):
        one, place, value = found[node]
        name = _unique(_identifier(place), counts)
        lifted.append(Lifted(name, value, node, one.site, place))
    by_node = {one.node: one.name for one in lifted}
    names = {leaf: tuple(by_node[node] for node in nodes) for leaf, nodes in behind.items()}
    return Lifts(tuple(lifted), names)


class _Finder:
    """Follows what is passed to the literals that it certainly is."""

    def __init__(
        self,
        source: Source,
        scopes: Scopes,
        functions: Functions,
        calls: Calls,
        *,
        values: list[Passed],
    ) -> None:
        self._source = source
        self._scopes = scopes
        self._functions = functions
        self._calls = calls
        self._keeping = Keeping(scopes)
        self._deciding = calls.deciding(source)
        self._certain: dict[Binding, bool] = {}
        self._passed = {bare(one.expression) for one in values}

    def literals(
        self,
        expression: Syntax,
        place: Place,
        spread: frozenset[str] | None,
        seen: set[tuple[Binding, Place]],
        hops: int = 0,
    ) -> Iterator[tuple[Place, Syntax, Any]]:
        """The literals that a passed value is or holds, each with its place in the arguments.

        Of what is ``spread`` only members are passed, but for those names.  Nothing is followed
        twice to one place: what is ``seen`` grows.
        """
        value = literal(self._source, expression)
        node = bare(expression)
        is_whole = bool(place) and spread is None
        if value is not NOT_LITERAL and is_whole:
            yield place, expression, value
        elif node.kind in {"object", "array"} and (is_whole or node.kind == "object"):
            make = _members if node.kind == "object" else _leaves
            for inner, leaf, others in make(self._source, node, place):
                if spread is None or inner == place or inner[len(place)] not in spread:
                    yield from self.literals(leaf, inner, others, seen, hops)
        elif node.kind in _NAMES:
            binding = self._scopes.binding(node)
            if binding is not None and (binding, place) not in seen and hops < _HOPS:
                seen.add((binding, place))
                for given in self._values(binding):
                    yield from self.literals(given, place, spread, seen, hops + 1)

    def _values(self, binding: Binding) -> list[Syntax]:
        """What a name stands for wherever it is used, if that is known."""
        if binding not in self._certain:
            self._certain[binding] = self._is_certain(binding)
        return [d.value for d in binding.definitions] if self._certain[binding] else []

    def _is_certain(self, binding: Binding) -> bool:
        definitions = binding.definitions
        if not definitions or any(d.path or d.weak for d in definitions):
            return False
        if self._decides(binding):
            return False
        has_parts = any(bare(d.value).kind in {"object", "array"} for d in definitions)
        if has_parts and not all(use in self._passed for use in binding.uses):
            return False  # the code looks into it
        if binding.kind == "parameter":
            given = {d.at for d in definitions}
            return len(given) == len(definitions) and self._is_given(binding, definitions)
        declaration = definitions[0].at.parent
        is_own = declaration is not None and declaration.kind == "lexical_declaration"
        return len(definitions) == 1 and is_own and self._keeping.keeps(binding)

    def _is_given(self, binding: Binding, definitions: list[Definition]) -> bool:
        """Whether the parameter of a helper has just what its calls give."""
        function = binding.scope
        if not self._functions.private(function) or "arguments" in self._scopes.free:
            return False
        return all(
            d.at.kind == "call_expression" and self._functions.called(d.at) is function
            for d in definitions
        )

    def _decides(self, binding: Binding) -> bool:
        """Whether it tells what is called or read: then it is part of the procedure."""
        if binding in self._deciding:
            return True
        for use in binding.uses:
            place = wrapped(use)
            parent = place.parent
            if parent is not None and (
                parent.get("index") is place or parent.kind == "computed_property_name"
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
