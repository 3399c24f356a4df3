"""Call sites: where the code calls a tool or a capability, however it got hold of it (SA-5).

Starting from the names ``mcp`` and ``capabilities``, every use is followed outwards through
member access and through the variables that it is given to.  ``mcp.capabilities`` is the same
as ``capabilities``, here as in the sandbox, so that it is no way around.  A tool that is called
is a site; a tool that is passed on as a value is a site where it is passed; a server that
escapes to where it cannot be followed makes the structure incomplete.
"""

from dataclasses import dataclass
from enum import Enum

from pml.analysis.functions import Functions, arguments_of
from pml.analysis.globals import CAPABILITIES, MCP
from pml.analysis.literals import key_name, string_value
from pml.analysis.scope import Binding, Into, Path, Scopes, Step, parameters, pattern_names
from pml.analysis.syntax import MEMBERS, Source, Syntax, bare, wrapped
from pml.domain.capability import CAPABILITY_SERVER
from pml.domain.structure import ANY_TOOL


class Kind(Enum):
    """What a handle is good for; a step into the first three leads to the next."""

    ROOT = "mcp"
    SERVER = "a server"
    TOOL = "a tool"
    CAPABILITIES = "capabilities"
    CAPABILITY = "a capability"


_NEXT = {
    Kind.ROOT: Kind.SERVER,
    Kind.SERVER: Kind.TOOL,
    Kind.CAPABILITIES: Kind.CAPABILITY,
}
_CALLABLE = frozenset({Kind.TOOL, Kind.CAPABILITY})


@dataclass(frozen=True, slots=True)
class Handle:
    """What an expression stands for on the way from ``mcp`` to a tool; None is unknown."""

    kind: Kind
    server: str | None = None
    name: str | None = None
    certain: bool = True
    """False where the value may also be something else than a handle."""

    def step(self, key: Step | None) -> "Handle | None":
        """What a property of the handle stands for."""
        if key is Into.REST:
            return self
        kind = _NEXT.get(self.kind)
        if kind is None:
            return None
        text = key if isinstance(key, str) else None
        if kind is Kind.SERVER:
            kind = Kind.CAPABILITIES if text == CAPABILITY_SERVER else kind
            return Handle(kind, server=text, certain=self.certain)
        return Handle(kind, server=self.server, name=text, certain=self.certain)

    @property
    def tool(self) -> str:
        """``server:tool``, ``capabilities:name``, or ``*``."""
        return (
            ANY_TOOL if self.server is None or self.name is None else f"{self.server}:{self.name}"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """A place that calls a tool, or hands one on as a value.

    ``expression`` is the tool, ``call`` the call (None where it is only handed on).
    """

    handle: Handle
    expression: Syntax
    call: Syntax | None

    @property
    def node(self) -> Syntax:
        """What the site covers in the source."""
        return self.expression if self.call is None else self.call

    @property
    def arguments(self) -> list[Syntax]:
        """The argument expressions of the call."""
        return [] if self.call is None else arguments_of(self.call)


class Calls:
    """All call sites of a source, in source order."""

    def __init__(self, source: Source, scopes: Scopes, functions: Functions) -> None:
        self._source = source
        self._scopes = scopes
        self._functions = functions
        self._following: set[Binding] = set()
        self._known: dict[Binding, Handle | None] = {}
        self._found: dict[Syntax, Site] = {}
        self.leaks: list[Syntax] = []
        """Where ``mcp``, a server or ``capabilities`` goes where it cannot be followed."""
        self._find()
        self.sites = sorted(self._found.values(), key=lambda s: (s.node.start, s.node.end))
        self.by_node = {site.node: site for site in self.sites}

    @property
    def complete(self) -> bool:
        """Whether every call's tool is known."""
        return not self.leaks and all(site.handle.tool != ANY_TOOL for site in self.sites)

    # What expressions stand for

    def handle(self, expression: Syntax, path: Path = ()) -> Handle | None:
        """What the expression, or what lies at ``path`` in it, stands for."""
        node = bare(expression)
        if node.kind in MEMBERS:
            return self.handle(node["object"], (self._key(node), *path))
        if node.kind in {"identifier", "shorthand_property_identifier"}:
            return self._name(node, path)
        if node.kind == "await_expression" and node.children:
            return self.handle(node.children[0], path)
        return None

    def named(self, target: Syntax) -> Handle | None:
        """What the name that a pattern declares or assigns stands for."""
        binding = self._scopes.targets.get(target)
        return None if binding is None else self._of_binding(binding)

    def _name(self, node: Syntax, path: Path) -> Handle | None:
        binding = self._scopes.binding(node)
        if binding is not None:
            found = self._of_binding(binding)
        else:
            found = _ROOTS.get(self._source.name(node))
        for step in path:
            found = None if found is None else found.step(step)
        return found

    def _of_binding(self, binding: Binding) -> Handle | None:
        if binding in self._known:
            return self._known[binding]
        if binding in self._following:
            return None
        if binding.kind == "parameter" and not self._functions.private(binding.scope):
            return None
        self._following.add(binding)
        strong = [d for d in binding.definitions if not d.weak]
        found = {self.handle(d.value, d.path) for d in strong}
        self._following.discard(binding)
        handle = found.pop() if len(found) == 1 else _merged(found)
        if not self._following:
            self._known[binding] = handle
        return handle

    def _key(self, member: Syntax) -> Step:
        """The property that a member access reads; unknown if computed from unknown values."""
        if member.kind == "member_expression":
            name = key_name(self._source, member["property"])
        else:
            name = self.constant(member["index"]) if "index" in member.fields else None
        return Into.UNKNOWN if name is None else name

    def constant(self, expression: Syntax) -> str | None:
        """The string that an expression certainly has."""
        node = bare(expression)
        text = string_value(self._source, node)
        binding = self._scopes.binding(node)
        if text is not None or binding is None or binding.kind == "parameter":
            return text
        if len(binding.definitions) != 1:
            return None
        definition = binding.definitions[0]
        inner = bare(definition.value)
        return None if definition.path else string_value(self._source, inner)

    # Following every use

    def _find(self) -> None:
        free = self._scopes.free
        pending = [*free.get(MCP, ()), *free.get(CAPABILITIES, ())]
        seen: set[Syntax] = set(pending)
        while pending:
            for name in self._follow(pending.pop()):
                if name not in seen:
                    seen.add(name)
                    pending.append(name)

    def _follow(self, name: Syntax) -> list[Syntax]:
        """Record what becomes of one use; the further names that now stand for it."""
        handle = self.handle(name)
        if handle is None:
            return []
        expression = wrapped(name)
        while (parent := expression.parent) is not None and _reads(parent, expression):
            further = self.handle(parent)
            if further is None:
                break
            handle, expression = further, wrapped(parent)
        return self._placed(handle, expression)

    def _placed(self, handle: Handle, expression: Syntax) -> list[Syntax]:
        parent = expression.parent
        if parent is None or parent.kind in {"expression_statement", "unary_expression"}:
            return []
        if parent.kind == "call_expression" and parent.get("function") is expression:
            if handle.kind in _CALLABLE:
                self._found[parent] = Site(handle, expression, parent)
            else:
                self.leaks.append(expression)
            return []
        targets = self._given_to(parent, expression)
        if targets is not None:
            return [use for target in targets for use in self._uses(target)]
        if handle.kind in _CALLABLE:
            self._found[expression] = Site(handle, expression, None)
        else:
            self.leaks.append(expression)
        return []

    def _given_to(self, parent: Syntax, expression: Syntax) -> list[Syntax] | None:
        """The names that the value is given to, or None where it cannot be followed."""
        if parent.kind == "variable_declarator" and parent.get("value") is expression:
            pattern: Syntax | None = parent["name"]
        elif parent.kind == "assignment_expression" and parent.get("right") is expression:
            pattern = parent["left"]
            if parent.parent is not None and parent.parent.kind != "expression_statement":
                return None
        elif parent.kind == "arguments":
            pattern = self._parameter(parent, expression)
        else:
            return None
        if pattern is None:
            return None
        names = [target for target, _path, _default in pattern_names(self._source, pattern)]
        return names if all(name in self._scopes.targets for name in names) else None

    def _parameter(self, arguments: Syntax, expression: Syntax) -> Syntax | None:
        call = arguments.parent
        function = None if call is None else self._functions.called(call)
        if function is None or not self._functions.private(function):
            return None
        if any(a.kind == "spread_element" for a in arguments.children):
            return None
        place = arguments.children.index(expression)
        found = [pattern for position, pattern in parameters(function) if position == place]
        return found[0] if found else None

    def _uses(self, target: Syntax) -> list[Syntax]:
        return [use for use in self._scopes.targets[target].uses if self.handle(use) is not None]


_ROOTS = {
    MCP: Handle(Kind.ROOT),
    CAPABILITIES: Handle(Kind.CAPABILITIES, server=CAPABILITY_SERVER),
}


def _merged(handles: set[Handle | None]) -> Handle | None:
    """What a variable with several definitions stands for: the furthest, name unknown."""
    kinds = {handle.kind for handle in handles if handle is not None}
    for kind in (Kind.TOOL, Kind.CAPABILITY, Kind.SERVER, Kind.CAPABILITIES, Kind.ROOT):
        if kind in kinds:
            return Handle(kind, certain=False)
    return None


def _reads(parent: Syntax, expression: Syntax) -> bool:
    return parent.kind in MEMBERS and parent.get("object") is expression
