"""Where values are iterated, and whether that can run methods of the program (SA-3).

``for (x of y)``, ``[...y]``, ``[a] = y``, ``yield* y`` and what of the standard library takes
elements call ``y[Symbol.iterator]`` and the ``next`` of what it gives, though no call stands there.
Which methods these are is told by their names alone, as it is for accessors.  Most of what a
program iterates over is an array or comes out of a tool: that runs none of them.
"""

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass

from pml.analysis.calls import Calls
from pml.analysis.functions import ARRAY_CALLBACKS, arguments_of, method_of, receiver_of
from pml.analysis.literals import key_name
from pml.analysis.patterns import Into, Path
from pml.analysis.scope import Scopes
from pml.analysis.standard import PURE
from pml.analysis.syntax import CLASSES, FUNCTIONS, MEMBERS, Source, Syntax, bare

ITERATOR, ASYNC_ITERATOR = "Symbol.iterator", "Symbol.asyncIterator"
_SYMBOLS = frozenset({ITERATOR, ASYNC_ITERATOR})
_COMBINATORS = frozenset({"all", "allSettled", "race", "any"})
_TAKING = {
    "Array": frozenset({"from", "fromAsync"}),
    "Object": frozenset({"fromEntries", "groupBy"}),
    "Iterator": frozenset({"from"}),
    "Promise": _COMBINATORS,
}
"""Functions of the standard library that take the elements of their first argument."""
_COLLECTIONS = frozenset({"Map", "Set", "WeakMap", "WeakSet"})
_ARRAYS = PURE | ARRAY_CALLBACKS
_NEVER = frozenset({"array", "string", "template_string", "number", "regex"})
_TAKEN_APART = frozenset({"variable_declarator", "assignment_expression"})
"""What gives a pattern its value; parameters and inner patterns mostly take arrays apart."""
_HANDING_ON = frozenset({"await_expression", "ternary_expression", "binary_expression"})
_MAX_STEPS = 30
"""How far a value is followed; where that ends, it may be anything."""


def property_name(source: Source, key: Syntax) -> str | None:
    """The name of a property, well-known symbols included; None for a computed one."""
    if key.kind == "computed_property_name" and key.children:
        symbol = _symbol(source, key.children[0])
        if symbol is not None:
            return symbol
    return key_name(source, key)


def indexed_symbol(source: Source, member: Syntax) -> str | None:
    """The symbol in ``o[Symbol.iterator]``."""
    index = member.get("index")
    return None if index is None else _symbol(source, index)


def _symbol(source: Source, node: Syntax) -> str | None:
    node = bare(node)
    text = source.text(node) if node.kind == "member_expression" else ""
    return text if text in _SYMBOLS else None


Found = tuple[Syntax, ...]


@dataclass(frozen=True, slots=True)
class Iterated:
    """What iterating a value may run: methods that make iterators, and those that take a step.

    A generator makes an iterator and takes its steps itself.  ``certain`` if the value is known to
    have one of the ``makers``.
    """

    makers: Found = ()
    steps: Found = ()
    certain: bool = False


class Iterations:
    """The places of a source at which something is iterated that may be of the program's own.

    A place is the expression that is iterated, or the pattern that takes a value apart.
    """

    def __init__(self, source: Source, scopes: Scopes, calls: Calls) -> None:
        self._source = source
        self._scopes = scopes
        self._calls = calls
        self.at: dict[Syntax, Iterated] = {}

    def find(
        self,
        named: Container[str],
        by_name: Callable[[str], Found],
        resolve: Callable[[Syntax], Found],
    ) -> None:
        """Find what runs at each place.

        Args:
            named: names of methods of the program: a call of one of these may give anything.
            by_name: the functions that a property of some object may be.
            resolve: the functions and classes that an expression may stand for.
        """
        makers, later = by_name(ITERATOR), by_name(ASYNC_ITERATOR)
        if not makers and not later:
            return
        steps = by_name("next")
        for node, asynchronous in self._iterated():
            value = _value_of(node)
            if self._is_plain(value, named):
                continue
            own = self._own(value, resolve)
            found = (*later, *makers) if asynchronous else makers
            certain = own.intersection(later if asynchronous else ()) or own.intersection(makers)
            found = tuple(dict.fromkeys(f for f in found if f in certain or not certain))
            written = all("*" in maker.tokens for maker in found)
            self.at[bare(node)] = Iterated(found, () if written else steps, bool(certain))

    def _own(self, value: Syntax, resolve: Callable[[Syntax], Found]) -> set[Syntax]:
        """The methods of what a value certainly is: an object written down, or an instance."""
        node = bare(value)
        for _ in range(_MAX_STEPS):
            binding = self._scopes.binding(node)
            if binding is None or len(binding.definitions) != 1 or binding.definitions[0].path:
                break
            node = bare(binding.definitions[0].value)
        if node.kind not in {"object", "new_expression"}:
            return set()
        bodies = [node]
        if node.kind == "new_expression":
            classes = [one for one in resolve(node["constructor"]) if one.kind in CLASSES]
            bodies = [one["body"] for one in classes]
        methods = [self._makers_in(body) for body in bodies]
        return {f for found in methods for f in found} if all(methods) else set()

    def _makers_in(self, body: Syntax) -> list[Syntax]:
        names = ((m, m.get("name") or m.get("key")) for m in body.children)
        made = [m for m, n in names if n is not None and property_name(self._source, n) in _SYMBOLS]
        return [f for m in made if (f := bare(m.get("value") or m)).kind in FUNCTIONS]

    def _iterated(self) -> Iterator[tuple[Syntax, bool]]:
        of = self._source.of_kinds
        for loop in of("for_in_statement"):
            if "of" in loop.tokens:
                yield loop["right"], "await" in loop.tokens
        for spread in of("spread_element"):
            if spread.children and spread.parent is not None and spread.parent.kind != "object":
                yield spread.children[0], False
        for delegation in of("yield_expression"):
            if "*" in delegation.tokens and delegation.children:
                around = next(
                    (o for o in delegation.ancestors() if o.kind in FUNCTIONS), delegation
                )
                yield delegation.children[0], "async" in around.tokens
        for pattern in of("array_pattern"):
            if pattern.parent is not None and pattern.parent.kind in _TAKEN_APART:
                yield pattern, False
        for call in of("call_expression", "new_expression"):
            taken = arguments_of(call)[:1] if self._takes_elements(call) else []
            asynchronous = method_of(self._source, call) == "fromAsync"
            yield from ((argument, asynchronous) for argument in taken)

    def _takes_elements(self, call: Syntax) -> bool:
        if call.kind == "new_expression":
            return self._source.text(call["constructor"]) in _COLLECTIONS
        method = method_of(self._source, call)
        if method is None:
            return False
        return method in _TAKING.get(self._source.text(bare(receiver_of(call))), ())

    def _is_plain(self, expression: Syntax, named: Container[str]) -> bool:
        """Whether a value certainly has no iterator that the program wrote."""
        pending: list[tuple[Syntax, Path]] = [(expression, ())]
        seen = set(pending)
        while pending and len(seen) <= _MAX_STEPS:
            node, path = pending.pop()
            further = self._made_of(bare(node), path, named)
            if further is None:
                return False
            pending += [one for one in further if one not in seen]
            seen.update(further)
        return not pending

    def _made_of(
        self, node: Syntax, path: Path, named: Container[str]
    ) -> list[tuple[Syntax, Path]] | None:
        """What has to be plain so that what lies at a path in a value is; None if it may not be."""
        site = self._calls.by_node.get(node)
        if site is not None and site.call is not None:
            return []  # JSON, all of it
        if node.kind == "identifier":
            return self._given(node, path)
        if node.kind in MEMBERS:
            return [(node["object"], (*path, Into.UNKNOWN))]
        if node.kind in _HANDING_ON:
            return [(child, path) for child in node.children[-2:]]
        method = method_of(self._source, node) if node.kind == "call_expression" else None
        made = node.kind in _NEVER or (method in _ARRAYS and method not in named)
        return [] if made and not path else None

    def _given(self, name: Syntax, path: Path) -> list[tuple[Syntax, Path]] | None:
        """The values of a name; an input is JSON."""
        binding = self._scopes.binding(name)
        if binding is None:
            return []
        given = [d for d in binding.definitions if not d.weak]
        if not given or (path and len(given) < len(binding.definitions)):
            return None
        if any(d.at.kind == "call_expression" for d in given):
            return None  # a parameter: other calls may not be in sight
        return [(d.value, (*path, *d.path)) for d in given]


def _value_of(node: Syntax) -> Syntax:
    """The expression that is iterated, by itself or by a pattern."""
    if node.kind != "array_pattern" or node.parent is None:
        return node
    return node.parent.get("value") or node.parent["right"]
