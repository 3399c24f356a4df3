"""Control flow of statements: a whole program, declarations, branches and jumps."""

from collections.abc import Callable
from typing import ClassVar

from pml.analysis.exceptions import Exceptions
from pml.analysis.expressions import PATTERNS
from pml.analysis.graph import Form
from pml.analysis.literals import clause_outcome
from pml.analysis.loops import Loops
from pml.analysis.repeats import place_repeats
from pml.analysis.syntax import CLASSES, FUNCTIONS, LOOPS, Syntax
from pml.analysis.targets import is_constructor
from pml.analysis.walk import NOTHING

_HOISTED = frozenset({"function_declaration", "generator_function_declaration", "empty_statement"})


class Statements(Exceptions, Loops):
    """Builds the graph of a whole program."""

    def program(self) -> int:
        """Build everything; the point at which the program has ended."""
        self._list(self.source.root.children)
        end = self.frame.returns.target
        if self.here is not None:
            self.jump(self.frame.returns)
        self.graph.link(self.frame.handlers[0].target, end)
        self._build_unseen()
        self._build_buried()
        for site in self.calls.sites:
            if site not in self.reached:
                self.here = None
                self.task(site, Form.CALL if site.call is not None else Form.VALUE)
        place_repeats(self.graph)
        return end

    def _build_unseen(self) -> None:
        """Functions that nobody is seen to call may run at any time after they were made."""
        unseen = [f for f in self.live.functions if not is_constructor(self.source, f)]
        for function in sorted([*unseen, *self.live.classes], key=lambda f: f.start):
            if function not in self.built and function not in self.buried:
                self.here = self.created.get(function)
                self.enter()
                self.awaited |= self.run(function, function)
                self.leave_region()

    def _build_buried(self) -> None:
        """Functions that only unreachable code calls never run; they have sites all the same."""
        while self.buried:
            function, call = self.buried.popitem()
            if function not in self.built:
                self.here = None
                self.awaited |= self.run(function, call)

    def unawaited(self) -> list[Syntax]:
        """What was started and nothing waits for, in source order."""
        awaited, pending = set(self.awaited), list(self.awaited)
        while pending:
            inner = self.bundles.get(pending.pop(), NOTHING) - awaited
            awaited |= inner
            pending += inner
        lost = {
            node
            for number, node in self.started.items()
            if number not in awaited and node.kind == "call_expression"
        }
        return sorted(lost, key=lambda node: node.start)

    def statement(self, node: Syntax) -> None:
        """Build one statement; nothing if nothing in it matters."""
        if node not in self.live:
            self.risk(node)
            return
        build = self._STATEMENTS.get(node.kind)
        if build is not None:
            build(self, node)
        elif node.kind in CLASSES:
            self._class(node)
        elif node.kind not in _HOISTED:
            self.value(node)

    def _list(self, nodes: list[Syntax]) -> None:
        for place, node in enumerate(nodes):
            if self.here is None:
                self._unreached(nodes[place:])
                return
            self.statement(node)

    def _unreached(self, nodes: list[Syntax]) -> None:
        """Statements after one that always leaves; their calls are sites all the same."""
        lost = [node for node in nodes if node.kind not in _HOISTED]
        self.unreachable += lost[:1]
        with self.reachable_or_not():
            for node in nodes:
                self.statement(node)

    def _block(self, node: Syntax) -> None:
        self._list(node.children)

    def _class(self, node: Syntax) -> None:
        """What runs when a class is declared: its base, computed names, static parts."""
        for child in node.children:
            if child.kind == "class_heritage":
                self.value(child)
        for member in node["body"].children if "body" in node.fields else ():
            name = member.get("name")
            if name is not None and name.kind == "computed_property_name":
                self.value(name)
            if member.kind in FUNCTIONS:
                self.make(member)
            elif member.kind == "class_static_block" and member.children:
                self.statement(member["body"])
            elif member.kind == "public_field_definition" and "static" in member.tokens:
                self.value(member.get("value"))

    def _declaration(self, node: Syntax) -> None:
        for declarator in node.children:
            value = declarator.get("value")
            if declarator in self.live and value is not None:
                running = self.value(value)
                if declarator["name"].kind in PATTERNS:
                    running = self.iterate(running, declarator)
                    self.pattern(declarator["name"])
                self.assign(declarator["name"], running)
            elif declarator not in self.live:
                self.risk(declarator)

    def _expression(self, node: Syntax) -> None:
        for child in node.children:
            self.value(child)

    # Jumps

    def _return(self, node: Syntax) -> None:
        self.returned(self.value(node.children[0]) if node.children else NOTHING)
        self.jump(self.frame.returns)

    def _throw(self, node: Syntax) -> None:
        self.values(node.children)
        self.jump(self.frame.handlers[-1])

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
        end = self.new_jump("label", (self.source.text(node["label"]),))
        self.frame.jumps.append(end)
        self.enter()
        self.statement(body)
        self.leave_region()
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
        self._tests([clause["value"] for clause in clauses if "value" in clause.fields])
        decision = self.decision(node, Form.SWITCH, node["value"], guards=guards)
        end = self.new_jump("break")
        self.frame.jumps.append(end)
        fallen: int | None = None
        for clause in clauses:
            self.branch(decision, clause_outcome(self.source, clause))
            self.merge([fallen, self.here])
            self._list([c for c in clause.children if c is not clause.get("value")])
            fallen = self.end_branch()
        self.frame.jumps.pop()
        ends = [fallen, end.target if end.taken else None]
        if not any(clause.kind == "switch_default" for clause in clauses):
            self.branch(decision, "default")
            ends.append(self.end_branch())
        self.merge(ends)

    def _tests(self, tests: list[Syntax]) -> None:
        """What the cases are compared with, in order, up to the first that is equal."""
        ends: list[int | None] = []
        for test in tests:
            self.enter()
            self.awaited |= self.value(test)
            ends.append(self.here)
        for _test in tests:
            self.leave_region()
        if ends:
            self.merge(ends)

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
        "try_statement": Exceptions.try_statement,
        "for_in_statement": Loops.for_in,
        "for_statement": Loops.for_loop,
        "while_statement": Loops.while_loop,
        "do_statement": Loops.while_loop,
    }
