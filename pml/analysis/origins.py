"""Where values come from: the results and inputs that an expression is made of (SA-3, SA-4).

A value is followed backwards through variables, destructuring, member access and the
functions of the program.  The trace is *exact* while nothing but access lies between.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum
from itertools import islice
from typing import ClassVar

from pml.analysis.calls import Calls, Site
from pml.analysis.functions import Functions, arguments_of, method_of, receiver_of
from pml.analysis.globals import ARGS, STANDARD
from pml.analysis.literals import key_name
from pml.analysis.parallel import COMBINATORS
from pml.analysis.scope import Binding, Definition, Into, Path, Scopes
from pml.analysis.syntax import LOOPS, MEMBERS, Source, Syntax, bare, function_of

_DEPTH = 60
"""Steps through variables that are followed exactly; past them a value counts as unknown."""

_MOST = 200
"""Things that one value is said to be made of; without a bound, a variable that collects
results over n lines would have n(n + 1) / 2 of them."""


class From(Enum):
    """What a value comes from."""

    CALL = "the result of a call"
    INPUT = "a parameter of the program"
    ALL_INPUTS = "args as a whole"


@dataclass(frozen=True, slots=True)
class Origin:
    """One thing that a value is made of; ``text`` is the expression that reads it."""

    kind: From
    name: str
    """Of the parameter; empty for a call."""
    site: Site | None
    text: str
    exact: bool


Origins = tuple[Origin, ...]

_NAMES = frozenset({"identifier", "shorthand_property_identifier"})
_STRAIGHT = frozenset(
    {
        "expression_statement",
        "lexical_declaration",
        "variable_declaration",
        "variable_declarator",
        "parenthesized_expression",
        "assignment_expression",
    }
)
_BLOCKS = frozenset({"statement_block", "program"})


class Tracer:
    """Traces expressions of one source; remembers what every definition is made of."""

    def __init__(self, source: Source, scopes: Scopes, functions: Functions, calls: Calls) -> None:
        self._source = source
        self._scopes = scopes
        self._functions = functions
        self._calls = calls
        self._known: dict[tuple[Definition, Path], Origins] = {}
        self._tracing: set[tuple[Definition, Path]] = set()
        self._inside: set[Syntax] = set()
        self._ordered: dict[Binding, tuple[list[int], list[Definition]]] = {}

    def prepare(self) -> None:
        """Trace definitions in source order, so that tracing a use does not recurse far."""
        bindings = {b for table in self._scopes.tables.values() for b in table.values()}
        definitions = [d for b in bindings for d in b.definitions]
        for definition in sorted(definitions, key=lambda d: d.at.end):
            self._define(definition, ())

    def trace(self, expression: Syntax) -> Origins:
        """What the expression is made of, each thing once, in order of appearance."""
        return _once(self._at(expression, (), None))

    def _at(self, expression: Syntax, path: Path, text: str | None) -> Origins:
        node = bare(expression)
        site = self._calls.by_node.get(node)
        if site is not None:
            exact = not any(step in {Into.UNKNOWN, Into.REST} for step in path)
            return (Origin(From.CALL, "", site, text or self._source.text(node), exact),)
        if node.kind in _NAMES:
            return self._name(node, path, text or self._source.text(node))
        if node.kind in MEMBERS:
            return self._member(node, path, text or self._source.text(node))
        handler = self._HANDLERS.get(node.kind)
        if handler is not None:
            found = handler(self, node, path, text)
            if found is not None:
                return found
        return self._made_of(node.children)

    def _made_of(self, nodes: list[Syntax]) -> Origins:
        """Pure code over several values."""
        found: list[Origin] = []
        for node in nodes:  # no generator: its frames would count towards the depth
            found += self._at(node, (), None)
        return _inexact(found)

    def _either(self, nodes: list[Syntax], path: Path, text: str | None) -> Origins:
        found = _once(o for node in nodes for o in self._at(node, path, text))
        return found if len(nodes) == 1 else _inexact(found)

    # Names

    def _name(self, node: Syntax, path: Path, text: str) -> Origins:
        if node in self._scopes.targets:
            return ()  # the name of a parameter or function inside the expression
        binding = self._scopes.binding(node)
        if binding is None:
            return self._free(self._source.name(node), path, text)
        definitions = self._reaching(binding, node)
        found = _once(
            replace(o, text=text) if o.exact else o
            for definition in definitions
            for o in self._define(definition, path)
        )
        return found if len(definitions) == 1 else _inexact(found)

    def _free(self, name: str, path: Path, text: str) -> Origins:
        if name == ARGS and path and isinstance(path[0], str):
            return (Origin(From.INPUT, path[0], None, text, exact=len(path) == 1),)
        if name == ARGS:
            return (Origin(From.ALL_INPUTS, name, None, text, exact=False),)
        if name in STANDARD:
            return ()
        return (Origin(From.INPUT, name, None, text, exact=not path),)

    def _define(self, definition: Definition, path: Path) -> Origins:
        key = (definition, path)
        if key in self._known:
            return self._known[key]
        if key in self._tracing or len(self._tracing) > _DEPTH:
            return ()
        self._tracing.add(key)
        found = self._at(definition.value, definition.path + path, None)
        self._tracing.discard(key)
        if definition.weak:
            found = _inexact(found)
        self._known[key] = found
        return found

    def _reaching(self, binding: Binding, use: Syntax) -> list[Definition]:
        """The definitions whose value the use may see."""
        if len(binding.definitions) <= 1 or binding.kind == "parameter":
            return binding.definitions
        owner = function_of(use)
        if any(function_of(d.at) is not owner for d in binding.definitions):
            return binding.definitions
        if binding not in self._ordered:
            ordered = sorted(binding.definitions, key=lambda d: d.at.end)
            self._ordered[binding] = [d.at.end for d in ordered], ordered
        ends, ordered = self._ordered[binding]
        found: list[Definition] = []
        for definition in reversed(ordered[: bisect_left(ends, use.start + 1)]):
            found.append(definition)
            if not definition.weak and _always_runs_before(definition.at, use):
                break
        loop = _loop_around(use, binding.node)
        if loop is not None:
            found += [d for d in ordered if d not in found and loop.covers(d.at)]
        return found

    # Expressions that values pass through

    def _member(self, node: Syntax, path: Path, text: str) -> Origins:
        owner = node["object"]
        if node.kind == "member_expression":
            key = key_name(self._source, node["property"])
            return self._at(owner, (key or "", *path), text)
        index = node["index"]
        constant = self._calls.constant(index)
        if constant is None and index.kind == "number" and self._source.text(index).isdigit():
            return self._at(owner, (int(self._source.text(index)), *path), text)
        if constant is not None:
            return self._at(owner, (constant, *path), text)
        return _inexact((*self._at(owner, (), None), *self._at(index, (), None)))

    def _await(self, node: Syntax, path: Path, text: str | None) -> Origins:
        return self._either(node.children, path, text)

    def _ternary(self, node: Syntax, path: Path, text: str | None) -> Origins:
        arms = self._either([node["consequence"], node["alternative"]], path, text)
        return _once((*arms, *self._made_of([node["condition"]])))

    def _assignment(self, node: Syntax, path: Path, text: str | None) -> Origins:
        return self._at(node["right"], path, text)

    def _array(self, node: Syntax, path: Path, text: str | None) -> Origins | None:
        if not path or any(child.kind == "spread_element" for child in node.children):
            return None
        if path[0] is Into.ELEMENT:
            return self._either(node.children, path[1:], text)
        chosen = [child for child in node.children if child.index == path[0]]
        return self._either(chosen, path[1:], text) if isinstance(path[0], int) else None

    def _object(self, node: Syntax, path: Path, text: str | None) -> Origins | None:
        if not path or not isinstance(path[0], str):
            return None
        for child in reversed(node.children):
            if child.kind == "pair":
                name = key_name(self._source, child["key"])
                if name == path[0]:
                    return self._at(child["value"], path[1:], text)
                if name is not None:
                    continue
            elif child.kind == "shorthand_property_identifier":
                if self._source.name(child) == path[0]:
                    return self._at(child, path[1:], text)
                continue
            return None
        return ()

    def _call(self, node: Syntax, path: Path, text: str | None) -> Origins | None:
        function = self._functions.called(node)
        if function in self._inside:
            return ()  # recursion adds nothing new
        if function is not None:
            self._inside.add(function)
            found = self._either(self._functions.returned(function), path, text)
            self._inside.discard(function)
            return found
        method, arguments = method_of(self._source, node), arguments_of(node)
        if method in COMBINATORS and self._source.text(receiver_of(node)) == "Promise":
            return self._combined(method, arguments, path, text)
        if method in {"then", "map"} and arguments:
            callback = self._functions.known(arguments[0])
            returned = [] if callback is None else self._functions.returned(callback)
            if method == "then" and returned:
                return self._either(returned, path, text)
            if returned and path and (path[0] is Into.ELEMENT or isinstance(path[0], int)):
                return self._either(returned, path[1:], text)
        return self._made_of([receiver_of(node), *arguments]) if method is not None else None

    def _combined(
        self, method: str, arguments: list[Syntax], path: Path, text: str | None
    ) -> Origins | None:
        if len(arguments) != 1:
            return None
        if method == "all":
            return self._at(arguments[0], path, text)
        if method in {"race", "any"}:
            return self._at(arguments[0], (Into.ELEMENT, *path), text)
        if len(path) > 1 and path[1] == "value":
            return self._at(arguments[0], (path[0], *path[2:]), text)
        return None

    _HANDLERS: ClassVar[dict[str, Callable[..., Origins | None]]] = {
        "await_expression": _await,
        "ternary_expression": _ternary,
        "assignment_expression": _assignment,
        "array": _array,
        "object": _object,
        "call_expression": _call,
    }


def _once(origins: Iterable[Origin]) -> Origins:
    return tuple(islice(dict.fromkeys(origins), _MOST))


def _inexact(origins: Iterable[Origin]) -> Origins:
    return _once(replace(o, exact=False) if o.exact else o for o in origins)


def _always_runs_before(definition: Syntax, use: Syntax) -> bool:
    """Whether control that reaches the use has passed the definition in the same block."""
    for outer in definition.ancestors():
        if outer.kind in _BLOCKS:
            return outer.covers(use)
        if outer.kind not in _STRAIGHT:
            return False
    return False


def _loop_around(use: Syntax, declared: Syntax) -> Syntax | None:
    """The outermost loop around the use that the variable lives longer than."""
    found = None
    for outer in use.ancestors():
        if outer.covers(declared):
            break
        if outer.kind in LOOPS:
            found = outer
    return found
