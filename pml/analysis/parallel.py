"""What runs side by side: combinators, callbacks per element, and what follows a promise."""

from pml.analysis.functions import arguments_of, method_of, receiver_of
from pml.analysis.graph import Form, Point, Role, Way
from pml.analysis.invocations import Invocations
from pml.analysis.syntax import Syntax, bare, first_offset
from pml.analysis.walk import NOTHING, Running

COMBINATORS = frozenset({"all", "allSettled", "race", "any"})
_READS = frozenset({"identifier", "member_expression", "subscript_expression", "new_expression"})


class Parallel(Invocations):
    """Forks and joins, loops of callbacks, and chains of ``then``."""

    def is_combinator(self, call: Syntax) -> bool:
        """Whether the call is ``Promise.all`` or its like, over calls that start in there."""
        if method_of(self.source, call) not in COMBINATORS:
            return False
        receiver = bare(receiver_of(call))
        arguments = arguments_of(call)
        return (
            self.source.text(receiver) == "Promise"
            and len(arguments) == 1
            and self.live.any_call(arguments)
            and self._starts_calls(bare(arguments[0]))
        )

    def _starts_calls(self, argument: Syntax) -> bool:
        """Whether calls start in there; waiting for calls that run already forks nothing."""
        if argument.kind == "array":
            elements = (
                c.children[0] if c.kind == "spread_element" else c for c in argument.children
            )
            return any(self._starts_calls(bare(e)) for e in elements if e in self.live)
        if argument.kind == "call_expression" and self.functions.is_array_callback(argument):
            return self.runs_callback(argument)
        return argument.kind not in _READS and argument in self.live

    def fork(self, call: Syntax) -> Running:
        """Every element is a branch of its own; the value waits for all of them to meet."""
        argument = bare(arguments_of(call)[0])
        name = method_of(self.source, call) or ""
        at = (first_offset(call), call.end)
        fork = Point(Role.FORK, Form.COMBINATOR, call, name, at, (argument.start, 0))
        join = Point(Role.JOIN, Form.COMBINATOR, call, name, at, (call.end, 0))
        self.joins[fork] = join
        start = self.point(fork)
        end = self.graph.add(join)
        for element in argument.children if argument.kind == "array" else [argument]:
            before, waits = self.position(), self._waits
            running = self._element(element)
            self.awaited |= running
            for number in running:
                self.graph.link(number, end)
            if self.here is not None and (self.here != before or not running):
                self.graph.link(self.here, end)
            if self._waits == waits:
                self.here = before
        if self.here is not None and self.here != start:
            self.graph.link(self.here, end)
        return self.start(end, self.position(), call)

    def _element(self, element: Syntax) -> Running:
        """One branch of a fork; a map's callback is the branch, not a loop of its own."""
        node = bare(element.children[0] if element.kind == "spread_element" else element)
        is_map = node.kind == "call_expression" and self.functions.is_array_callback(node)
        if not is_map or not self.runs_callback(node):
            return self.value(node)
        running = self.value(receiver_of(node))
        callback = self.callback(arguments_of(node)[0], node)
        return running | (callback or NOTHING)

    def loop_callback(self, call: Syntax) -> Running:
        """An array method is a loop over its callback; the value waits for what that starts."""
        arguments = arguments_of(call)
        running = self.values(arguments[1:])
        method = method_of(self.source, call)
        label = f"{self.source.text(receiver_of(call))}.{method}"
        at = (first_offset(call), arguments[0].start)
        loop = Point(Role.LOOP, Form.CALLBACK, call, label, at, (arguments[0].start, 0))
        head = self.point(loop)
        first = len(self.graph.points)
        self.here = self.graph.add()
        self.graph.link(head, self.here, Way.CONTAINS)
        body = self.callback(arguments[0], call) or NOTHING
        end = self.graph.add()
        self.graph.loop_ends[end] = head
        self.graph.link(head, end)
        for number in body | ({self.here} if self.here is not None else set()):
            self.graph.link(number, end, Way.LEAVES)
        self.awaited |= body
        loop.body = (first, len(self.graph.points))
        self.here = end
        if not body:
            return running
        self.here = head
        return running | self.start(end, head, call)

    def then(self, call: Syntax, running: Running) -> Running:
        """``.then(f)``: runs beside what follows, once the receiver has settled."""
        before, waits = self.position(), self._waits
        self.wait(running)
        method = method_of(self.source, call)
        for place, argument in enumerate(arguments_of(call)):
            start = self.here
            inner = self.callback(argument, call)
            if inner is None:
                self.awaited |= self.value(argument)
                continue
            self.wait(inner)
            if method == "catch" or place > 0:
                self.merge([start, self.here])
        end = self.point(None)
        self.here, self._waits = before, waits
        return self.start(end, before, call)
