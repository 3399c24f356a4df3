"""Control flow of ``try``: any expression in it may throw, and every way out passes ``finally``."""

from pml.analysis.expressions import Expressions
from pml.analysis.graph import Form, Point, Role, Way
from pml.analysis.syntax import Syntax
from pml.analysis.walk import Finalizer


class Exceptions(Expressions):
    """Builds ``try`` with ``catch``, ``finally`` or both."""

    def try_statement(self, node: Syntax) -> None:
        """A ``finally`` in which nothing happens is passed by."""
        handler, cleanup = node.get("handler"), node.get("finalizer")
        finalizer = None
        if cleanup is not None and cleanup in self.live:
            finalizer = Finalizer(self.graph.add(), len(self.loops))
            uncaught = self.frame.handlers[-1]
            self.finalizers.append(finalizer)
            self.frame.handlers.append(uncaught)
        self.enter()
        if handler is not None:
            self._try_catch(node, handler)
        else:
            self.statement(node["body"])
        self.leave_region()
        if finalizer is not None and cleanup is not None:
            self.frame.handlers.pop()
            self.finalizers.pop()
            self._finally(finalizer, cleanup)

    def _try_catch(self, node: Syntax, handler: Syntax) -> None:
        caught = self.new_jump("catch")
        start = self.here
        self.frame.handlers.append(caught)
        self.statement(node["body"])
        self.frame.handlers.pop()
        end = self.here
        if end is not None:
            self.graph.link(end, caught.target)
        if not caught.taken and start is not None:
            self.graph.link(start, caught.target, Way.THROWN)
        self.here = caught.target
        decision = self.point(
            Point(
                role=Role.DECISION,
                form=Form.TRY,
                syntax=node,
                label="catch",
                at=(handler.start, handler.end),
                order=(handler.start, 0),
                guards=self.live.any_call([node["body"], handler]),
            )
        )
        if end is not None:
            self.branch(decision, "ok")
            end = self.end_branch()
        self.branch(decision, "catch")
        if "parameter" in handler.fields:
            self.pattern(handler["parameter"])
        self.statement(handler["body"])
        self.merge([end, self.end_branch()])

    def _finally(self, finalizer: Finalizer, cleanup: Syntax) -> None:
        goes_on = self.here is not None
        if self.here is not None:
            self.graph.link(self.here, finalizer.entry)
        self.here = finalizer.entry
        self.statement(cleanup["body"] if "body" in cleanup.fields else cleanup.children[0])
        end = self.here
        if end is None:
            return
        for jump, way in finalizer.jumps:
            self.leave(jump, end, way)
        self.here = end if goes_on else None
