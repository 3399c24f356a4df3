"""Where values come from: the results and inputs that an expression is made of (SA-3, SA-4).

A value is followed backwards through variables, destructuring, member access and the
functions of the program.  The trace is *exact* while nothing but access lies between.  Where it
cannot be followed, `From.UNSEEN` is among its origins; `pml.analysis.taint` says what there may
be then.
"""

from collections.abc import Callable
from typing import ClassVar

from pml.analysis.calls import Calls
from pml.analysis.functions import Functions, arguments_of, method_of, receiver_of
from pml.analysis.globals import ARGS, RESERVED, STANDARD
from pml.analysis.literals import key_name
from pml.analysis.parallel import COMBINATORS
from pml.analysis.patterns import Into, Path
from pml.analysis.reaching import FAN, Reaching
from pml.analysis.scope import Binding, Definition, Scopes
from pml.analysis.shared import Shared
from pml.analysis.standard import (
    CALLING,
    CHANGING,
    FOLDS,
    ONE_ELEMENT,
    PURE,
    SAME_ELEMENTS,
    UNTRACEABLE,
)
from pml.analysis.syntax import CLASSES, MEMBERS, Source, Syntax, bare
from pml.analysis.traces import UNSEEN, From, Origin, Origins, inexact, once, told

_DEPTH = 40
"""Steps through variables that are followed; past them a value counts as unseen."""
_FEW = 40
"""Definitions that are traced as they are asked for: so many do not recurse far."""
_LONGEST = 12
"""Steps into a value that are told apart: members that name one another make ever longer ones."""
_PER_DEFINITION = 40
_AT_LEAST = 1_000
"""So many parts of values are looked for, per definition and in all; what is past them is unseen.
Ordinary programs need one to three per definition."""


_NAMES = frozenset({"identifier", "shorthand_property_identifier"})


class Tracer:
    """Traces expressions of one source; remembers what every definition is made of."""

    def __init__(self, source: Source, scopes: Scopes, functions: Functions, calls: Calls) -> None:
        self._source = source
        self._scopes = scopes
        self._functions = functions
        self._calls = calls
        self.shared = Shared(source, scopes, functions, calls)
        self._known: dict[tuple[Definition, Path], Origins] = {}
        self._tracing: set[tuple[Definition, Path]] = set()
        self._traced: dict[Syntax, Origins] = {}
        self._inside: set[Syntax] = set()
        self._given: dict[tuple[Syntax, Path, str | None], Origins] = {}
        """What helpers give; of one that is traced inside another that calls it, at least that."""
        self._reaching = Reaching(source, functions, self.shared)
        bindings = (b for table in scopes.tables.values() for b in table.values())
        self._definitions = [d for b in bindings for d in b.definitions]
        self._most = _AT_LEAST + _PER_DEFINITION * len(self._definitions)
        self._cut = False
        """Whether something was not followed to its end: then the order of tracing matters."""
        self._in_order = False
        if len(self._definitions) > _FEW:
            self._trace_in_order()

    def _trace_in_order(self) -> None:
        """Trace definitions in source order, so that tracing a use does not recurse far."""
        self._in_order = True
        self._known.clear()
        self._given.clear()
        for definition in sorted(self._definitions, key=lambda d: d.at.end):
            self._define(definition, ())

    def is_certain(self, binding: Binding, use: Syntax) -> bool:
        """Whether the variable certainly has the value of its only definition there."""
        return self._reaching.is_certain(binding, use)

    def trace(self, expression: Syntax) -> Origins:
        """What the expression is made of, each thing once, in order of appearance."""
        found = self._traced.get(expression)
        if found is None:
            found = once(self._at(expression, (), None))
            if self._cut and not self._in_order:
                self._trace_in_order()
                found = once(self._at(expression, (), None))
            self._traced[expression] = found
        return found

    def _at(self, expression: Syntax, path: Path, text: str | None) -> Origins:
        node = bare(expression)
        site = self._calls.by_node.get(node)
        if site is not None:
            exact = Into.UNKNOWN not in path and Into.REST not in path
            read = text or self._source.text(node)
            return (Origin(From.CALL, "", site, read, exact, told(path)),)
        if node.kind in _NAMES:
            return self._name(node, path, text or self._source.text(node))
        if node.kind in MEMBERS:
            return self._member(node, path, text or self._source.text(node))
        handler = self._HANDLERS.get(node.kind)
        if handler is not None:
            found = handler(self, node, path, text)
            if found is not None:
                return found
        made = self._made_of(node.children) if node.children else ()
        return (*made, UNSEEN) if node.kind in _UNSEEN else made

    def _made_of(self, nodes: list[Syntax]) -> Origins:
        """Pure code over several values."""
        found: list[Origin] = []
        for node in nodes:  # no generator: its frames would count towards the depth
            found += self._at(node, (), None)
        return inexact(found)

    def _either(self, nodes: list[Syntax], path: Path, text: str | None) -> Origins:
        found = once([o for node in nodes for o in self._at(node, path, text)])
        return found if len(nodes) == 1 else inexact(found)

    # Names

    def _name(self, node: Syntax, path: Path, text: str) -> Origins:
        if node in self._scopes.targets:
            return ()  # the name of a parameter or function inside the expression
        binding = self._scopes.binding(node)
        if binding is None:
            return self._free(self._source.name(node), path, text)
        definitions = self._reaching.reaching(binding, node)
        found = once(
            [
                Origin(o.kind, o.name, o.site, text, True, o.path) if o.exact else o
                for definition in definitions[:FAN]
                for o in self._define(definition, path)
            ]
        )
        if len(definitions) > FAN or self._reaching.is_hidden(binding):
            return inexact((*found, UNSEEN))
        certain = len(definitions) == 1 and self._reaching.is_certain(binding, node)
        return found if certain else inexact(found)

    def _free(self, name: str, path: Path, text: str) -> Origins:
        first = f"{name}.{path[0]}" if path and name == ARGS else name
        names = {name, first}
        seen = (UNSEEN,) if names & self.shared.changed.free else ()
        is_kept = not (seen or names & self.shared.counted.free)
        if name in UNTRACEABLE:
            return (UNSEEN,)
        if name == ARGS and path and isinstance(path[0], str):
            exact = len(path) == 1 and is_kept
            return (Origin(From.INPUT, path[0], None, text, exact), *seen)
        if name == ARGS:
            return (Origin(From.ALL_INPUTS, name, None, text, exact=False), *seen)
        if name in STANDARD:
            return seen
        return (Origin(From.INPUT, name, None, text, exact=not path and is_kept), *seen)

    def _define(self, definition: Definition, path: Path) -> Origins:
        key = (definition, path)
        if key in self._known:
            return self._known[key]
        is_long = len(self._tracing) > _DEPTH or len(definition.path) + len(path) > _LONGEST
        if key in self._tracing or is_long or len(self._known) > self._most:
            self._cut = True
            return (UNSEEN,)
        self._tracing.add(key)
        found = self._at(definition.value, definition.path + path, None)
        self._tracing.discard(key)
        if definition.weak:
            found = inexact(found)
        self._known[key] = found
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
        return inexact((*self._at(owner, (), None), *self._at(index, (), None)))

    def _await(self, node: Syntax, path: Path, text: str | None) -> Origins:
        return self._either(node.children, path, text)

    def _ternary(self, node: Syntax, path: Path, text: str | None) -> Origins:
        arms = self._either([node["consequence"], node["alternative"]], path, text)
        return once((*arms, *self._made_of([node["condition"]])))

    def _binary(self, node: Syntax, path: Path, text: str | None) -> Origins | None:
        if not {"??", "||", "&&"} & set(node.tokens):
            return None
        return self._either(node.children, path, text)

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
                if name == path[0] and name != "__proto__":
                    return self._at(child["value"], path[1:], text)
                if name is not None and name != "__proto__":
                    continue
            elif child.kind == "shorthand_property_identifier":
                if self._source.name(child) == path[0]:
                    return self._at(child, path[1:], text)
                continue
            return None
        return ()

    # Calls

    def _call(self, node: Syntax, path: Path, text: str | None) -> Origins | None:
        function = self._functions.called(node)
        if function is not None:
            return self._helper(function, node, path, text)
        method, arguments = method_of(self._source, node), arguments_of(node)
        if method in COMBINATORS and self._source.text(receiver_of(node)) == "Promise":
            found = self._combined(method, arguments, path, text)
            return self._library(node, method) if found is None else found
        if method in self.shared.methods or self._root(node) is not None:
            return self._library(node, method)
        if method == "finally":
            return self._at(receiver_of(node), path, None)
        handed = self._elements(node, method, path, text)
        return self._library(node, method) if handed is None else handed

    def _elements(
        self, node: Syntax, method: str | None, path: Path, text: str | None
    ) -> Origins | None:
        """What a method gives that hands on results of its callback, or elements."""
        arguments = arguments_of(node)
        element = bool(path) and (path[0] is Into.ELEMENT or isinstance(path[0], int))
        if method in ONE_ELEMENT and path:
            inside = self._at(receiver_of(node), (Into.ELEMENT, *path), None)
            return inexact((*inside, *self._made_of(arguments)))
        if method in SAME_ELEMENTS and element:
            inside = self._at(receiver_of(node), (Into.ELEMENT, *path[1:]), None)
            return inexact((*inside, *self._made_of(arguments)))
        callback = self._functions.known(arguments[0]) if arguments else None
        if callback is None or "generator" in callback.kind:
            return None
        returned = self._functions.returned(callback)
        if method == "catch":
            return inexact(self._either([receiver_of(node), *returned], path, None))
        of_map = method == "map" and element
        if not returned or not (of_map or (method == "then" and len(arguments) == 1)):
            return None
        return self._either(returned, path[1:] if of_map else path, text)

    def _helper(
        self, function: Syntax, call: Syntax, path: Path, text: str | None
    ) -> Origins | None:
        given = call.get("arguments")
        plain = given is not None and given.kind == "arguments"
        if function in self._inside or "generator" in function.kind or not plain:
            self._cut = self._cut or function in self._inside
            return (*self._made_of(call.children), UNSEEN)
        key = (function, path, text)
        if key not in self._given:
            self._inside.add(function)
            self._given[key] = self._either(self._functions.returned(function), path, text)
            self._inside.discard(function)
        return self._given[key]

    def _library(self, node: Syntax, method: str | None) -> Origins:
        """What a call of a standard method or function is made of."""
        root = self._root(node)
        callee = node["function"] if method is None else receiver_of(node)
        made = self._made_of([callee, *arguments_of(node)])
        known = root is not None and root not in UNTRACEABLE and method not in CHANGING
        if method is not None and root is None and method not in self.shared.methods:
            known = method in PURE or method in CALLING
        given = node.get("arguments")
        plain = given is None or given.kind == "arguments"
        known = known or self.shared.calls_nothing(node["function"])
        if known and plain and method not in FOLDS | {"catch"} and root != "Promise":
            return made
        return (*made, UNSEEN)

    def _root(self, node: Syntax) -> str | None:
        """The standard name that a callee begins with: ``Object`` of ``Object.assign``."""
        callee = bare(node.get("function") or node["constructor"])
        inner = bare(callee["object"]) if callee.kind in MEMBERS else callee
        if inner.kind != "identifier" or self._scopes.binding(inner) is not None:
            return None
        name = self._source.name(inner)
        return name if name in STANDARD and name not in RESERVED else None

    def _new(self, node: Syntax, _path: Path, _text: str | None) -> Origins:
        root = self._root(node)
        made = self._made_of(arguments_of(node))
        known = root is not None and root != "Promise" and root not in UNTRACEABLE
        return made if known else (*made, UNSEEN)

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
        "binary_expression": _binary,
        "assignment_expression": _assignment,
        "array": _array,
        "object": _object,
        "call_expression": _call,
        "new_expression": _new,
    }


_UNSEEN = frozenset({"this", "super", "yield_expression", *CLASSES})
"""Kinds of expression whose value comes from where nothing is followed."""
