"""Which variables hold objects that change in ways that their own definitions do not show.

``list.push(x)`` is a definition of ``list``; but if ``list`` is ``state.items``, then ``state`` has
changed too, and nothing that names ``state`` says so.  So is what goes to code that cannot be
followed.  The answer is coarse: every variable from which such an object may come.
"""

from collections.abc import Iterator

from pml.analysis.calls import Calls
from pml.analysis.functions import Functions, arguments_of, method_of
from pml.analysis.globals import ARGS, RESERVED, STANDARD
from pml.analysis.literals import key_name
from pml.analysis.scope import Binding, Path, Scopes, pattern_names
from pml.analysis.standard import ADDING, CALLING, CHANGING, PURE, REORDERING, UNTRACEABLE
from pml.analysis.syntax import FUNCTIONS, MEMBERS, Source, Syntax, bare, wrapped

_NAMES = frozenset({"identifier", "shorthand_property_identifier"})
_PATTERNS = frozenset({"object_pattern", "array_pattern"})
_ASSIGNING = ("assignment_expression", "augmented_assignment_expression", "for_in_statement")
_NO_FUNCTION = frozenset(
    """
    string number template_string true false null object array binary_expression await_expression
    unary_expression regex
    """.split()  # noqa: SIM905
)


def own_methods(source: Source) -> frozenset[str]:
    """Names of properties that hold functions of the program: calling one runs its code."""
    found: set[str | None] = set()
    for node in source.of_kinds("method_definition"):
        found.add(key_name(source, node["name"]))
    for node in source.of_kinds("pair", "public_field_definition"):
        value, key = node.get("value"), node.get("key") or node.get("name")
        if value is not None and key is not None and bare(value).kind in FUNCTIONS:
            found.add(key_name(source, key))
    for node in source.of_kinds("assignment_expression"):
        target = bare(node["left"])
        if target.kind in MEMBERS and bare(node["right"]).kind not in _NO_FUNCTION:
            key = target.get("property")
            found.add(None if key is None else key_name(source, key))
    return frozenset(name for name in found if name is not None)


def named_parts(calls: Calls, expression: Syntax) -> Iterator[Syntax]:
    """The names in an expression, but for what only goes into a call of a tool."""
    pending = [expression]
    while pending:
        node = pending.pop()
        if node in calls.by_node:
            continue
        if node.kind in _NAMES:
            yield node
        pending.extend(node.children)


def nested_defaults(source: Source) -> Iterator[tuple[Syntax, Syntax]]:
    """Patterns inside others that have a default of their own, and that: ``{ a: { b } = c }``."""
    for node in source.of_kinds("assignment_pattern", "object_assignment_pattern"):
        if node["left"].kind in _PATTERNS and "right" in node.fields:
            yield node["left"], node["right"]
    for node in source.of_kinds("required_parameter", "optional_parameter"):
        pattern, default = node.get("pattern"), node.get("value")
        if pattern is not None and default is not None and pattern.kind in _PATTERNS:
            yield pattern, default


class Shared:
    """``changed`` are the variables, ``free`` the names of outside that are set or changed.

    ``args.x`` is a name of its own, ``args`` all of them; ``methods`` are the names of properties
    that hold functions of the program.
    """

    def __init__(self, source: Source, scopes: Scopes, functions: Functions, calls: Calls) -> None:
        self._source = source
        self._scopes = scopes
        self._functions = functions
        self._calls = calls
        self.methods = own_methods(source)
        self.changed: set[Binding] = set()
        self.free: set[str] = set()
        self._pending: list[Binding] = []
        self._behind_of: set[tuple[Binding, bool]] = set()
        for node in source.of_kinds(*_ASSIGNING):
            for target, _path, _default in pattern_names(source, node["left"]):
                self._assigned(bare(target))
        for pattern, _value in nested_defaults(source):
            for target, _path, _default in pattern_names(source, pattern):
                binding = scopes.targets.get(target)
                if binding is None:
                    self._touch(target)
                else:
                    self.changed.add(binding)
        for call in source.of_kinds("call_expression", "new_expression"):
            if call not in calls.by_node:
                self._called(call)
        while self._pending:
            binding = self._pending.pop()
            for definition in binding.definitions:
                self._touch(definition.value, definition.path)

    def calls_nothing(self, callee: Syntax) -> bool:
        """Whether it is an input: that is no function, so calling it only fails."""
        node = bare(callee)
        if node.kind != "identifier" or self._scopes.binding(node) is not None:
            return False
        name = self._source.name(node)
        return name not in STANDARD and name not in self.free

    def _touch(self, expression: Syntax, path: Path = ()) -> None:
        """Whatever the expression names may have changed."""
        for name in named_parts(self._calls, expression):
            binding = self._scopes.targets.get(name) or self._scopes.binding(name)
            if binding is None:
                self.free.add(self._outside(name, path if name is bare(expression) else ()))
            elif binding not in self.changed:
                self.changed.add(binding)
                self._pending.append(binding)

    def _outside(self, node: Syntax, path: Path) -> str:
        """``args.x`` as far as that is known, or the name."""
        name = self._source.name(node)
        if name != ARGS:
            return name
        member = wrapped(node).parent
        if member is not None and member.kind == "member_expression":
            return f"{name}.{key_name(self._source, member['property'])}"
        return f"{name}.{path[0]}" if path and isinstance(path[0], str) else name

    def _assigned(self, target: Syntax) -> None:
        holder = target
        while holder.kind in MEMBERS:
            holder = bare(holder["object"])
        binding = self._scopes.targets.get(holder) or self._scopes.binding(holder)
        if binding is None:
            self._touch(target)
        elif target.kind in MEMBERS:
            is_direct = bare(target["object"]) is holder
            self._behind(binding, deep=not is_direct)

    def _behind(self, binding: Binding, *, deep: bool) -> None:
        """What the variable has from elsewhere has changed; of itself its definitions tell."""
        if (binding, deep) in self._behind_of:
            return
        self._behind_of.add((binding, deep))
        for definition in binding.definitions:
            if deep or not definition.weak or definition.at.kind in FUNCTIONS:
                self._touch(definition.value, definition.path)

    def _called(self, call: Syntax) -> None:
        function = self._functions.called(call) if call.kind == "call_expression" else None
        callee = bare(call.get("function") or call["constructor"])
        if function is not None or self.calls_nothing(callee):
            return
        method = method_of(self._source, call) if call.kind == "call_expression" else None
        owner = bare(callee["object"]) if callee.kind in MEMBERS else None
        root = callee if owner is None else owner
        is_free = root.kind == "identifier" and self._scopes.binding(root) is None
        name = self._source.name(root) if is_free else ""
        if name in STANDARD and name not in RESERVED | UNTRACEABLE:
            if method in CHANGING:
                for argument in arguments_of(call)[:1]:
                    self._touch(argument)
            return
        if method is not None and method not in self.methods and owner is not None:
            if method in REORDERING:
                self._touch(owner)
                return
            if method in PURE or method in CALLING:
                return
            if method in ADDING:
                binding = self._scopes.binding(owner)
                if binding is not None:
                    self._behind(binding, deep=False)
                else:
                    self._touch(owner)
                return
        self._touch(call)
