"""Which variables hold objects that code changes through another name for them.

A closure: what has changed may be what it was made of, so that has changed too.
"""

from collections.abc import Iterator

from pml.analysis.calls import Calls
from pml.analysis.globals import ARGS
from pml.analysis.literals import key_name
from pml.analysis.patterns import Into, Path
from pml.analysis.scope import Binding, Scopes
from pml.analysis.syntax import FUNCTIONS, MEMBERS, Source, Syntax, bare, wrapped

_NAMES = frozenset({"identifier", "shorthand_property_identifier"})
_OF_THIS = frozenset({"this", "super"})
_PUT = (Into.UNKNOWN,)
"""Path of a definition that only puts something into what the variable holds."""


def named_parts(calls: Calls, expression: Syntax) -> Iterator[Syntax]:
    """The names in an expression, but for what only goes into a call of a tool."""
    pending = [expression]
    while pending:
        node = pending.pop()
        if node in calls.by_node:
            continue
        if node.kind in _NAMES or node.kind in _OF_THIS:
            yield node
        pending.extend(node.children)


class Changes:
    """``variables`` have changed, and ``free``: names of outside.

    ``args.x`` is a name of its own, ``args`` all of them.
    """

    def __init__(self, source: Source, scopes: Scopes, calls: Calls) -> None:
        self._source = source
        self._scopes = scopes
        self._calls = calls
        self.variables: set[Binding] = set()
        self.free: set[str] = set()
        self._pending: list[Binding] = []
        self._behind_of: set[tuple[Binding, bool]] = set()
        self._has_this = False

    def close(self) -> None:
        """Find all that has changed by what is known to have."""
        while self._pending:
            binding = self._pending.pop()
            for definition in binding.definitions:
                self.touch(definition.value, definition.path)

    def touch(self, expression: Syntax, path: Path = ()) -> None:
        """Whatever the expression names may have changed."""
        for name in named_parts(self._calls, expression):
            if name.kind in _OF_THIS:
                self._touch_this()
                continue
            binding = self._scopes.targets.get(name) or self._scopes.binding(name)
            if binding is None:
                self.free.add(self._outside(name, path if name is bare(expression) else ()))
            elif binding not in self.variables:
                self.variables.add(binding)
                self._pending.append(binding)

    def assign(self, target: Syntax) -> None:
        """Something is put into what the target is a part of; of names their definitions tell."""
        holder = target
        while holder.kind in MEMBERS:
            holder = bare(holder["object"])
        binding = self._scopes.targets.get(holder) or self._scopes.binding(holder)
        if binding is not None:
            if target.kind in MEMBERS:
                self.behind(binding, deep=bare(target["object"]) is not holder)
        elif holder.kind not in _OF_THIS or bare(target["object"]) is not holder:
            self.touch(target)

    def behind(self, binding: Binding, *, deep: bool) -> None:
        """What the variable has from elsewhere has changed; of itself its definitions tell."""
        if (binding, deep) in self._behind_of:
            return
        self._behind_of.add((binding, deep))
        for definition in binding.definitions:
            is_put = definition.weak and definition.path == _PUT
            if deep or not is_put or definition.at.kind in FUNCTIONS:
                self.touch(definition.value, definition.path)

    def _touch_this(self) -> None:
        """What any object of the program holds may have changed: which one it is, nobody knows."""
        if self._has_this:
            return
        self._has_this = True
        for field in self._source.of_kinds("public_field_definition"):
            if "value" in field.fields:
                self.touch(field["value"])
        for node in self._source.of_kinds("assignment_expression"):
            target = bare(node["left"])
            if target.kind in MEMBERS and bare(target["object"]).kind in _OF_THIS:
                self.touch(node["right"])
        for method in self._source.of_kinds("method_definition"):
            if method.parent is not None and method.parent.kind == "object":
                for child in method.parent.children:
                    if child is not method and child.kind != "method_definition":
                        self.touch(child)

    def _outside(self, node: Syntax, path: Path) -> str:
        """``args.x`` as far as that is known, or the name."""
        name = self._source.name(node)
        if name != ARGS:
            return name
        member = wrapped(node).parent
        if member is not None and member.kind == "member_expression":
            return f"{name}.{key_name(self._source, member['property'])}"
        if member is not None and member.kind == "subscript_expression":
            key = key_name(self._source, member["index"])
            return name if member["index"].kind != "string" else f"{name}.{key}"
        return f"{name}.{path[0]}" if path and isinstance(path[0], str) else name
