"""Control flow inside expressions: calls, waiting, assignments, short circuits."""

from collections.abc import Callable
from typing import ClassVar

from pml.analysis.calling import Calling
from pml.analysis.graph import Form, Point, Role
from pml.analysis.optional import is_optional
from pml.analysis.syntax import CLASSES, FUNCTIONS, MEMBERS, Syntax, bare, first_offset, wrapped
from pml.analysis.walk import NOTHING, Running

_SHORT_CIRCUITS = {"&&": "true", "||": "false", "??": "false"}
"""Operators by the outcome on which their right side runs."""
_ASSIGNING = {"&&=": "true", "||=": "false", "??=": "false"}
_CHAIN = MEMBERS | {"call_expression"}
PATTERNS = frozenset({"object_pattern", "array_pattern"})
_DEFAULTED = frozenset(
    {
        "assignment_pattern",
        "object_assignment_pattern",
        "required_parameter",
        "optional_parameter",
    }
)


class Expressions(Calling):
    """Evaluates expressions; a value is what it still waits for."""

    def value(self, node: Syntax | None) -> Running:
        """Build an expression in order of evaluation; the calls its value waits for."""
        if node is None:
            return NOTHING
        if node not in self.live:
            self.risk(node)
            return NOTHING
        site = self.calls.by_node.get(node)
        if site is not None and site.call is None:
            return self.task(site, Form.VALUE)
        if (build := self._BUILDERS.get(node.kind)) is not None:
            return build(self, node)
        if node.kind in FUNCTIONS:
            self.make(node)
        elif node.kind in CLASSES:
            self.statement(node)
        else:
            return self.values(node.children)
        return NOTHING

    def _name(self, node: Syntax) -> Running:
        binding = self.scopes.binding(node)
        return NOTHING if binding is None else self.variables.get(binding, NOTHING)

    def _await(self, node: Syntax) -> Running:
        self.wait(self.values(node.children))
        return NOTHING

    def _void(self, node: Syntax) -> Running:
        running = self.values(node.children)
        self.awaited |= running  # thrown away on purpose, or looked at
        return NOTHING

    def _assignment(self, node: Syntax) -> Running:
        left = node["left"]
        self.value(left) if left.kind in _CHAIN else None
        running = self.value(node["right"])
        if left.kind in PATTERNS:
            running = self.iterate(running, node)
            self.pattern(left)
        self.assign(left, running)
        return running

    def pattern(self, node: Syntax) -> None:
        """What taking a value apart evaluates: a default only if there is nothing."""
        if node not in self.live:
            self.risk(node)
            return
        if node.kind == "array_pattern":
            self.assign(node, self.taken(node, NOTHING))
        for child in node.children:
            if node.kind in _DEFAULTED and child in {node.get("right"), node.get("value")}:
                self.assign(node.get("left") or node["pattern"], self._default(child))
            elif child.kind == "computed_property_name":
                self.value(child)
            else:
                self.pattern(child)

    def _default(self, node: Syntax) -> Running:
        return self.maybe(lambda: self.value(node))

    def _spread(self, node: Syntax) -> Running:
        running = self.values(node.children)
        return self.taken(node.children[0], running) if node.children else running

    def _yield(self, node: Syntax) -> Running:
        """A generator hands over a value, and goes on when it is asked for the next."""
        running = self.values(node.children)
        if "*" in node.tokens:
            self._delegate(node, running)
            return NOTHING
        around = self.frame.function
        if around is not None and "async" in around.tokens:
            self.wait(running)
        else:
            self.frame.running = self.together(self.frame.running, running)
        self.frame.yields.append(self.position())
        self.point(None)
        return NOTHING

    def _delegate(self, node: Syntax, running: Running) -> None:
        """``yield*``: another generator, or what an iterator gives, is handed over."""
        running |= self.opened(node.children[0]) if node.children else NOTHING
        for number in sorted(running.intersection(self.lazy)):
            start, function = self.here, self.lazy[number]
            self.enter()
            self.run(function, node)
            self.leave_region()
            self.frame.yields += self.yields(function)
            if number in self.doubtful:
                self.merge([start, self.here], skips=start)

    def _augmented(self, node: Syntax) -> Running:
        operator = next((t for t in node.tokens if t in _ASSIGNING), None)
        if operator is None or not self.live.any_call([node["right"]]):
            return self._assignment(node)
        label = self.source.text(node["left"])
        decision = self._decision(node, Form.ASSIGNMENT, node["left"], label, guards=True)
        return self._guarded(decision, _ASSIGNING[operator], node["right"])

    # Branches

    def _decision(
        self, node: Syntax, form: Form, condition: Syntax, label: str, *, guards: bool
    ) -> int:
        point = Point(
            role=Role.DECISION,
            form=form,
            syntax=node,
            label=label,
            at=(first_offset(node), condition.end),
            order=(condition.end, 1),
            guards=guards,
        )
        return self.point(point)

    def decision(self, node: Syntax, form: Form, condition: Syntax, *, guards: bool) -> int:
        """A point where control branches on ``condition``."""
        label = self.source.text(bare(condition))
        return self._decision(node, form, condition, label, guards=guards)

    def _guarded(self, decision: int, outcome: str, right: Syntax) -> Running:
        """``right`` runs on ``outcome``; on the other outcome it is passed by."""
        self.branch(decision, outcome)
        running = self.value(right)
        end = self.end_branch()
        self.branch(decision, "false" if outcome == "true" else "true")
        self.merge([end, self.end_branch()])
        return running

    def _binary(self, node: Syntax) -> Running:
        operator = next((t for t in node.tokens if t in _SHORT_CIRCUITS), None)
        if operator is None or node["right"] not in self.live:
            return self.values(node.children)
        running = self.value(node["left"])
        form = Form.NULLISH if operator == "??" else Form.LOGICAL
        guards = self.live.any_call([node["right"]])
        decision = self.decision(node, form, node["left"], guards=guards)
        return running | self._guarded(decision, _SHORT_CIRCUITS[operator], node["right"])

    def _ternary(self, node: Syntax) -> Running:
        self.value(node["condition"])
        arms = [node["consequence"], node["alternative"]]
        guards = self.live.any_call(arms)
        decision = self.decision(node, Form.TERNARY, node["condition"], guards=guards)
        running = NOTHING
        ends: list[int | None] = []
        for outcome, arm in zip(("true", "false"), arms, strict=True):
            self.branch(decision, outcome)
            running |= self.value(arm)
            ends.append(self.end_branch())
        self.merge(ends)
        return running

    # Chains: a.b?.c(x).d

    def _chain(self, node: Syntax) -> Running:
        """Member accesses and calls from the innermost outwards; ``?.`` may skip the rest."""
        links = [node]
        while (inner := _inner(links[-1])).kind in _CHAIN:
            site = self.calls.by_node.get(inner)
            if site is not None and site.call is None:
                break
            links.append(inner)
        running = NOTHING if inner not in self.live else self._base(inner, links[-1])
        decisions: list[int] = []
        for place in range(len(links) - 1, -1, -1):
            link = links[place]
            if is_optional(link) and self._guards_rest(link, links[:place]):
                decision = self._optional(link)
                self.branch(decision, "true")
                decisions.append(decision)
            running = self._link(link, running)
        ends = [self.here]
        for decision in reversed(decisions):
            self.end_branch()
            self.branch(decision, "false")
            ends.append(self.end_branch())
        self.merge(ends)
        return running

    def _base(self, inner: Syntax, link: Syntax) -> Running:
        """The start of a chain; a helper that is called is not handed on."""
        if link.kind == "call_expression" and bare(inner).kind in FUNCTIONS:
            return NOTHING
        return self.value(inner)

    def _guards_rest(self, link: Syntax, outer: list[Syntax]) -> bool:
        inner = bare(_inner(link))
        handle = self.calls.handle(inner)
        if handle is not None and inner.kind in MEMBERS:
            return not handle.certain  # every tool of a server is there
        if handle is not None:
            return not self._always_there(inner)
        after = [child for one in (link, *outer) for child in one.children[1:]]
        return self.live.any_call(after) or any(self.live.run_by(one) for one in (link, *outer))

    def _always_there(self, expression: Syntax, aliases: int = 8) -> bool:
        """Whether what stands for a server or tool can be told to be there: no ``c ? x : null``."""
        node = bare(expression)
        while node.kind in MEMBERS and not is_optional(node):
            node = bare(node["object"])
        binding = self.scopes.binding(node)
        if binding is None or not aliases:
            return node.kind == "identifier" and binding is None
        if len(binding.definitions) != 1:
            return False
        value = binding.definitions[0].value
        place = wrapped(value).parent
        declared = place is not None and place.kind == "variable_declarator"
        return declared and self._always_there(value, aliases - 1)

    def _optional(self, link: Syntax) -> int:
        call = link.kind == "call_expression"
        form = Form.OPTIONAL_CALL if call else Form.OPTIONAL_MEMBER
        return self.decision(link, form, _inner(link), guards=True)

    def _link(self, link: Syntax, running: Running) -> Running:
        if link.kind == "call_expression":
            return self.called(link, running)
        running |= self.values(link.children[1:])
        if self.catching and self.calls.handle(link) is None:
            self.risk(link)
        getters = self.live.run_by(link)
        return running | self.call_any(getters, link) if getters else running

    _BUILDERS: ClassVar[dict[str, Callable[["Expressions", Syntax], Running]]] = {
        "yield_expression": _yield,
        "new_expression": Calling.instance,
        "spread_element": _spread,
        "identifier": _name,
        "shorthand_property_identifier": _name,
        "await_expression": _await,
        "unary_expression": _void,
        "assignment_expression": _assignment,
        "augmented_assignment_expression": _augmented,
        "binary_expression": _binary,
        "ternary_expression": _ternary,
        "call_expression": _chain,
        "member_expression": _chain,
        "subscript_expression": _chain,
    }


def _inner(link: Syntax) -> Syntax:
    """What a link of a chain is applied to."""
    node = link["function"] if link.kind == "call_expression" else link["object"]
    while node.kind == "non_null_expression" and node.children:
        node = node.children[0]
    return node
