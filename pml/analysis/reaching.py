"""What a name may hold where it is used: which definitions count, and whether they are all."""

from bisect import bisect_left, bisect_right

from pml.analysis.functions import ARRAY_CALLBACKS, Functions, arguments_of, method_of
from pml.analysis.patterns import parameters
from pml.analysis.scope import Binding, Definition
from pml.analysis.shared import Shared
from pml.analysis.standard import FOLDS
from pml.analysis.syntax import CLASSES, LOOPS, Source, Syntax, function_of, wrapped
from pml.analysis.versions import sole_owner

FAN = 12
"""Definitions that one use may see."""

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


class Reaching:
    """Answers for one source."""

    def __init__(self, source: Source, functions: Functions, shared: Shared) -> None:
        self._source = source
        self._functions = functions
        self._shared = shared
        self._owners: dict[Binding, Syntax | None] = {}
        self._ordered: dict[Binding, tuple[list[int], list[Definition]]] = {}
        self._handed: dict[Binding, bool] = {}

    def reaching(self, binding: Binding, use: Syntax) -> list[Definition]:
        """The definitions whose value the use may see, or more than `FAN` of them."""
        if len(binding.definitions) <= 1:
            return binding.definitions
        if binding not in self._owners:
            self._owners[binding] = sole_owner(binding)
        owner = self._owners[binding]
        if owner is None or function_of(use) is not owner:
            return binding.definitions
        if binding not in self._ordered:
            ordered = sorted(binding.definitions, key=lambda d: d.at.end)
            self._ordered[binding] = [d.at.end for d in ordered], ordered
        ends, ordered = self._ordered[binding]
        found: list[Definition] = []
        for place in range(bisect_left(ends, use.start + 1) - 1, -1, -1):
            definition = ordered[place]
            found.append(definition)
            replaces = not definition.weak and definition.at.kind not in LOOPS
            if len(found) > FAN or (replaces and _always_runs_before(definition.at, use)):
                break
        loop = _loop_around(use, binding.node)
        if loop is not None:
            first, last = bisect_left(ends, loop.start), bisect_right(ends, loop.end)
            around = ordered[first : min(last, first + FAN + 1)]
            found += [d for d in around if d not in found]
        return found

    def is_hidden(self, binding: Binding) -> bool:
        """Whether the variable may hold more than its definitions say."""
        if binding in self._shared.changed.variables or binding.kind == "catch":
            return True
        declared = binding.node.parent
        if declared is not None and declared.kind in CLASSES:
            return True
        if binding.kind != "parameter":
            return False
        if binding not in self._handed:
            self._handed[binding] = self._is_known_parameter(binding)
        return not self._handed[binding]

    def is_certain(self, binding: Binding, use: Syntax) -> bool:
        """Whether the variable certainly has the value of its only definition there."""
        if binding in self._shared.counted.variables:
            return False
        definition = binding.definitions[0]
        if binding.kind == "parameter":
            return self._functions.calls(binding.scope) <= len(binding.definitions)
        at_once = definition.at is binding.node.parent or definition.at.covers(binding.node)
        if binding.kind in {"function", "loop", "catch"} or (binding.kind == "lexical" and at_once):
            return True  # before that it cannot be read
        same = function_of(definition.at) is function_of(use)
        return same and definition.at.end <= use.start and _always_runs_before(definition.at, use)

    def _is_known_parameter(self, binding: Binding) -> bool:
        """Whether all that the parameter gets is among its definitions."""
        function = binding.scope
        if self._functions.private(function):
            return True
        arguments = wrapped(function).parent
        call = None if arguments is None else arguments.parent
        if call is None or call.kind != "call_expression" or arguments is None:
            return False
        method = method_of(self._source, call)
        first = arguments_of(call)[:1] == [wrapped(function)]
        if not first or method not in ARRAY_CALLBACKS | {"then"} or method in self._shared.methods:
            return False
        if method in {"sort", "toSorted"}:
            return False
        place = next(n for n, pattern in parameters(function) if pattern.covers(binding.node))
        if method in FOLDS:
            return place in {1, 2}
        return place == 0 or (place == 1 and method not in {"then", "forEach"})


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
