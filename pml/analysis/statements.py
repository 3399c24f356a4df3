"""Control flow of statements: branches, loops, exceptions and jumps."""

from collections.abc import Callable
from typing import ClassVar

from pml.analysis.calls import Site
from pml.analysis.expressions import Expressions
from pml.analysis.graph import Form, Point, Role, Way
from pml.analysis.literals import clause_outcome, literal
from pml.analysis.syntax import CLASSES, FUNCTIONS, LOOPS, Syntax, bare
from pml.analysis.walk import NOTHING, Context, Finalizer, Jump

_HOISTED = frozenset({"function_declaration", "generator_function_declaration", "empty_statement"})


class Statements(Expressions):
    """Builds the graph of a whole program."""

    def program(self) -> int:
        """Build everything; the point at which the program has ended."""
        self._list(self.source.root.children)
        if self.here is not None:
            self.jump(self.frame.returns)
        return self.frame.returns.target

    def add_unreached(self, site: Site) -> None:
        """A node for a site that control was not seen to reach, in a function nobody calls."""
        if site not in self.reached:
            self.here = None
            self.task(site, Form.CALL if site.call is not None else Form.VALUE)

    def unawaited(self) -> list[Syntax]:
        """What was started and nothing waits for, in source order."""
        lost = {
            node
            for number, node in self.started.items()
            if number not in self.awaited and node.kind == "call_expression"
        }
        return sorted(lost, key=lambda node: node.start)

    def statement(self, node: Syntax) -> None:
        """Build one statement; nothing if nothing in it matters."""
        if node not in self.live:
            return
        build = self._STATEMENTS.get(node.kind)
        if build is not None:
            build(self, node)
        elif node.kind in CLASSES:
            self._class(node)
        elif node.kind not in _HOISTED:
            self.value(node)

    def _list(self, nodes: list[Syntax]) -> None:
        dead = False
        for node in nodes:
            if self.here is None and not dead and node.kind not in _HOISTED:
                dead = True
                self.unreachable.append(node)
            self.statement(node)

    def _block(self, node: Syntax) -> None:
        self._list(node.children)

    def _class(self, node: Syntax) -> None:
        for member in node["body"].children if "body" in node.fields else ():
            if member.kind == "class_static_block" and member.children:
                self.statement(member["body"])
            elif member.kind == "public_field_definition" and "static" in member.tokens:
                value = member.get("value")
                if value is not None and value.kind not in FUNCTIONS:
                    self.value(value)

    def _declaration(self, node: Syntax) -> None:
        for declarator in node.children:
            value = declarator.get("value")
            if declarator in self.live and value is not None and bare(value).kind not in FUNCTIONS:
                running = self.value(value)
                self.assign(declarator["name"], running)
                self.value(declarator["name"])

    def _expression(self, node: Syntax) -> None:
        for child in node.children:
            self.value(child)

    # Jumps

    def _return(self, node: Syntax) -> None:
        self.returned(self.value(node.children[0]) if node.children else NOTHING)
        self.jump(self.frame.returns)

    def _throw(self, node: Syntax) -> None:
        self.values(node.children)
        if self.handlers:
            self.jump(self.handlers[-1])
        else:
            self.jump(Jump(self.graph.add(), Way.NEXT, 0, "throw"))

    def _break_or_continue(self, node: Syntax) -> None:
        kind = node.kind.removesuffix("_statement")
        label = self.source.text(node["label"]) if "label" in node.fields else None
        for jump in reversed(self.frame.jumps):
            labelled = jump.kind == "label" and kind == "break" and label in jump.labels
            plain = jump.kind == kind and (label is None or label in jump.labels)
            if labelled or plain:
                self.jump(jump)
                return
        self.here = None

    def _labelled(self, node: Syntax) -> None:
        body = node["body"]
        if body.kind in LOOPS:
            self.statement(body)  # looks at its own labels
            return
        end = self._jump("label", labels=(self.source.text(node["label"]),))
        self.frame.jumps.append(end)
        self.statement(body)
        self.frame.jumps.pop()
        self.merge([self.here, end.target if end.taken else None])

    # Branches

    def _if(self, node: Syntax) -> None:
        self.value(node["condition"])
        arms = [node["consequence"], node.get("alternative")]
        guards = self.live.any_call(arms)
        decision = self.decision(node, Form.IF, node["condition"], guards=guards)
        ends = []
        for outcome, arm in zip(("true", "false"), arms, strict=True):
            self.branch(decision, outcome)
            if arm is not None:
                self.statement(arm.children[0] if arm.kind == "else_clause" else arm)
            ends.append(self.end_branch())
        self.merge(ends)

    def _switch(self, node: Syntax) -> None:
        self.value(node["value"])
        clauses = node["body"].children
        guards = self.live.any_call(clauses)
        decision = self.decision(node, Form.SWITCH, node["value"], guards=guards)
        end = self._jump("break")
        self.frame.jumps.append(end)
        outer = self.context
        fallen: int | None = None
        for clause in clauses:
            self.branch(decision, clause_outcome(self.source, clause))
            # one clause may fall into the next, so they do not exclude each other
            self.context = Context(outer, decision, "")
            self.merge([fallen, self.here])
            self._list([c for c in clause.children if c is not clause.get("value")])
            fallen = self.here
        self.context = outer
        self.frame.jumps.pop()
        ends = [fallen, end.target if end.taken else None]
        if not any(clause.kind == "switch_default" for clause in clauses):
            self.branch(decision, "default")
            ends.append(self.end_branch())
        self.merge(ends)

    def _try(self, node: Syntax) -> None:
        handler, cleanup = node.get("handler"), node.get("finalizer")
        finalizer = Finalizer(self.graph.add()) if cleanup is not None else None
        outer = self.handlers[-1] if self.handlers else None
        if finalizer is not None:
            self.finalizers.append(finalizer)
        if handler is not None:
            self._try_catch(node, handler)
        elif finalizer is not None:
            uncaught = outer or Jump(self.graph.add(), Way.NEXT, 0, "throw")
            self.handlers.append(uncaught)
            self.statement(node["body"])
            self.handlers.pop()
        if finalizer is not None and cleanup is not None:
            self.finalizers.pop()
            self._finally(finalizer, cleanup)

    def _try_catch(self, node: Syntax, handler: Syntax) -> None:
        caught = self._jump("catch")
        self.handlers.append(caught)
        self.statement(node["body"])
        self.handlers.pop()
        ends_well = self.here is not None
        if self.here is not None:
            self.graph.link(self.here, caught.target)
        self.here = caught.target
        point = Point(
            role=Role.DECISION,
            form=Form.TRY,
            syntax=node,
            label="catch",
            at=(handler.start, handler.end),
            order=(handler.start, 0),
            guards=self.live.any_call([node["body"], handler]),
        )
        decision = self.point(point)
        end = None
        if ends_well:
            self.branch(decision, "ok")
            end = self.end_branch()
        self.branch(decision, "catch")
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
        for jump in finalizer.jumps:
            self.leave(jump, end)
        self.here = end if goes_on else None

    # Loops

    def _loop(
        self, node: Syntax, form: Form, header: Syntax | None, label: str
    ) -> tuple[Point, int]:
        at = (node.start, node.end)
        order = (node.start if header is None else header.end, 2)
        if form in {Form.WHILE, Form.FOR}:
            order = (node.start, 2)
        loop = Point(Role.LOOP, form, node, label, at, order)
        return loop, self.point(loop)

    def _run_loop(
        self,
        node: Syntax,
        loop: Point,
        head: int,
        *,
        before: Syntax | None = None,
        after: Syntax | None = None,
    ) -> None:
        """The body, with what is evaluated before and after it each time around."""
        first = len(self.graph.points)
        labels = tuple(self._labels(node))
        end = self._jump("break", Way.LEAVES, labels)
        self.graph.loop_ends[end.target] = head
        again = self._jump("continue", labels=labels)
        self.frame.jumps += [end, again]
        self.here = self.graph.add()
        self.graph.link(head, self.here, Way.CONTAINS)
        endless = node.kind != "for_in_statement" and self._endless(node)
        self.value(before)
        if before is not None and not endless:
            self.graph.link(self.position(), end.target, Way.LEAVES)
        self.statement(node["body"])
        del self.frame.jumps[-2:]
        self.merge([self.here, again.target if again.taken else None])
        self.value(after)
        if self.here is not None:
            self.graph.link(self.here, head, Way.BACK)
            if not endless:
                self.graph.link(self.here, end.target, Way.LEAVES)
        loop.body = (first, len(self.graph.points))
        if not endless or end.taken:
            self.graph.link(head, end.target)
        self.here = None if endless and not end.taken else end.target

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

    def _for_in(self, node: Syntax) -> None:
        running = self.value(node["right"])
        if "await" in node.tokens:
            self.wait(running)
        else:
            self.assign(node["left"], running)
        keyword = "of" if "of" in node.tokens else "in"
        left, right = self.source.text(node["left"]), self.source.text(node["right"])
        loop, head = self._loop(node, Form.FOR_IN, node["right"], f"{left} {keyword} {right}")
        self._run_loop(node, loop, head)

    def _for(self, node: Syntax) -> None:
        initializer = node.get("initializer")
        if initializer is not None:
            self.statement(initializer)
        condition, increment = node.get("condition"), node.get("increment")
        label = "" if condition is None else self.source.text(condition).rstrip(";")
        loop, head = self._loop(node, Form.FOR, condition, label)
        self._run_loop(node, loop, head, before=condition, after=increment)

    def _while(self, node: Syntax) -> None:
        label = self.source.text(bare(node["condition"]))
        loop, head = self._loop(node, Form.WHILE, node["condition"], label)
        if node.kind == "do_statement":
            self._run_loop(node, loop, head, after=node["condition"])
        else:
            self._run_loop(node, loop, head, before=node["condition"])

    _STATEMENTS: ClassVar[dict[str, Callable[["Statements", Syntax], None]]] = {
        "statement_block": _block,
        "lexical_declaration": _declaration,
        "variable_declaration": _declaration,
        "expression_statement": _expression,
        "return_statement": _return,
        "throw_statement": _throw,
        "break_statement": _break_or_continue,
        "continue_statement": _break_or_continue,
        "labeled_statement": _labelled,
        "if_statement": _if,
        "switch_statement": _switch,
        "try_statement": _try,
        "for_in_statement": _for_in,
        "for_statement": _for,
        "while_statement": _while,
        "do_statement": _while,
    }
