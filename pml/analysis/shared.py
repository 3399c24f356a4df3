"""Which variables hold objects that change in ways that their own definitions do not show.

``list.push(x)`` is a definition of ``list``; but if ``list`` is ``state.items``, then ``state`` has
changed too, and nothing that names ``state`` says so.  So is what goes to code that cannot be
followed.  The answer is coarse: every variable from which such an object may come.
"""

from collections.abc import Iterator

from pml.analysis.calls import Calls
from pml.analysis.changes import Changes
from pml.analysis.functions import Functions, arguments_of, method_of
from pml.analysis.globals import RESERVED, STANDARD
from pml.analysis.literals import key_name
from pml.analysis.patterns import pattern_names
from pml.analysis.scope import Scopes
from pml.analysis.standard import ADDING, CALLING, CHANGING, PURE, REORDERING, UNTRACEABLE
from pml.analysis.syntax import FUNCTIONS, MEMBERS, Source, Syntax, bare

_PATTERNS = frozenset({"object_pattern", "array_pattern"})
_ASSIGNING = ("assignment_expression", "augmented_assignment_expression", "for_in_statement")
_CALLING_BACK = frozenset({"stringify", "parse", "from", "fromAsync", "groupBy"})
"""Standard functions that call their second argument with parts of the first."""
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


def nested_defaults(source: Source) -> Iterator[tuple[Syntax, Syntax]]:
    """Patterns inside others that have a default of their own, and that: ``{ a: { b } = c }``."""
    for node in source.of_kinds("assignment_pattern", "object_assignment_pattern"):
        if node["left"].kind in _PATTERNS and "right" in node.fields:
            yield node["left"], node["right"]
    for node in source.of_kinds("required_parameter", "optional_parameter"):
        pattern, default = node.get("pattern"), node.get("value")
        if pattern is not None and default is not None and pattern.kind in _PATTERNS:
            yield pattern, default


def _is_plain(call: Syntax) -> bool:
    given = call.get("arguments")
    return given is not None and given.kind == "arguments"


class Shared:
    """``changed`` may hold results that their definitions do not show; ``counted`` other values.

    ``methods`` are the names of properties that hold functions of the program.
    """

    def __init__(self, source: Source, scopes: Scopes, functions: Functions, calls: Calls) -> None:
        self._source = source
        self._scopes = scopes
        self._functions = functions
        self._calls = calls
        self.methods = own_methods(source)
        self.changed = Changes(source, scopes, calls)
        self.counted = Changes(source, scopes, calls)
        for node in source.of_kinds(*_ASSIGNING):
            for target, _path, _default in pattern_names(source, node["left"]):
                self.changed.assign(bare(target))
        self._count()
        for pattern, _value in nested_defaults(source):
            for target, _path, _default in pattern_names(source, pattern):
                binding = scopes.targets.get(target)
                if binding is None:
                    self.changed.touch(target)
                else:
                    self.changed.variables.add(binding)
        for call in source.of_kinds("call_expression", "new_expression"):
            if call not in calls.by_node:
                self._called(call)
        self.changed.close()
        self.counted.close()

    def _count(self) -> None:
        """``x++`` and ``delete o.x``: nothing flows there, but it is another value."""
        for node in self._source.of_kinds("update_expression", "unary_expression"):
            if node.kind == "unary_expression" and "delete" not in node.tokens:
                continue
            holder = target = bare(node["argument"])
            while holder.kind in MEMBERS:
                holder = bare(holder["object"])
            binding = self._scopes.binding(holder)
            if binding is None or target is not holder:
                self.counted.touch(holder)
            else:
                self.counted.variables.add(binding)

    def calls_nothing(self, callee: Syntax) -> bool:
        """Whether it is an input: that is no function, so calling it only fails."""
        node = bare(callee)
        if node.kind != "identifier" or self._scopes.binding(node) is not None:
            return False
        name = self._source.name(node)
        return name not in STANDARD and name not in self.changed.free

    def _called(self, call: Syntax) -> None:
        if call.kind == "call_expression" and self._functions.called(call) is not None:
            if "arguments" in self._scopes.free or not _is_plain(call):
                self.changed.touch(call)
            return
        callee = bare(call.get("function") or call["constructor"])
        if self.calls_nothing(callee):
            return
        owner = bare(callee["object"]) if callee.kind in MEMBERS else None
        root = callee if owner is None else owner
        is_free = root.kind == "identifier" and self._scopes.binding(root) is None
        name = self._source.name(root) if is_free else ""
        method = method_of(self._source, call) if call.kind == "call_expression" else None
        if name in STANDARD and name not in RESERVED | UNTRACEABLE:
            self._of_library(call, method)
        elif owner is None or method is None or method in self.methods or name in UNTRACEABLE:
            self.changed.touch(call)
        else:
            self._of_method(call, method, owner)

    def _of_library(self, call: Syntax, method: str | None) -> None:
        given = arguments_of(call)
        calls_back = any(bare(one).kind not in _NO_FUNCTION for one in given[1:])
        if given and (method in CHANGING or (method in _CALLING_BACK and calls_back)):
            self.changed.touch(given[0])

    def _of_method(self, call: Syntax, method: str, owner: Syntax) -> None:
        """A method that is none of the program's."""
        binding = self._scopes.binding(owner)
        if method in REORDERING or (method in ADDING and binding is None):
            self.changed.touch(owner)
        elif method in ADDING and binding is not None:
            self.changed.behind(binding, deep=False)
        elif method not in PURE and method not in CALLING:
            self.changed.touch(call)
