"""Control flow of loops: a loop contains its body and precedes what follows."""

from pml.analysis.expressions import Expressions
from pml.analysis.graph import Form, Point, Role, Way
from pml.analysis.literals import literal
from pml.analysis.syntax import Syntax, bare
from pml.analysis.walk import NOTHING


class Loops(Expressions):
    """Builds loops."""

    def _loop(self, node: Syntax, form: Form, header: Syntax | None, label: str) -> int:
        at = (node.start, node.end)
        order = (node.start if header is None else header.end, 2)
        if form in {Form.WHILE, Form.FOR}:
            order = (node.start, 2)
        guards = self.live.any_call([node["body"], node.get("condition"), node.get("increment")])
        return self.point(Point(Role.LOOP, form, node, label, at, order, guards=guards))

    def _run_loop(
        self,
        node: Syntax,
        head: int,
        *,
        before: Syntax | None = None,
        after: Syntax | None = None,
        lazy: frozenset[int] = frozenset(),
    ) -> None:
        """The body, with what is evaluated before and after it each time around."""
        labels = tuple(self._labels(node))
        end = self.new_jump("break", labels)
        out = self.enter_loop(head)
        again = self.new_jump("continue", labels)
        self.frame.jumps += [end, again]
        endless = node.kind != "for_in_statement" and self._endless(node)
        if lazy:
            self._take(node, lazy, out)
        if node.kind == "for_in_statement":
            self.pattern(node["left"])
        self.value(before)
        ends = not endless and node.kind != "do_statement"
        if before is not None and ends:
            self.graph.link(self.position(), out, leaves=head)
        self.statement(node["body"])
        del self.frame.jumps[-2:]
        self.merge([self.here, again.target if again.taken else None])
        with self.reachable_or_not():
            self.value(after)
        if self.here is not None:
            self.graph.link(self.here, head, Way.BACK)
            if not endless:
                self.graph.link(self.here, out, leaves=head)
                ends = True
        self.leave_loop()
        if ends:
            self.graph.link(head, out)
        self.merge([out if ends else None, end.target if end.taken else None])

    def _take(self, node: Syntax, lazy: frozenset[int], out: int) -> None:
        """Each time around a generator runs up to its next ``yield``, or to its end."""
        start = self.here
        ends: list[int | None] = []
        for number in sorted(lazy):
            self.here = start
            function = self.lazy[number]
            running = self.run(function, node)
            if "*" not in function.tokens and "await" in node.tokens:
                self.wait(running)
            if self.here is not None:
                self.graph.link(self.here, out, leaves=self.loops[-1])
            ends += self.yields(function) or [self.here]
            self.assign(node["left"], running)
        doubtful = lazy <= self.doubtful
        self.merge([*ends, start] if doubtful else ends, skips=start if doubtful else None)

    def _endless(self, node: Syntax) -> bool:
        condition = node.get("condition")
        if condition is None or condition.kind == "empty_statement":
            return True
        return literal(self.source, condition) is True

    def _labels(self, node: Syntax) -> list[str]:
        found = []
        for outer in node.ancestors():
            if outer.kind != "labeled_statement":
                break
            found.append(self.source.text(outer["label"]))
        return found

    def for_in(self, node: Syntax) -> None:
        """``for (x of y)``, ``for (x in y)`` and ``for await``."""
        running = self.value(node["right"]) | self.opened(node["right"])
        lazy = running & self.lazy.keys()
        running -= lazy
        waited = running if "await" in node.tokens else NOTHING
        if not waited:
            self.assign(node["left"], running)
        keyword = "of" if "of" in node.tokens else "in"
        left, right = self.source.text(node["left"]), self.source.text(node["right"])
        self.risk(node)
        head = self._loop(node, Form.FOR_IN, node["right"], f"{left} {keyword} {right}")
        self._run_loop(node, head, lazy=lazy)
        if self.here is not None:
            self.wait(waited)  # for one element at a time: the first round need not wait for all

    def for_loop(self, node: Syntax) -> None:
        """``for (a; b; c)``."""
        initializer = node.get("initializer")
        if initializer is not None:
            self.statement(initializer)
        condition, increment = node.get("condition"), node.get("increment")
        label = "" if condition is None else self.source.text(condition).rstrip(";")
        head = self._loop(node, Form.FOR, condition, label)
        self._run_loop(node, head, before=condition, after=increment)

    def while_loop(self, node: Syntax) -> None:
        """``while`` and ``do``."""
        label = self.source.text(bare(node["condition"]))
        head = self._loop(node, Form.WHILE, node["condition"], label)
        if node.kind == "do_statement":
            self._run_loop(node, head, after=node["condition"])
        else:
            self._run_loop(node, head, before=node["condition"])
