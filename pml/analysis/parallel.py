"""What runs side by side: combinators, callbacks per element, and what follows a promise."""

from pml.analysis.functions import arguments_of, method_of, receiver_of, runs_elements
from pml.analysis.graph import Form, Point, Role, Way
from pml.analysis.invocations import Invocations
from pml.analysis.syntax import Syntax, bare, first_offset
from pml.analysis.walk import NOTHING, Running

COMBINATORS = frozenset({"all", "allSettled", "race", "any"})
SCHEDULERS = frozenset({"setTimeout", "setInterval", "queueMicrotask", "setImmediate"})
"""Functions that run their first argument once the program waits for something."""
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
        if argument.kind == "call_expression" and runs_elements(self.source, argument) is not None:
            return self.runs_callback(argument)
        return argument.kind not in _READS and self.live.any_call([argument])

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
        self.graph.joins.add(end)
        failed = self.graph.add()
        for element in argument.children if argument.kind == "array" else [argument]:
            before, waits = self.position(), self.waits
            running = self._element(element)
            self.awaited |= running
            for number in running:
                self.graph.link(number, end)
                self.graph.link(self.rejected(number), failed, Way.THROWN)
            if self.here is not None and (self.here != before or not running):
                self.graph.link(self.here, end)
            if self.waits == waits:
                self.here = before
        if self.here is not None and self.here != start:
            self.graph.link(self.here, end)
        return self.start(end, self.position(), call, failed)

    def _element(self, element: Syntax) -> Running:
        """One branch of a fork; a map's callback is the branch, not a loop of its own."""
        node = bare(element.children[0] if element.kind == "spread_element" else element)
        if not self.runs_callback(node):
            running = self.value(node)
            return self.taken(node, running) if element.kind == "spread_element" else running
        callback = runs_elements(self.source, node)
        assert callback is not None
        running = self._receiver(node, callback)
        return running | (self.callback(callback, node) or NOTHING)

    def _receiver(self, call: Syntax, callback: Syntax) -> Running:
        """What is iterated over: ``xs`` of ``xs.map(f)`` and of ``Array.from(xs, f)``."""
        arguments = arguments_of(call)
        return self.value(receiver_of(call) if callback is arguments[0] else arguments[0])

    def runs_callback(self, call: Syntax) -> bool:
        """Whether the call runs, per element, something that calls tools."""
        if call.kind != "call_expression":
            return False
        callback = runs_elements(self.source, call)
        return callback is not None and self.is_callback(callback)

    def loop_callback(self, call: Syntax) -> Running:
        """An array method is a loop over its callback; the value waits for what that starts."""
        callback = runs_elements(self.source, call)
        assert callback is not None
        arguments = arguments_of(call)
        running = self.values(argument for argument in arguments if argument is not callback)
        running = self.taken(arguments[0], running)
        method = method_of(self.source, call)
        label = f"{self.source.text(receiver_of(call))}.{method}"
        at = (first_offset(call), arguments[0].start)
        loop = Point(
            Role.LOOP, Form.CALLBACK, call, label, at, (arguments[0].start, 0), guards=True
        )
        head = self.point(loop)
        end = self.enter_loop(head)
        body = self.callback(callback, call) or NOTHING
        self.leave_loop()
        self.graph.link(head, end)
        failed = self.graph.add()
        self.graph.link(head, failed, Way.THROWN)
        for number in body:
            self.graph.link(number, end, leaves=head)
            self.graph.link(self.rejected(number), failed, Way.THROWN, leaves=head)
        if self.here is not None:
            self.graph.link(self.here, end, leaves=head)
        self.awaited |= body
        self.here = end
        if not body:
            return running
        self.here = head
        return running | self.start(end, head, call, failed)

    def enter_loop(self, head: int) -> int:
        """Go into the body of a loop; the point that is reached out of it."""
        end = self.graph.add()
        self.loops.append(head)
        self.graph.loop = head
        self.here = self.graph.add()
        self.graph.link(head, self.here, Way.CONTAINS)
        self.enter()
        return end

    def leave_loop(self) -> None:
        """Go out of the body of a loop."""
        head = self.loops.pop()
        self.graph.loop = self.graph.inside[head]
        self.leave_region()

    def then(self, call: Syntax, running: Running) -> Running:
        """``.then(f)``: runs beside what follows, once the receiver has settled."""
        before, waits = self.position(), self.waits
        self.enter()
        well, ill = self._settled(running)
        method = method_of(self.source, call)
        arguments = arguments_of(call)
        if method == "finally" and arguments:
            self.merge([well, ill])
            well, failed = self._reaction(arguments[0], self.here, call)
            ill = self._either(ill, failed)
        elif method == "catch" and arguments:
            recovered, ill = self._reaction(arguments[0], ill, call)
            well = self._either(well, recovered)
        elif arguments:
            well, failed = self._reaction(arguments[0], well, call)
            if len(arguments) > 1:
                recovered, ill = self._reaction(arguments[1], ill, call)
                well = self._either(well, recovered)
            ill = self._either(ill, failed)
        self.leave_region()
        self.here, self._waits = before, waits
        return self.start(well, before, call, ill)

    def _settled(self, running: Running) -> tuple[int, int]:
        """Where a promise is fulfilled, and where it is rejected."""
        ill = self.graph.add()
        for number in running:
            self.graph.link(self.rejected(number), ill, Way.THROWN)
        if not running:
            self.graph.link(self.position(), ill)
        self.settle(running)
        return self.point(None), ill

    def _either(self, first: int, second: int | None) -> int:
        """Where two ways meet of which a promise takes one, as no code of its own says."""
        if second is None:
            return first
        point = self.graph.add()
        self.graph.link(first, point, Way.SKIPS)
        self.graph.link(second, point, Way.SKIPS)
        return point

    def _reaction(self, argument: Syntax, start: int | None, call: Syntax) -> tuple[int, int]:
        """What a callback of ``then`` does from a point on: where it ends and where it fails."""
        self.here = start
        failed = self.new_jump("throw")
        handlers, self.frame.handlers = self.frame.handlers, [*self.frame.handlers, failed]
        inner = self.callback(argument, call)
        if inner is None:
            self.awaited |= self.value(argument)
        else:
            self.wait(inner)
        self.frame.handlers = handlers
        return self.point(None), failed.target

    def later(self, call: Syntax) -> Running:
        """A callback that runs once the program waits; nothing waits for it."""
        before, waits = self.position(), self.waits
        arguments = arguments_of(call)
        self.values(arguments[1:])
        self.enter()
        running = self.callback(arguments[0], call)
        self.leave_region()
        self.here, self._waits = before, waits
        self.awaited |= running or NOTHING
        return NOTHING

    def promise(self, call: Syntax) -> Running:
        """``new Promise(f)`` runs ``f`` now; the value waits for what that starts."""
        known = len(self.started)
        before = self.position()
        inner = self.callback(arguments_of(call)[0], call) or NOTHING
        started = [number for number in list(self.started)[known:] if number not in self.awaited]
        running = self.together(inner, frozenset(started))
        self.awaited |= running
        return running or self.start(self.point(None), before, call)
