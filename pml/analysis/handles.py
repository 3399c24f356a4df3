"""What an expression certainly stands for on the way from ``mcp`` to a tool (SA-5).

A value is followed backwards: through variables, destructuring, members, literals of arrays and
objects that nobody changes, parameters of helpers whose calls are all in sight, and what such
helpers return.  Whoever follows a value forwards (`pml.analysis.calls`) goes on only where this
agrees, so that no way around goes unnoticed.
"""

from weakref import proxy

from pml.analysis.constants import Constants
from pml.analysis.functions import Functions, arguments_of, method_of
from pml.analysis.handle import ABSENT, CALLABLE, ROOTS, Found, Handle, along, merged
from pml.analysis.patterns import Into, Path, Step, parameters
from pml.analysis.scope import Binding, Scopes
from pml.analysis.syntax import FUNCTIONS, MEMBERS, Source, Syntax, bare, function_of, wrapped
from pml.analysis.untouched import TAKING_ELEMENTS, takes_rest

_NAMES = frozenset({"identifier", "shorthand_property_identifier"})
_MOST_NAMES = 500
"""Names that one answer looks at: helpers that call one another have many ways around.  What is
further away is unknown."""
_ARRAYS_PASSED = 3
"""A callback with that many parameters is given the array itself."""


class Handles:
    """Answers for every expression of a source; remembers its answers."""

    def __init__(
        self, source: Source, scopes: Scopes, functions: Functions, constants: Constants
    ) -> None:
        self._source = source
        self._scopes = scopes
        self._functions = functions
        self._constants = constants
        me = proxy(self)  # a cycle would keep the whole tree until the collector comes
        constants.calls_tool = lambda expression: me.is_tool(expression)  # noqa: PLW0108  # strong
        self.reaches_prototypes = constants.reaches_prototypes
        self._following: set[Binding | Syntax] = set()
        self._names_asked = 0
        self._known: dict[tuple[Binding | Syntax, Path], Found] = {}
        self._in_sight: dict[Syntax, bool] = {}
        self._using_arguments = {
            _owner_of_arguments(node) for node in scopes.free.get("arguments", ())
        }

    def of(self, expression: Syntax, path: Path = ()) -> Handle | None:
        """The handle that the expression, or what lies at ``path`` in it, certainly is."""
        found = self._value(expression, path)
        return found if isinstance(found, Handle) else None

    def named(self, target: Syntax) -> Handle | None:
        """What the name that a pattern declares or assigns stands for."""
        binding = self._scopes.targets.get(target)
        found = None if binding is None else self._of_binding(binding, ())
        return found if isinstance(found, Handle) else None

    def key(self, member: Syntax) -> Step:
        """The property that a member access reads; unknown if computed from unknown values."""
        name = self._constants.key(member)
        return Into.UNKNOWN if name is None else name

    def only_read(self, node: Syntax) -> bool:
        """Whether of an array or object, written there or held by a name, members are only read."""
        if node.kind in {"array", "object"}:
            return self._constants.only_read(wrapped(node), node)
        binding = self._scopes.binding(node)
        return binding is not None and self._constants.untouched(binding)

    def in_sight(self, function: Syntax) -> bool:
        """Whether every call of the function, and what each argument becomes, is in sight."""
        known = self._in_sight.get(function)
        if known is None:
            known = self._in_sight[function] = self._sees_calls(function)
        return known

    def calls_of(self, function: Syntax) -> list[Syntax]:
        """The calls of a function that is in sight."""
        binding = self._binding_of(function)
        callees = [wrapped(function)] if binding is None else map(wrapped, binding.uses)
        return [callee.parent for callee in callees if callee.parent is not None]

    def callback_of(self, call: Syntax) -> Syntax | None:
        """The function, written on the spot, that an array method gives each element."""
        given = arguments_of(call)
        if self.reaches_prototypes or method_of(self._source, call) not in TAKING_ELEMENTS:
            return None
        function = bare(given[0]) if given else None
        if function is None or function.kind not in FUNCTIONS:
            return None
        passed = len(parameters(function))
        return None if passed >= _ARRAYS_PASSED or self._hides(function) else function

    def called(self, call: Syntax) -> Syntax | None:
        """The function that a call certainly runs."""
        function = self._functions.called(call)
        callee = call.get("function")
        binding = None if callee is None else self._scopes.binding(bare(callee))
        if binding is not None and binding.kind == "parameter":
            return function if self.in_sight(binding.scope) else None
        return function

    def is_tool(self, expression: Syntax) -> bool:
        """Whether the expression certainly is a tool or a capability."""
        found = self.of(expression)
        return found is not None and found.kind in CALLABLE and found.certain

    # Functions

    def _binding_of(self, function: Syntax) -> Binding | None:
        name = function.get("name") if function.kind.endswith("_declaration") else None
        parent = wrapped(function).parent
        if parent is not None and parent.kind == "variable_declarator":
            name = parent["name"]
        return None if name is None else self._scopes.targets.get(name)

    def _sees_calls(self, function: Syntax) -> bool:
        if self._hides(function) or not self._functions.private(function):
            return False
        given = (arguments_of(call) for call in self.calls_of(function))
        return not any(one.kind == "spread_element" for some in given for one in some)

    def _hides(self, function: Syntax) -> bool:
        """Whether its arguments go elsewhere than into named parameters."""
        rest = any(takes_rest(pattern) for _place, pattern in parameters(function))
        return rest or function in self._using_arguments

    # Values

    def _value(self, expression: Syntax, path: Path) -> Found:
        node = bare(expression)
        kind = node.kind
        if kind in MEMBERS:
            return self._remembered(node, path)
        if kind in _NAMES:
            return self._name(node, path)
        if kind in {"null", "undefined"}:
            return ABSENT
        if kind == "await_expression" and node.children:
            inner = bare(node.children[0])
            is_call = inner.kind == "call_expression"
            return self._returned(inner, path, "") if is_call else self._value(inner, path)
        return self._remembered(node, path) if kind in _COMPOSED else None

    def _remembered(self, node: Syntax, path: Path) -> Found:
        place = (node, path)
        if place in self._known:
            return self._known[place]
        if node in self._following:
            return None
        if not self._following:
            self._names_asked = 0
        self._following.add(node)
        found = self._composed(node, path)
        self._following.discard(node)
        if not self._following:
            self._known[place] = found
        return found

    def _composed(self, node: Syntax, path: Path) -> Found:
        kind = node.kind
        whole = self._remembered_whole(node) if path else None
        if whole is not None:
            return along(whole, path)
        if kind in MEMBERS:
            return self._value(node["object"], (self.key(node), *path))
        if kind == "binary_expression":
            return self._chosen(node, path)
        if kind == "call_expression":
            return self._returned(node, path, "async")
        if kind in {"array", "object"}:
            return self._inside(node, path) if path else None
        return merged([self._value(value, path) for value in _outcomes(node)])

    def _remembered_whole(self, node: Syntax) -> Handle | None:
        """Of several servers none is known, but that a tool of one of them is called is."""
        self._following.discard(node)
        found = self._remembered(node, ())
        self._following.add(node)
        return found if isinstance(found, Handle) else None

    def _chosen(self, node: Syntax, path: Path) -> Found:
        if "&&" in node.tokens:
            return merged([self._value(node["right"], path), ABSENT])
        if "||" not in node.tokens and "??" not in node.tokens:
            return None
        return merged([self._value(node["left"], path), self._value(node["right"], path)])

    def _inside(self, node: Syntax, path: Path) -> Found:
        """What lies at a path in a literal of an array or object."""
        if path[0] is Into.ELEMENT and node.kind == "array":
            if any(child.kind == "spread_element" for child in node.children):
                return None
            return merged([self._value(child, path[1:]) for child in node.children])
        if not isinstance(path[0], str | int):
            return None
        entry = self._constants.entry(node, str(path[0]))
        return None if entry is None else self._value(entry, path[1:])

    def _returned(self, call: Syntax, path: Path, but: str) -> Found:
        """What a call of a helper gives, unless the helper is of a kind that gives a promise."""
        function = self.called(call)
        if function is None or "generator" in function.kind or but in function.tokens:
            return None
        if "*" in function.tokens:
            return None
        return merged([self._value(value, path) for value in self._functions.returned(function)])

    # Names

    def _name(self, node: Syntax, path: Path) -> Found:
        binding = self._scopes.binding(node)
        if binding is not None:
            return self._of_binding(binding, path)
        name = self._source.name(node)
        if name == "undefined":
            return ABSENT
        return along(ROOTS.get(name), path)

    def _of_binding(self, binding: Binding, path: Path) -> Found:
        place = (binding, path)
        if place in self._known:
            return self._known[place]
        if not self._following:
            self._names_asked = 0
        self._names_asked += 1
        if binding in self._following or self._names_asked > _MOST_NAMES:
            return None
        self._following.add(binding)
        found = self._defined(binding, path)
        self._following.discard(binding)
        if not self._following:
            self._known[place] = found
        return found

    def _defined(self, binding: Binding, path: Path) -> Found:
        if binding.kind == "catch" or (_has_inner_default(binding) and not self._is_there(binding)):
            return None
        if binding.kind == "parameter" and not self._is_followed(binding):
            return None
        given = [self._value(d.value, d.path) for d in binding.definitions if not d.weak]
        certain = bool(given) and all(isinstance(g, Handle) and g.certain for g in given)
        for definition in binding.definitions:
            if definition.weak and not definition.path:
                changes = definition.at.kind.startswith("augmented")
                always = changes or binding.kind == "parameter"
                needed = always or not (certain and self._is_there(binding))
                given += [self._value(definition.value, ())] if needed else []
        found = merged(given)
        if isinstance(found, Handle) or not path:
            return along(found, path) if isinstance(found, Handle) else found
        if not self._constants.untouched(binding):
            return None
        definition = binding.definitions[0]
        return self._value(definition.value, (*definition.path, *path))

    def _is_there(self, binding: Binding) -> bool:
        """Whether it is taken out of something of which no part is ever missing."""
        given = [self._value(d.value, ()) for d in binding.definitions if not d.weak]
        return bool(given) and all(isinstance(g, Handle) and g.certain for g in given)

    def _is_followed(self, parameter: Binding) -> bool:
        function = parameter.scope
        if self.in_sight(function):
            return True
        given = wrapped(function).parent
        call = None if given is None or given.kind != "arguments" else given.parent
        if call is None or self.callback_of(call) is not function:
            return False
        first = next((pattern for _place, pattern in parameters(function)), None)
        return first is not None and first.covers(parameter.node)


_PATTERNS = frozenset({"object_pattern", "array_pattern"})
_DEFAULTED = frozenset({"assignment_pattern", "required_parameter", "optional_parameter"})
_PATTERN_PARTS = _PATTERNS | _DEFAULTED | {"pair_pattern", "object_assignment_pattern"}
_COMPOSED = frozenset(
    {
        "ternary_expression",
        "binary_expression",
        "sequence_expression",
        "assignment_expression",
        "call_expression",
        "array",
        "object",
    }
)


def _owner_of_arguments(node: Syntax) -> Syntax:
    """The function whose ``arguments`` the name means: arrows have none of their own."""
    function = function_of(node)
    while function.kind == "arrow_function":
        function = function_of(function)
    return function


def _has_inner_default(binding: Binding) -> bool:
    """Whether a pattern that declares or assigns the name has a default for a part with parts."""
    for definition in binding.definitions:
        if definition.path and definition.at.kind == "assignment_expression":
            return True
    inner = binding.node
    for outer in binding.node.ancestors():
        if outer.kind not in _PATTERN_PARTS:
            break
        default = outer.get("right") or outer.get("value")
        if outer.kind in _DEFAULTED and default not in {None, inner} and inner.kind in _PATTERNS:
            return True
        inner = outer
    return False


def _outcomes(node: Syntax) -> list[Syntax]:
    """The expressions of which the value of a whole is one."""
    if node.kind == "ternary_expression":
        return [node["consequence"], node["alternative"]]
    return [node["right"] if node.kind == "assignment_expression" else node.children[-1]]
