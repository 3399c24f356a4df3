"""Bindings: which declaration a name refers to, and where its values come from.

Every binding knows its definitions, each an expression and the path that destructuring takes
into it, so that later passes can follow a value from where it is used to where it was made.
"""

from collections import Counter
from functools import cached_property

from msgspec import Struct, field

from pml.analysis.literals import key_name
from pml.analysis.patterns import (
    TARGET_NAMES,
    Into,
    Path,
    assigned_base,
    computed_keys,
    parameters,
    pattern_names,
)
from pml.analysis.syntax import CLASSES, FUNCTIONS, MEMBERS, Source, Syntax, bare


class Definition(Struct, frozen=True, eq=False, gc=False):
    """One place that gives a binding a value.

    ``weak`` definitions add to a value (``list.push(x)``, ``o.p = x``) and replace nothing.
    (The garbage collector is kept out: no tree leads back to a definition, so there is no cycle.)
    """

    value: Syntax
    path: Path
    at: Syntax
    weak: bool = False


class Binding(Struct, eq=False):
    """One declared name, with everything that gives it a value and every place that reads it."""

    name: str
    kind: str
    scope: Syntax
    node: Syntax
    definitions: list[Definition] = field(default_factory=list)
    uses: list[Syntax] = field(default_factory=list)

    @property
    def function(self) -> Syntax | None:
        """The function that the name always stands for, if it does."""
        found: Syntax | None = None
        for definition in self.definitions:  # of a list that grows, only the first is looked at
            if definition.weak and definition.path:
                continue
            value = bare(definition.value)
            one_of_several = found is not None or definition.path or definition.weak
            if one_of_several or value.kind not in FUNCTIONS:
                return None
            found = value
        return found


_BLOCKS = frozenset(
    {
        "program",
        "statement_block",
        "for_statement",
        "for_in_statement",
        "switch_body",
        "catch_clause",
        "class_static_block",
        "enum_body",
    }
)
_SCOPES = FUNCTIONS | CLASSES | _BLOCKS
_ASSIGNED_FROM = frozenset({"assignment_expression", "augmented_assignment_expression"})
_ADDING_METHODS = frozenset({"push", "unshift", "add", "set", "append", "splice", "fill"})


class Scopes:
    """All bindings of a source.

    ``free`` holds the references that nothing declares, by name, in source order.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.tables: dict[Syntax, dict[str, Binding]] = {}
        self.targets: dict[Syntax, Binding] = {}
        """Identifiers that declare or assign, and what they stand for."""
        self.bound: dict[Syntax, Binding] = {}
        """Every reference that a declaration explains."""
        self.free: dict[str, list[Syntax]] = {}
        self.doubled: list[Syntax] = []
        """Names declared a second time by ``let``, ``const`` or ``class`` in one scope."""
        self.merged: set[Binding] = set()
        """Enums that are declared in several parts."""
        self.assigned_free: list[Syntax] = []
        """Names that are assigned and that nothing declares."""
        self._declare_all()
        self._assign_all()
        self._resolve_all()

    def lookup(self, name: str, node: Syntax) -> Binding | None:
        """The binding that ``name`` has at ``node``."""
        tables, outer = self.tables, node.parent
        while outer is not None:  # no generator: this is asked of every name
            if outer in tables and name in tables[outer]:
                return tables[outer][name]
            outer = outer.parent
        return None

    def _is_bound(self, name: Syntax) -> bool:
        return self.lookup(self.source.name(name), name) is not None

    @cached_property
    def times_set(self) -> Counter[Binding]:
        """How many places declare or assign each variable."""
        return Counter(self.targets.values())

    def binding(self, node: Syntax) -> Binding | None:
        """What an identifier refers to; None if it is free."""
        return self.bound.get(node)

    def holder(self, target: Syntax) -> Binding | None:
        """The variable that holds what is given to a target of a pattern: ``a`` for ``a.b[c]``."""
        while target.kind in MEMBERS:
            target = target["object"]
        return self.targets.get(target) or self.binding(target)

    # Declarations

    def _declare(self, name: Syntax, kind: str, scope: Syntax) -> Binding:
        text = self.source.name(name)
        if kind in {"var", "loop"} and self._is_parameter(text, scope):
            scope = scope.parent or scope
        table = self.tables.setdefault(scope, {})
        known = table.get(text)
        if known is None:
            known = table[text] = Binding(name=text, kind=kind, scope=scope, node=name)
        elif _are_enums(name, known.node):
            self.merged.add(known)
        elif "lexical" in {kind, known.kind}:
            self.doubled.append(name)
        self.targets[name] = known
        return known

    def _is_parameter(self, name: str, body: Syntax) -> bool:
        """Whether a ``var`` in the body of a function is one of its parameters again."""
        known = self.tables.get(body.parent, {}).get(name) if body.parent is not None else None
        return known is not None and known.kind == "parameter" and body.parent is known.scope

    def _declare_all(self) -> None:
        of = self.source.of_kinds
        for node in of(*FUNCTIONS):  # first: a `var` may be a parameter again
            self._declare_function(node)
        for node in of("variable_declarator"):
            self._declare_variables(node)
        for node in of("for_in_statement"):
            self._declare_loop_variables(node)
        for node in of("assignment_expression"):
            self._declare_used(node)
        for node in of("catch_clause"):
            if "parameter" in node.fields:
                self._define(node["parameter"], None, node, "catch", node)
        for node in of(*CLASSES, "enum_declaration"):
            if "name" in node.fields:
                scope = node if node.kind == "class" else _scope_around(node)
                self._declare(node["name"], "lexical", scope)
        for member in (m for node in of("enum_body") for m in node.children):
            self._declare(member.get("name") or member, "enum", _scope_around(member))

    def _declare_used(self, node: Syntax) -> None:
        """``using x = y``, which the grammar takes for an assignment."""
        if "using" in node.tokens:
            given = Definition(node["right"], (), node)
            self._define(node["left"], given, node, "lexical", _scope_around(node))

    def _declare_variables(self, node: Syntax) -> None:
        declaration = node.parent
        if declaration is None or "name" not in node.fields:
            return
        lexical = declaration.kind == "lexical_declaration"
        scope = _scope_around(node) if lexical else _var_scope(node)
        value = node.get("value")
        given = None if value is None else Definition(value, (), node)
        self._define(node["name"], given, node, "lexical" if lexical else "var", scope)

    def _declare_loop_variables(self, node: Syntax) -> None:
        if {"const", "let", "var"} & set(node.tokens):
            scope = _var_scope(node) if "var" in node.tokens else node
            given = Definition(node["right"], _element(node), node)
            self._define(node["left"], given, node, "loop", scope)

    def _declare_function(self, node: Syntax) -> None:
        name = node.get("name")
        if name is not None and name.kind == "identifier":
            is_declaration = node.kind.endswith("_declaration")
            scope = _scope_around(node) if is_declaration else node
            binding = self._declare(name, "function", scope)
            binding.definitions.append(Definition(node, (), node))
        for _position, pattern in parameters(node):
            for target, _path, default in pattern_names(self.source, pattern):
                binding = self._declare(target, "parameter", node)
                if default is not None:
                    binding.definitions.append(Definition(default, (), pattern, weak=True))

    def _define(
        self, pattern: Syntax, given: Definition | None, at: Syntax, kind: str, scope: Syntax
    ) -> None:
        """Declare the names of ``pattern``, which takes apart what is ``given``."""
        for target, inner, default in pattern_names(self.source, pattern):
            if target.kind not in TARGET_NAMES:
                continue
            binding = self._declare(target, kind, scope)
            if given is not None:
                binding.definitions.append(Definition(given.value, given.path + inner, at))
            if default is not None:
                weak = given is not None
                binding.definitions.append(Definition(default, (), at, weak=weak))

    # Assignments and additions to values

    def _assign_all(self) -> None:
        for node in self.source.of_kinds(*_ASSIGNED_FROM):
            weak = node.kind.startswith("augmented")
            if "using" in node.tokens:
                continue
            self._assign(node["left"], node["right"], (), node, weak=weak)
        for node in self.source.of_kinds("for_in_statement"):
            if node["left"] not in self.targets:
                self._assign(node["left"], node["right"], _element(node), node, weak=False)
        for node in self.source.of_kinds("update_expression"):
            base, partial = assigned_base(node["argument"])
            if (
                base is not None
                and not partial
                and self.lookup(self.source.name(base), base) is None
            ):
                self.assigned_free.append(base)
        for node in self.source.of_kinds("call_expression"):
            self._add_elements(node)

    def _assign(
        self, pattern: Syntax, value: Syntax, path: Path, at: Syntax, *, weak: bool
    ) -> None:
        for target, inner, default in pattern_names(self.source, pattern):
            base, partial = assigned_base(target)
            if base is None or base in self.targets:
                continue
            binding = self.lookup(self.source.name(base), base)
            if binding is None:
                self.assigned_free += [] if partial else [base]
                continue
            if not partial:
                self.targets[base] = binding
            where = (*path, *inner) if not partial else (Into.UNKNOWN,)
            binding.definitions.append(Definition(value, where, at, weak=weak or partial))
            for key in computed_keys(target):
                binding.definitions.append(Definition(key, where, at, weak=True))
            if default is not None:
                binding.definitions.append(Definition(default, (), at, weak=True))

    def _add_elements(self, call: Syntax) -> None:
        """``list.push(x)`` adds to what ``list`` holds."""
        callee = call.get("function")
        arguments = call.get("arguments")
        if callee is None or arguments is None or callee.kind not in MEMBERS:
            return
        owner, member = callee["object"], callee.get("property") or callee.get("index")
        if owner.kind != "identifier" or member is None or member.kind == "identifier":
            return
        if key_name(self.source, member) not in _ADDING_METHODS:
            return
        binding = self.lookup(self.source.name(owner), owner)
        if binding is not None and arguments.kind == "arguments":
            for value in arguments.children:
                added = Definition(value, (Into.UNKNOWN,), call, weak=True)
                binding.definitions.append(added)

    # References

    def _resolve_all(self) -> None:
        kinds = ("identifier", "shorthand_property_identifier")
        for node in self.source.of_kinds(*kinds):
            if node in self.targets:
                continue
            name = self.source.name(node)
            binding = self.lookup(name, node)
            if binding is None:
                self.free.setdefault(name, []).append(node)
            else:
                self.bound[node] = binding
                binding.uses.append(node)


def _are_enums(*names: Syntax) -> bool:
    declared = [name.parent for name in names]
    return all(one is not None and one.kind == "enum_declaration" for one in declared)


def _element(loop: Syntax) -> Path:
    """What a for-of or for-in loop takes from what it iterates over."""
    return (Into.ELEMENT,) if "of" in loop.tokens else (Into.UNKNOWN,)


def _scope_around(node: Syntax) -> Syntax:
    return next(outer for outer in node.ancestors() if outer.kind in _SCOPES)


def _var_scope(node: Syntax) -> Syntax:
    """The body around; defaults of parameters stand before it and see no ``var`` of it."""
    for outer in node.ancestors():
        if outer.kind in FUNCTIONS or outer.kind == "class_static_block":
            return outer.get("body") or outer
        if outer.parent is None:
            return outer
    return node
