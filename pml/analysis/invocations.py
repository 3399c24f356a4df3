"""Control flow into functions and out of them: a helper's call sites appear once (SA-3)."""

from abc import abstractmethod

from pml.analysis.functions import arguments_of
from pml.analysis.graph import Form, Way
from pml.analysis.scope import parameters
from pml.analysis.syntax import Syntax, bare
from pml.analysis.walk import NOTHING, Built, Context, Frame, Running, Walk


class Invocations(Walk):
    """Runs functions of the program where they are called."""

    @abstractmethod
    def statement(self, node: Syntax) -> None:
        """Build a statement."""

    @abstractmethod
    def value(self, node: Syntax | None) -> Running:
        """Build an expression; the calls its value waits for."""

    def values(self, nodes: list[Syntax]) -> Running:
        """Build several expressions in order."""
        running = NOTHING
        for node in nodes:
            running |= self.value(node)
        return running

    def invoke(self, function: Syntax, call: Syntax) -> Running:
        """Run a function; its sites appear once, where it is called first."""
        built = self.built.get(function)
        if built is None:
            return self._build(function, call)
        if not built.done:
            return NOTHING  # recursion
        before = self.position()
        if all(self._excludes(context) for context in built.contexts):
            built.contexts.append(self.context)
            self.graph.link(before, built.entry)
            end = self.graph.add()
            self.graph.link(built.exit, end)
        else:
            self.graph.link(before, built.entry, Way.BACK)
            self._runs_again(built)
            end = self.graph.add()
            self.graph.link(before, end)
        if built.plain:
            self.here = end
            return built.running
        return self.start(end, before, call)

    def _runs_again(self, built: Built) -> None:
        """A helper that was called in a branch also runs outside it, whatever was decided."""
        mine = {} if self.context is None else self.context.branches()
        for context in built.contexts:
            theirs = {} if context is None else context.branches()
            outside = [d for d in reversed(theirs) if d not in mine]
            if outside:
                self.graph.link(outside[0], built.entry)

    def _excludes(self, other: Context | None) -> bool:
        """Whether ``other`` lies in another branch of a decision than control is in."""
        if self.context is None or other is None:
            return False
        mine = self.context.branches()
        theirs = other.branches()
        return any(mine.get(decision, outcome) != outcome for decision, outcome in theirs.items())

    def _build(self, function: Syntax, call: Syntax) -> Running:
        plain = "async" not in function.tokens or "generator" in function.kind
        before = self.position()
        entry = self.point(None)
        returns = self._jump("return")
        built = Built(entry, returns.target, [self.context], NOTHING, plain)
        self.built[function] = built
        outer, self.frame = self.frame, Frame(function, returns, waits=not plain)
        self._body(function)
        built.running = self.frame.running
        self.frame = outer
        built.done = True
        if plain:
            self.here = returns.target
            return built.running
        self.here = before
        return self.start(returns.target, before, call)

    def _body(self, function: Syntax) -> None:
        body = function["body"]
        for _place, pattern in parameters(function):
            self.value(pattern)
        if body.kind == "statement_block":
            self.statement(body)
        else:
            self.returned(self.value(body))
        if self.here is not None:
            self.jump(self.frame.returns)

    def returned(self, running: Running) -> None:
        """The function's value waits for ``running``."""
        if self.frame.waits:
            handlers, self.handlers = self.handlers, []  # a returned call is not caught here
            self.wait(running)
            self.handlers = handlers
        else:
            self.frame.running |= running

    def escaping(self, function: Syntax) -> Running:
        """A function is handed to code that may call it."""
        start = self.here
        running = self.invoke(function, function)
        self.merge([start, self.here])
        self.awaited |= running
        return running

    def callback(self, expression: Syntax, call: Syntax) -> Running | None:
        """Run what is given as a callback; None where no tool is called by it."""
        node = bare(expression)
        site = self.calls.by_node.get(node) or self.calls.by_node.get(expression)
        if site is not None and site.call is None:
            return self.task(site, Form.VALUE)
        function = self.functions.known(node)
        if function is None or function not in self.live.functions:
            return None
        return self.invoke(function, call)

    def runs_callback(self, call: Syntax) -> bool:
        """Whether the call's first argument is something that calls tools."""
        arguments = arguments_of(call)
        if not arguments or arguments[0] not in self.live:
            return False
        node = bare(arguments[0])
        site = self.calls.by_node.get(node) or self.calls.by_node.get(arguments[0])
        return site is not None or self.functions.known(node) in self.live.functions
