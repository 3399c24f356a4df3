"""Which function a call runs, and what its parameters then hold."""

from collections import Counter

from pml.analysis.literals import string_value
from pml.analysis.patterns import Into, Path, parameters, pattern_names
from pml.analysis.scope import Binding, Definition, Scopes
from pml.analysis.syntax import FUNCTIONS, Source, Syntax, bare, wrapped

ARRAY_CALLBACKS = frozenset(
    {
        "map",
        "forEach",
        "filter",
        "reduce",
        "reduceRight",
        "flatMap",
        "some",
        "every",
        "find",
        "findIndex",
        "findLast",
        "findLastIndex",
        "sort",
        "toSorted",
    }
)
"""Methods that call their first argument once per element, before they return."""
_FOLDS = frozenset({"reduce", "reduceRight"})
_PROMISE_CALLBACKS = frozenset({"then", "catch", "finally"})


def arguments_of(call: Syntax) -> list[Syntax]:
    """The argument expressions; none for a tagged template or ``new X``."""
    found = call.get("arguments")
    return found.children if found is not None and found.kind == "arguments" else []


def method_of(source: Source, call: Syntax) -> str | None:
    """The name of the method that ``x.name(...)`` calls; None for other calls."""
    callee = call.get("function")
    callee = bare(callee) if callee is not None else None
    if callee is None:
        return None
    if callee.kind == "subscript_expression" and "index" in callee.fields:
        return string_value(source, bare(callee["index"]))
    return source.name(callee["property"]) if "property" in callee.fields else None


def receiver_of(call: Syntax) -> Syntax:
    """``x`` of ``x.name(...)``."""
    return bare(call["function"])["object"]


def runs_elements(source: Source, call: Syntax) -> Syntax | None:
    """The callback that a call runs once per element: ``xs.map(f)`` or ``Array.from(xs, f)``."""
    method = method_of(source, call)
    arguments = arguments_of(call)
    if method in ARRAY_CALLBACKS:
        return arguments[0] if arguments else None
    if method == "from" and len(arguments) > 1 and source.text(receiver_of(call)) == "Array":
        return arguments[1]
    return None


class Functions:
    """The functions of a source by the calls that run them.

    Creating it completes the definitions of parameters in ``scopes``.
    """

    def __init__(self, source: Source, scopes: Scopes) -> None:
        self._source = source
        self._scopes = scopes
        self._returns: dict[Syntax, list[Syntax]] = {}
        self._calls: Counter[Syntax] = Counter()
        for call in source.of_kinds("call_expression"):
            self._link(call)
        for node in source.of_kinds("return_statement"):
            self._note_return(node)

    def known(self, expression: Syntax) -> Syntax | None:
        """The function that an expression certainly stands for."""
        expression = bare(expression)
        if expression.kind in FUNCTIONS:
            return expression
        binding = self._scopes.binding(expression)
        return None if binding is None else binding.function

    def called(self, call: Syntax) -> Syntax | None:
        """The function that a call certainly runs: a helper's, or one called on the spot."""
        callee = call.get("function")
        return None if callee is None else self.known(callee)

    def private(self, function: Syntax) -> bool:
        """Whether every call of the function is in sight: it is never handed on as a value."""
        if function.kind == "method_definition":
            return False
        name = function.get("name")
        place = wrapped(function)
        parent = place.parent
        if parent is not None and parent.kind == "variable_declarator":
            name = parent["name"]
        elif not function.kind.endswith("_declaration"):
            return _is_called(place)
        binding = None if name is None else self._scopes.targets.get(name)
        if binding is None or binding.function is not function:
            return False
        return all(_is_called(wrapped(use)) for use in binding.uses)

    def calls(self, function: Syntax) -> int:
        """How many calls certainly run the function."""
        return self._calls[function]

    def returned(self, function: Syntax) -> list[Syntax]:
        """The expressions whose value the function may return."""
        body = function.get("body")
        if body is not None and body.kind != "statement_block":
            return [body]
        return self._returns.get(function, [])

    def is_promise_callback(self, call: Syntax) -> bool:
        """Whether the call runs its arguments when the receiver settles."""
        return method_of(self._source, call) in _PROMISE_CALLBACKS

    def _note_return(self, node: Syntax) -> None:
        owner = next((o for o in node.ancestors() if o.kind in FUNCTIONS), None)
        if owner is not None and node.children:
            self._returns.setdefault(owner, []).append(node.children[0])

    def _link(self, call: Syntax) -> None:
        arguments = arguments_of(call)
        helper = self.called(call)
        if helper is not None:
            self._calls[helper] += 1
            for place, pattern in parameters(helper):
                self._pass(pattern, place, arguments, call)
            return
        method = method_of(self._source, call)
        if method is None or not arguments:
            return
        if method in ARRAY_CALLBACKS:
            self._link_elements(call, arguments, folds=method in _FOLDS)
        elif method == "then":
            self._hand(arguments[0], 0, receiver_of(call), (), call)

    def _link_elements(self, call: Syntax, arguments: list[Syntax], *, folds: bool) -> None:
        callback = arguments[0]
        self._hand(callback, 1 if folds else 0, receiver_of(call), (Into.ELEMENT,), call)
        if folds and len(arguments) > 1:
            self._hand(callback, 0, arguments[1], (Into.UNKNOWN,), call)

    def _pass(self, pattern: Syntax, place: int, arguments: list[Syntax], call: Syntax) -> None:
        spread = any(argument.kind == "spread_element" for argument in arguments)
        if _is_rest(pattern) or spread:
            for argument in arguments[0 if spread else place :]:
                self._define(pattern, argument, (Into.UNKNOWN,), call)
        elif place < len(arguments):
            self._define(pattern, arguments[place], (), call)

    def _hand(self, callback: Syntax, place: int, value: Syntax, path: Path, call: Syntax) -> None:
        function = self.known(callback)
        for position, pattern in () if function is None else parameters(function):
            if position == place:
                self._define(pattern, value, path, call)

    def _define(self, pattern: Syntax, value: Syntax, path: Path, call: Syntax) -> None:
        for target, inner, _default in pattern_names(self._source, pattern):
            binding: Binding | None = self._scopes.targets.get(target)
            if binding is not None:
                binding.definitions.append(Definition(value, path + inner, call))


def _is_called(expression: Syntax) -> bool:
    call = expression.parent
    return (
        call is not None and call.kind == "call_expression" and call.get("function") is expression
    )


def _is_rest(pattern: Syntax) -> bool:
    inner = pattern.get("pattern")
    return inner is not None and inner.kind == "rest_pattern"
