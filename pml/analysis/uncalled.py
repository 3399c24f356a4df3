"""Functions that are declared, that call tools, and that nothing ever calls (SA-7).

A declared function runs only if its name is used outside of functions that never run.
"""

from collections.abc import Iterable

from pml.analysis.calls import Calls, Site
from pml.analysis.scope import Binding, Scopes
from pml.analysis.syntax import FUNCTIONS, Source, Syntax, wrapped


class Uncalled:
    """The sites of a source that lie in functions which never run.

    ``functions`` are those of them, with their names, that would have to be called.
    """

    def __init__(self, source: Source, scopes: Scopes, calls: Calls) -> None:
        self._scopes = scopes
        self._named = self._declared(source)
        self._running = self._find_running()
        self._calls = calls
        self.sites: set[Site] = set()
        holding: dict[Syntax, None] = {}
        for site in calls.sites if self._named else ():
            outer = self._lost(site.node)
            if outer is not None:
                self.sites.add(site)
                holding[outer] = None
        self.functions = {function: self._named[function] for function in self._first(holding)}

    @property
    def every_call(self) -> bool:
        """Whether there are calls, and none of them ever happens."""
        return bool(self.sites) and len(self.sites) == len(self._calls.sites)

    def _declared(self, source: Source) -> dict[Syntax, Binding]:
        """Functions that can be reached only by a name that the source gives them."""
        found: dict[Syntax, Binding] = {}
        for function in source.of_kinds(*FUNCTIONS):
            name = function.get("name") if function.kind.endswith("_declaration") else None
            parent = wrapped(function).parent
            if parent is not None and parent.kind == "variable_declarator":
                name = parent["name"]
            binding = None if name is None else self._scopes.targets.get(name)
            if binding is not None:
                found[function] = binding
        return found

    def _find_running(self) -> set[Binding]:
        """Names that are used where code runs, or in a function with such a name."""
        uses_in: dict[Binding | None, list[Binding]] = {}
        for binding in dict.fromkeys(self._named.values()):
            for use in binding.uses:
                owner = self._owner(use)
                uses_in.setdefault(owner, []).append(binding)
        running: set[Binding] = set()
        pending: list[Binding | None] = [None]
        while pending:
            for binding in uses_in.pop(pending.pop(), ()):
                if binding not in running:
                    running.add(binding)
                    pending.append(binding)
        return running

    def _owner(self, node: Syntax) -> Binding | None:
        """The name of the innermost declared function around; None for code that may run."""
        around = (outer for outer in node.ancestors() if outer in self._named)
        function = next(around, None)
        return None if function is None else self._named[function]

    def _lost(self, node: Syntax) -> Syntax | None:
        """The outermost function around that never runs."""
        around = [outer for outer in node.ancestors() if outer in self._named]
        lost = [outer for outer in around if self._named[outer] not in self._running]
        return lost[-1] if lost else None

    def _first(self, lost: Iterable[Syntax]) -> list[Syntax]:
        """The functions through which the others would be called; all, if they go in circles."""
        pending, first = list(lost), list[Syntax]()
        seen = set(pending)
        while pending:
            function = pending.pop()
            uses = self._named[function].uses
            callers = {self._lost(use) for use in uses} - {function, None}
            if not callers:
                first.append(function)
            further = [caller for caller in callers if caller is not None and caller not in seen]
            seen.update(further)
            pending += further
        return sorted(first or seen, key=lambda function: function.start)
