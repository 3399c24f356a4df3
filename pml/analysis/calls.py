"""Call sites: where the code calls a tool or a capability, however it got hold of it (SA-5).

Starting from the names ``mcp`` and ``capabilities``, every use is followed forwards: through
members, variables, patterns, literals of arrays and objects, parameters and results of helpers,
as long as `pml.analysis.handles`, which looks backwards, finds there what is being followed.
``mcp.capabilities`` is the same as ``capabilities``, here as in the sandbox, so that it is no way
around.  A tool that is called is a site; a tool that goes where it cannot be followed is a site
where it goes; a server that does makes the structure incomplete.
"""

from collections.abc import Set as AbstractSet

from msgspec import Struct

from pml.analysis.constants import Constants
from pml.analysis.follow import Fact, Follow
from pml.analysis.functions import Functions, arguments_of
from pml.analysis.globals import CAPABILITIES, MCP
from pml.analysis.handle import CALLABLE, Handle, Kind
from pml.analysis.handles import Handles
from pml.analysis.patterns import Path
from pml.analysis.scope import Binding, Scopes
from pml.analysis.syntax import Source, Syntax, bare, wrapped
from pml.domain.structure import ANY_TOOL

__all__ = ["Calls", "Handle", "Kind", "Site"]


class Site(Struct, frozen=True, eq=False, gc=False):
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
        self._constants = Constants(source, scopes)
        self._handles = Handles(source, scopes, functions, self._constants)
        self._follow = Follow(source, scopes, functions, self._handles)
        self._found: dict[Syntax, Site] = {}
        self.leaks: list[Syntax] = []
        """Where ``mcp``, a server or ``capabilities`` goes where it cannot be followed."""
        self.not_tools: list[tuple[Syntax, Handle]] = []
        """Calls of ``mcp`` or of a server, which are no functions."""
        free = scopes.free
        self._find([*free.get(MCP, ()), *free.get(CAPABILITIES, ())])
        self.sites = sorted(self._found.values(), key=lambda s: (s.node.start, s.node.end))
        self.by_node = {bare(site.node): site for site in self.sites}
        """Sites by what they cover, with and without parentheses and types around it."""
        self.by_node |= {site.node: site for site in self.sites}

    @property
    def complete(self) -> bool:
        """Whether every call's tool is known."""
        return not self.leaks and all(site.handle.tool != ANY_TOOL for site in self.sites)

    def handle(self, expression: Syntax, path: Path = ()) -> Handle | None:
        """What the expression, or what lies at ``path`` in it, stands for."""
        return self._handles.of(expression, path)

    def named(self, target: Syntax) -> Handle | None:
        """What the name that a pattern declares or assigns stands for."""
        return self._handles.named(target)

    def deciding(self, source: Source) -> AbstractSet[Binding]:
        """The variables by which it is known what is called or read: part of the procedure."""
        for member in source.of_kinds("subscript_expression"):
            self._constants.string(member["index"])
        for key in source.of_kinds("computed_property_name"):
            for inside in key.children:
                self._constants.string(inside)
        return self._constants.consulted

    def constant(self, expression: Syntax) -> str | None:
        """The string that an expression certainly has."""
        return self._constants.string(expression)

    # Following every use

    def _find(self, roots: list[Syntax]) -> None:
        pending = []
        for root in roots:
            handle = self.handle(root)
            assert handle is not None  # a free name that stands for nothing else
            pending.append(Fact(root, (), handle, root))
        seen: set[tuple[Syntax, Path, Handle]] = set()
        while pending:
            fact = pending.pop()
            key = (fact.node, fact.path, fact.handle)
            if key not in seen:
                seen.add(key)
                pending += self._placed(fact)

    def _placed(self, fact: Fact) -> list[Fact]:
        """What becomes of a value at one place: where it goes on to, or what is recorded."""
        expression = wrapped(fact.node)
        parent = expression.parent
        if not fact.path and parent is not None and _calls(parent, expression):
            self._called(parent, expression)
            return []
        further = self._follow.step(fact, expression)
        if further is None or not all(map(self._is_known, further)):
            self._escapes(fact, expression)
            return []
        return further

    def _called(self, call: Syntax, expression: Syntax) -> None:
        handle = self.handle(expression)
        if handle is None:
            self.leaks.append(expression)
        elif handle.kind in CALLABLE:
            self._found[call] = Site(handle, expression, call)
        elif handle.certain:
            self.not_tools.append((call, handle))

    def _is_known(self, fact: Fact) -> bool:
        """Whether looking back from a place finds what came there."""
        found = self.handle(fact.node, fact.path)
        return found is not None and _covers(found, fact.handle)

    def _escapes(self, fact: Fact, expression: Syntax) -> None:
        place = wrapped(fact.entry) if fact.path else expression
        handle = self.handle(place)
        if handle is not None and handle.kind in CALLABLE:
            self._found.setdefault(place, Site(handle, place, None))
        elif all(place is not leak for leak in self.leaks[-1:]):
            self.leaks.append(place)


def _calls(parent: Syntax, expression: Syntax) -> bool:
    return parent.kind == "call_expression" and parent.get("function") is expression


def _covers(found: Handle, handle: Handle) -> bool:
    return (
        found.kind is handle.kind
        and found.server in {None, handle.server}
        and found.name in {None, handle.name}
    )
