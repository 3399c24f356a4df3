"""What may flow where at all: for every expression the calls whose results may be in its value.

Coarse and sound, for what `pml.analysis.origins` cannot follow exactly.  A graph has two nodes
per value: what it *holds*, and what may have been *put into* it later.  What an expression is
made of flows forward.  What is put into a value (``o.x = v``, ``list.push(v)``, an argument of
unknown code) goes back to where the value came from, since that may be the same object, and from
there forward to all that holds it.  Values that go where nobody can follow them meet in one node.
An object and its parts are one value here.
"""

from collections.abc import Callable, Iterable
from typing import ClassVar

from pml.analysis.calls import Calls, Site
from pml.analysis.effects import Called
from pml.analysis.elements import element
from pml.analysis.functions import Functions, method_of
from pml.analysis.held import Held
from pml.analysis.patterns import pattern_names
from pml.analysis.scope import Scopes
from pml.analysis.shared import Shared, nested_defaults
from pml.analysis.standard import CALLING
from pml.analysis.syntax import (
    CLASSES,
    FUNCTIONS,
    Source,
    Syntax,
    bare,
    function_of,
    wrapped,
)
from pml.analysis.valuegraph import NOTHING
from pml.analysis.versions import number

_NO_VALUE = frozenset(
    "string number regex true false null undefined property_identifier string_fragment".split()  # noqa: SIM905
)
_SILENT = frozenset(
    """
    program statement_block class_body switch_body switch_case switch_default variable_declarator
    else_clause catch_clause finally_clause formal_parameters required_parameter
    optional_parameter object_pattern array_pattern pair_pattern rest_pattern
    assignment_pattern object_assignment_pattern
    """.split()  # noqa: SIM905
)
"""What has no value of its own; what is inside is visited."""
_CHOOSING = frozenset({"&&", "||", "??"})


class Taint(Held):
    """The graph of one source, solved when it is first asked."""

    def __init__(
        self,
        source: Source,
        scopes: Scopes,
        functions: Functions,
        calls: Calls,
        shared: Shared,
    ) -> None:
        super().__init__(source, scopes, functions, calls, shared)
        self._values: list[int] | None = None
        self._handed_on: list[tuple[Syntax, int]] = []

    # Asking

    def sites(self, site: Site, expressions: Iterable[Syntax]) -> int:
        """The results that may be in arguments of a site, as bits in the order of the sites."""
        values = self._solved()
        found = 0
        for expression in expressions:
            found |= values[self._of.get(expression, NOTHING)]
        if site.call is None:
            found |= values[self._given[site]]
        return found & self.order.before(site)

    def _solved(self) -> list[int]:
        if self._values is None:
            self._build()
            self._values = self._graph.solved()
        return self._values

    # Making the graph

    def _build(self) -> None:
        self._bound.update(
            {
                binding: number(binding, self._graph, self._versions)
                for binding in dict.fromkeys(self._scopes.targets.values())
            }
        )
        self._graph.own[self._failed] = self.order.in_functions
        self._graph.store(self._unfollowed, self._unfollowed)
        self._visit(self._source.root)
        for call, held in self._handed_on:
            self._graph.flow(self._of.get(call, NOTHING), held)
        for binding, everything in self._bound.items():
            for definition in binding.definitions:
                value = self._of.get(element(self._source, definition), NOTHING)
                self._graph.flow(value, self._versions.of_definition[definition])
            if binding.node.parent is not None and binding.node.parent.kind in CLASSES:
                self._graph.flow(self._of.get(binding.node.parent, NOTHING), everything)
        for node in self._source.of_kinds("catch_clause"):
            self._catch(node)
        for pattern, default in nested_defaults(self._source):
            for target, _path, _default in pattern_names(self._source, pattern):
                self._give(target, self._of.get(default, NOTHING))

    def _visit(self, node: Syntax) -> int:
        """The node of what an expression holds; everything inside is visited too."""
        kind = node.kind
        if kind in _NO_VALUE:
            return NOTHING
        write = self._RULES.get(kind)
        site = self._calls.by_node.get(node)
        if site is not None:
            found = self._site(site, node)
        elif kind in FUNCTIONS:
            found = self._function(node)
        elif kind in CLASSES:
            found = self._class(node)
        elif write is not None:
            found = write(self, node)
        elif kind in _SILENT or kind.endswith(("_statement", "_declaration")):
            for child in node.children:
                self._visit(child)
            return NOTHING
        else:
            found = self._graph.join([self._visit(child) for child in node.children])
        self._of[node] = found
        return found

    def _computed(self, node: Syntax) -> int:
        parts = [self._visit(child) for child in node.children]
        if _CHOOSING & set(node.tokens):
            return self._graph.join(parts)
        made = self._graph.new()
        for part in parts:
            self._graph.made(part, made)
        return made

    def _object(self, node: Syntax) -> int:
        found = self._graph.join([self._visit(child) for child in node.children])
        if node in self._this:
            whole = self._this[node]
            self._graph.flow(found, whole)
            return whole
        return found

    def _site(self, site: Site, node: Syntax) -> int:
        given = self._graph.join([self._visit(child) for child in node.children])
        result = self._graph.new()
        self._graph.own[result] = self.order.bit(site)
        if site.call is None:
            held = self._given[site] = self._graph.new()
            self._graph.flow(self._unfollowed, held)
            self._graph.flow(given, held)
            for outer in node.ancestors():
                if outer.kind == "call_expression":
                    self._handed_on.append((outer, held))
                    break
        return result

    # Functions and classes

    def _function(self, node: Syntax) -> int:
        """A value that gives what the function gives when somebody calls it."""
        given = self._effects.returns(node)
        body = node.get("body")
        for child in node.children:
            found = self._visit(child)
            if child is body and child.kind != "statement_block":
                self._graph.flow(found, given)
        if not (self._functions.private(node) or self._is_callback(node)):
            self._effects.hand(node, self._unfollowed)
        if node.kind == "method_definition" and node.parent is not None:
            owner = (
                self._instance(node.parent.parent or node.parent)
                if (node.parent.kind == "class_body")
                else self._instance(node.parent)
            )
            self._effects.hand(node, owner)
            self._graph.flow(given, owner)
        return given

    def _is_callback(self, node: Syntax) -> bool:
        """Whether it stands where a standard method or function calls it."""
        arguments = wrapped(node).parent
        call = None if arguments is None else arguments.parent
        if call is None or arguments is None or arguments.kind != "arguments":
            return False
        if call.kind != "call_expression":
            return False
        method = method_of(self._source, call)
        return method in CALLING and method not in self._methods

    def _class(self, node: Syntax) -> int:
        whole = self._instance(node)
        for child in node.children:
            self._graph.flow(self._visit(child), whole)
        if "class_heritage" in {child.kind for child in node.children}:
            self._graph.flow(self._unfollowed, whole)
        return whole

    def _field(self, node: Syntax) -> int:
        found = self._graph.join([self._visit(child) for child in node.children])
        owner = next((o for o in node.ancestors() if o.kind in CLASSES), None)
        if owner is not None:
            self._graph.flow(found, self._instance(owner))
        return found

    def _return(self, node: Syntax) -> int:
        found = self._graph.join([self._visit(child) for child in node.children])
        owner = function_of(node)
        self._graph.flow(found, self._effects.returns(owner))
        if node.kind == "yield_expression":
            return self._graph.join([self._unfollowed, self._effects.returns(owner)])
        return NOTHING

    def _throw(self, node: Syntax) -> int:
        found = self._graph.join([self._visit(child) for child in node.children])
        self._graph.flow(found, self._failed)
        return NOTHING

    def _await(self, node: Syntax) -> int:
        found = self._graph.join([self._visit(child) for child in node.children])
        if function_of(node).parent is not None:
            self._graph.flow(found, self._failed)
        return found

    # Changes

    def _assign(self, node: Syntax) -> int:
        left, right = node["left"], node["right"]
        value = self._visit(right)
        held = self._visit(left)
        for target, _path, default in pattern_names(self._source, left):
            given = self._graph.join(
                [value, self._of.get(default, NOTHING) if default else NOTHING]
            )
            self._set(bare(target), given)
        for child in node.children:
            if child is not left and child is not right:
                self._visit(child)
        return value if node.kind == "assignment_expression" else self._graph.join([value, held])

    def _for_in(self, node: Syntax) -> int:
        for child in node.children:
            self._visit(child)
        if node["left"] not in self._scopes.targets:
            value = self._of.get(node["right"], NOTHING)
            for target, _path, _default in pattern_names(self._source, node["left"]):
                self._set(bare(target), value)
        return NOTHING

    # Calls

    def _call(self, node: Syntax) -> int:
        callee = node.get("function") or node.get("constructor")
        owner = NOTHING if callee is None else self._visit(callee)
        given = node.get("arguments")
        arguments = [] if given is None else given.children
        values = [self._visit(argument) for argument in arguments]
        result = self._graph.new()
        function = self._functions.called(node) if node.kind == "call_expression" else None
        if function is not None:
            self._graph.flow(self._effects.returns(function), result)
            if given is not None and given.kind != "arguments":
                self._effects.hand(function, self._graph.join(values))
            for value in values if "arguments" in self._scopes.free else ():
                self._graph.flow(value, self._unfollowed)
            return result
        method = method_of(self._source, node) if node.kind == "call_expression" else None
        self._effects.run(Called(node, method, owner, arguments, values, result))
        return result

    _RULES: ClassVar[dict[str, Callable[["Taint", Syntax], int]]] = {
        "identifier": Held.name,
        "shorthand_property_identifier": Held.name,
        "this": Held.whose,
        "super": Held.whose,
        "call_expression": _call,
        "new_expression": _call,
        "assignment_expression": _assign,
        "augmented_assignment_expression": _assign,
        "for_in_statement": _for_in,
        "return_statement": _return,
        "yield_expression": _return,
        "throw_statement": _throw,
        "await_expression": _await,
        "object": _object,
        "binary_expression": _computed,
        "unary_expression": _computed,
        "update_expression": _computed,
        "template_string": _computed,
        "public_field_definition": _field,
    }
