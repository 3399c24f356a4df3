"""Which functions and classes an expression may stand for: points-to analysis without order.

An expression is followed through names, parameters, choices and what functions return.  Property
names are matched without looking at the object, so that a method, a function in an object literal,
or one that is assigned to a member is found wherever it is read by its name: the analysis is
field-based, as in A. Feldthaus, M. Schäfer, M. Sridharan, J. Dolby, F. Tip, "Efficient
construction of approximate call graphs for JavaScript IDE services", ICSE 2013, section III,
doi:10.1109/ICSE.2013.6606621.

What a call gives is what its callee returns: besides the expression, a step knows how often what
it stands for is still to be called.  All reads of a name lead over one step, so that there are no
more ways than the source has expressions, and a step is resolved once, with all that come round
to it: R. Tarjan, "Depth-first search and linear graph algorithms", SIAM J. Comput. 1 (1972),
doi:10.1137/0201010.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from pml.analysis.components import components
from pml.analysis.functions import Functions, method_of, receiver_of
from pml.analysis.iteration import Found, indexed_symbol, property_name
from pml.analysis.literals import string_value
from pml.analysis.scope import Binding, Scopes
from pml.analysis.syntax import CLASSES, FUNCTIONS, MEMBERS, Source, Syntax, bare

_MANY = 50
"""What one step stands for, before it takes of what is for all of them together."""
_MAX_MORE = 20_000
"""Of all over that: ``f()`` in a helper may stand for many functions, few others do."""
_MAX_CALLS = 8
"""Of what: ``f()()`` calls what a call returns."""
_ACCESSORS = frozenset({"get", "set"})
_EITHER = {
    "ternary_expression": ("consequence", "alternative"),
    "binary_expression": ("left", "right"),
    "assignment_expression": ("right",),
    "augmented_assignment_expression": ("left", "right"),
}
_HANDS_ON = frozenset({"await_expression", "sequence_expression", "non_null_expression"})
_OPERATORS = frozenset({"&&", "||", "??"})
_VALUES = FUNCTIONS | CLASSES
_LEADING = _VALUES | MEMBERS | _HANDS_ON | {*_EITHER, "identifier", "call_expression"}
_LEADING |= {"shorthand_property_identifier"}
"""Of these the value may be a function; all others, as most arguments are, stand for none."""
_FOLLOWED = _VALUES | {
    "identifier",
    "call_expression",
    "member_expression",
    "ternary_expression",
}


class _Entries(NamedTuple):
    """Whatever the tables hold that a variable may be: ``table[key]``."""

    of: Binding


_Place = Syntax | Binding | str | _Entries
"""An expression, all values of a variable, or all that properties of a name are given."""
_Step = tuple[_Place, int]
"""A place, and how often what it stands for is to be called."""


class FunctionValues:
    """The functions and classes that expressions of a source may stand for."""

    def __init__(self, source: Source, scopes: Scopes, functions: Functions) -> None:
        self._source = source
        self._scopes = scopes
        self._functions = functions
        self.properties: dict[str, list[Syntax]] = {}
        """What is given to properties, by name."""
        self.accessors: dict[str, list[Syntax]] = {}
        """Getters and setters by name."""
        self.cut = False
        """Whether something is not followed to its end, or stands for more than is told."""
        self._more = _MAX_MORE
        self._known: dict[_Step, Found] = {}
        self._index_methods()
        self._index_given()

    def of(self, expression: Syntax) -> Found:
        """What an expression may stand for, however many names and calls lie in between."""
        node = bare(expression)
        if node.kind not in _LEADING:
            return ()
        step = (node, 0)
        if step not in self._known:
            self._resolve(step)
        return self._known[step]

    def named(self, name: str) -> Found:
        """The functions that a property of some object may be."""
        found = [one for value in self.properties.get(name, ()) for one in self.of(value)]
        return tuple(one for one in found if one.kind in FUNCTIONS)

    def property(self, member: Syntax) -> str | None:
        """The name that a member is read by; None if it is computed."""
        if member.kind == "member_expression":
            return property_name(self._source, member["property"])
        index = member.get("index")
        if index is None:
            return None
        return indexed_symbol(self._source, member) or string_value(self._source, bare(index))

    def at_most(self, found: Iterable[Syntax]) -> Found:
        """Each of what was found once; no more than there is room for."""
        each = tuple(dict.fromkeys(found))
        more = len(each) - _MANY
        if more <= 0:
            return each
        if more > self._more:
            self.cut = True
            return each[:_MANY]
        self._more -= more
        return each

    # What can be found by its name

    def _index_methods(self) -> None:
        for method in self._source.of_kinds("method_definition"):
            name = property_name(self._source, method["name"])
            if name is not None and name != "constructor":
                accessor = bool(_ACCESSORS & set(method.tokens))
                table = self.accessors if accessor else self.properties
                table.setdefault(name, []).append(method)

    def _index_given(self) -> None:
        of = self._source.of_kinds
        for node in of("pair", "public_field_definition"):
            key, value = node.get("key") or node.get("name"), node.get("value")
            if key is not None and value is not None and may_be_function(bare(value)):
                self._add(property_name(self._source, key), value)
        for node in of("shorthand_property_identifier"):
            self._add(self._source.name(node), node)
        for node in of("assignment_expression"):
            left = bare(node["left"])
            if left.kind in MEMBERS and may_be_function(bare(node["right"])):
                self._add(self.property(left), node["right"])

    def _add(self, name: str | None, value: Syntax) -> None:
        if name is not None:
            self.properties.setdefault(name, []).append(value)

    # Where a value comes from

    def _further(self, step: _Step) -> list[_Step]:
        """The steps whose values are those of a step."""
        place, calls = step
        if isinstance(place, Syntax):
            return self._of_expression(place, calls)
        if isinstance(place, Binding):
            return self._of_variable(place, calls)
        if isinstance(place, str):
            return [(bare(value), calls) for value in self.properties[place]]
        tables = (bare(definition.value) for definition in place.of.definitions)
        return [(bare(entry), calls) for table in tables for entry in _entries(table)]

    def _of_expression(self, node: Syntax, calls: int) -> list[_Step]:
        kind = node.kind
        if kind in {"identifier", "shorthand_property_identifier"}:
            binding = self._scopes.binding(node)
            return [] if binding is None else [(binding, calls)]
        if kind in MEMBERS:
            return self._of_member(node, calls)
        if kind == "call_expression":
            return self._of_call(node, calls)
        if kind in _VALUES:
            given = self._functions.returned(node) if calls else []
            return [(bare(one), calls - 1) for one in given]
        if kind in _EITHER and (kind != "binary_expression" or _OPERATORS & set(node.tokens)):
            return [(bare(node[field]), calls) for field in _EITHER[kind]]
        return [(bare(one), calls) for one in node.children[-1:]] if kind in _HANDS_ON else []

    def _of_variable(self, binding: Binding, calls: int) -> list[_Step]:
        """A class stands for itself."""
        declared = binding.node.parent
        if declared is not None and declared.kind in CLASSES and not binding.definitions:
            return [(declared, calls)]
        given: list[_Step] = [(bare(d.value), calls) for d in binding.definitions if not d.path]
        taken = {d.path[-1]: None for d in binding.definitions if d.path}
        return [*given, *((n, calls) for n in taken if isinstance(n, str) and n in self.properties)]

    def _of_member(self, node: Syntax, calls: int) -> list[_Step]:
        name = self.property(node)
        if name is not None:
            return [(name, calls)] if name in self.properties else []
        table = bare(node["object"])
        binding = self._scopes.binding(table)
        if binding is not None:
            return [(_Entries(binding), calls)]
        return [(bare(entry), calls) for entry in _entries(table)]

    def _of_call(self, call: Syntax, calls: int) -> list[_Step]:
        """A call stands for what the function returns; ``f.bind(x)`` for the function."""
        callee = call.get("function")
        if callee is None:
            return []
        if calls >= _MAX_CALLS:
            self.cut = True
            return []
        if method_of(self._source, call) == "bind":
            return [(bare(receiver_of(call)), calls)]
        return [(bare(callee), calls + 1)]

    # Each step once

    def _resolve(self, start: _Step) -> None:
        """Find what a step stands for, and all on the way there."""
        for together in components([start], self._unresolved):
            if together[0] in self._known:
                continue
            found = self._together(together)
            self._known.update((step, found) for step in together)

    def _unresolved(self, step: _Step) -> list[_Step]:
        return [] if step in self._known else self._further(step)

    def _together(self, steps: list[_Step]) -> Found:
        """What steps that come round to each other all stand for."""
        place, calls = steps[0]
        if len(steps) == 1:
            if not calls and isinstance(place, Syntax) and place.kind in _VALUES:
                return (place,)
            further = self._further(steps[0])
            if len(further) == 1:  # most are
                return self._known.get(further[0], ())
        inner = set(steps)
        further = [after for step in steps for after in self._further(step) if after not in inner]
        return self.at_most(chain.from_iterable(self._known[after] for after in further))


def may_be_function(node: Syntax) -> bool:
    """Whether an expression is of a kind that is followed where it is kept."""
    return node.kind in _FOLLOWED


def _entries(table: Syntax) -> Iterator[Syntax]:
    """What a table of functions holds: an object or array literal's values."""
    if table.kind == "array":
        yield from table.children
    elif table.kind == "object":
        for child in table.children:
            if child.kind == "pair":
                yield child["value"]
            elif child.kind in {"method_definition", "shorthand_property_identifier"}:
                yield child
