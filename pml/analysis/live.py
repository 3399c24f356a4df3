"""Which parts of the tree matter for control flow: the others are never visited.

A node is live if it holds a call site, a call of a function that does, a use of a variable
that may hold a running call, a function that calls tools, or a statement that leaves its place
(return, throw, break, continue) or hands over a value (yield).
"""

from collections.abc import Iterable

from pml.analysis.calls import Calls
from pml.analysis.functions import Functions
from pml.analysis.iteration import Iterated, Iterations
from pml.analysis.patterns import pattern_names
from pml.analysis.scope import Binding, Scopes
from pml.analysis.syntax import CLASSES, FUNCTIONS, MEMBERS, Source, Syntax
from pml.analysis.targets import Targets, is_constructor

_LEAVING = (
    "return_statement",
    "throw_statement",
    "break_statement",
    "continue_statement",
    "yield_expression",
)

_GIVEN = {
    "variable_declarator": (("value", "name"),),
    "assignment_expression": (("right", "left"),),
    "for_in_statement": (("right", "left"),),
    "assignment_pattern": (("right", "left"),),
    "object_assignment_pattern": (("right", "left"),),
    "required_parameter": (("value", "pattern"),),
}
"""Where a value is given to names: the field of the value and that of the names."""


class Live:
    """The live nodes of a source.

    ``holds_call`` are those in which a tool may be called, ``functions`` the functions that
    call tools, ``classes`` the classes whose instances do while they are made.
    """

    def __init__(self, source: Source, scopes: Scopes, functions: Functions, calls: Calls) -> None:
        self._source = source
        self._scopes = scopes
        self.targets = Targets(source, scopes, functions, Iterations(source, scopes, calls))
        self.nodes: set[Syntax] = set()
        self.holds_call: dict[Syntax, bool] = {}
        self.functions: set[Syntax] = set()
        self.classes: set[Syntax] = set()
        self._carried: set[Binding] = set()
        self._pending: list[tuple[Syntax, bool]] = []
        for site in calls.sites:
            self._climb(site.node, carries=True)
        while self._pending:
            node, carries = self._pending.pop()
            self._climb(node, carries=carries)
        self.nodes.update(self.holds_call)
        for node in source.of_kinds(*_LEAVING):
            self._mark(node)

    def __contains__(self, node: Syntax) -> bool:
        return node in self.nodes

    def any_call(self, nodes: Iterable[Syntax | None]) -> bool:
        """Whether a call lies in one of the nodes."""
        return any(node is not None and node in self.holds_call for node in nodes)

    def run_by(self, call: Syntax) -> list[Syntax]:
        """The functions and classes that call tools and that a call may run."""
        return [f for f in self.targets.of(call) if f in self.functions or f in self.classes]

    def iterating(self, iterated: Syntax) -> Iterated | None:
        """The methods that call tools and that iterating a value may run, if there are any."""
        found = self.targets.iterating(iterated)
        if found is None:
            return None
        makers = tuple(f for f in found.makers if f in self.functions)
        steps = tuple(f for f in found.steps if f in self.functions)
        certain = found.certain and len(makers) == len(found.makers)
        return Iterated(makers, steps, certain) if makers or steps else None

    def given(self, expression: Syntax) -> list[Syntax]:
        """The functions that call tools and that an expression may stand for."""
        return [f for f in self.targets.values(expression) if f in self.functions]

    def _climb(self, start: Syntax, *, carries: bool) -> None:
        """Mark from a call outwards; ``carries`` while the value may be a running call."""
        node: Syntax | None = start
        while node is not None:
            if node in self.holds_call and (self.holds_call[node] or not carries):
                return
            self.holds_call[node] = carries
            parent = node.parent
            if node.kind in FUNCTIONS:
                self._reach(node, self.functions)
                if is_constructor(self._source, node):
                    self._reach_class(parent.parent if parent is not None else None)
                self._mark(node)
                return
            if _is_field_value(node):
                self._reach_class(_class_around(node))
                self._mark(node)
                return
            if node.kind == "await_expression":
                carries = False
            elif carries and parent is not None:
                self._carry(node, parent)
            node = parent

    def _mark(self, start: Syntax) -> None:
        """Whatever is around is visited, though no call need lie in it."""
        node: Syntax | None = start
        while node is not None:
            if node in self.nodes and node is not start:
                return
            self.nodes.add(node)
            if node is not start and node.kind in FUNCTIONS and node not in self.functions:
                return
            node = node.parent

    def _carry(self, node: Syntax, parent: Syntax) -> None:
        """A running call is given to names: what uses these is live too."""
        pattern = node if node.kind == "array_pattern" else None
        for given, names in _GIVEN.get(parent.kind, ()):
            if parent.get(given) is node:
                pattern = parent[names]
        if parent.kind == "arguments" and parent.parent is not None:
            callee = parent.parent.get("function")
            if callee is not None and callee.kind in MEMBERS:
                pattern = callee["object"]
        if pattern is None:
            return
        for target, _path, _default in pattern_names(self._source, pattern):
            binding = self._scopes.holder(target)
            if binding is not None and binding not in self._carried:
                self._carried.add(binding)
                self._pending.extend((use, True) for use in binding.uses)

    def _reach(self, function: Syntax, known: set[Syntax]) -> None:
        """A function calls tools: so does whatever runs it."""
        if function not in known:
            known.add(function)
            callers = self.targets.callers(function)
            self._pending.extend((call, True) for call in callers if call.kind not in CLASSES)

    def _reach_class(self, found: Syntax | None) -> None:
        """Instances call tools while they are made: so do those of derived classes."""
        if found is None or found in self.classes:
            return
        self._reach(found, self.classes)
        for derived in self.targets.callers(found):
            if derived.kind in CLASSES:
                self._reach_class(derived)


def _is_field_value(node: Syntax) -> bool:
    """Whether the node is what an instance's field starts with."""
    owner = node.parent
    return (
        owner is not None
        and owner.kind == "public_field_definition"
        and owner.get("value") is node
        and "static" not in owner.tokens
    )


def _class_around(node: Syntax) -> Syntax | None:
    return next((outer for outer in node.ancestors() if outer.kind in CLASSES), None)
