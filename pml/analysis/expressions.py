"""Control flow inside expressions: calls, waiting, short circuits, combinators, callbacks."""

from abc import abstractmethod

from pml.analysis.functions import arguments_of, method_of, receiver_of
from pml.analysis.graph import Form, Point, Role, Way
from pml.analysis.scope import pattern_names
from pml.analysis.syntax import FUNCTIONS, Syntax, bare
from pml.analysis.walk import NOTHING, Built, Context, Frame, Running, Walk

COMBINATORS = frozenset({"all", "allSettled", "race", "any"})
_SHORT_CIRCUITS = {"&&": "true", "||": "false", "??": "false"}
"""Operators by the outcome on which their right side runs."""
_ASSIGNING = {"&&=": "true", "||=": "false", "??=": "false"}
_READS = frozenset(
    {"identifier", "member_expression", "subscript_expression", "new_expression"}
)
_CHAIN = frozenset({"member_expression", "subscript_expression", "call_expression"})


class Expressions(Walk):
    """Evaluates expressions; a value is what it still waits for."""

    @abstractmethod
    def statement(self, node: Syntax) -> None:
        """Build a statement."""

    def value(self, node: Syntax | None) -> Running:
        """Build an expression in order of evaluation; the calls its value waits for."""
        if node is None or node not in self.live:
            return NOTHING
        site = self.calls.by_node.get(node)
        if site is not None and site.call is None:
            return self.task(site, Form.VALUE)
        build = _EXPRESSIONS.get(node.kind)
        if build is not None:
            return build(self, node)
        if node.kind in FUNCTIONS:
            return self._escaping(node)
        return self.values(node.children)

    def values(self, nodes: list[Syntax]) -> Running:
        """Build several expressions in order."""
        running = NOTHING
        for node in nodes:
            running |= self.value(node)
        return running

    def _name(self, node: Syntax) -> Running:
        binding = self.scopes.binding(node)
        if binding is None:
            return NOTHING
        function = binding.function
        if function in self.live.functions and function is not None:
            return self._escaping(function)
        return self.variables.get(binding, NOTHING)

    def _await(self, node: Syntax) -> Running:
        self.wait(self.values(node.children))
        return NOTHING

    def _void(self, node: Syntax) -> Running:
        running = self.values(node.children)
        self.awaited |= running  # thrown away on purpose, or looked at
        return NOTHING

    def assign(self, pattern: Syntax, running: Running) -> None:
        """The names of a pattern now hold running calls."""
        if not running:
            return
        for target, _path, _default in pattern_names(self.source, pattern):
            base = target
            while base.kind in {"member_expression", "subscript_expression"}:
                base = base["object"]
            binding = self.scopes.targets.get(base) or self.scopes.binding(base)
            if binding is None:
                self.awaited |= running
            else:
                self.variables[binding] = self.variables.get(binding, NOTHING) | running

    def _assignment(self, node: Syntax) -> Running:
        if bare(node["right"]).kind in FUNCTIONS:
            return NOTHING
        self.value(node["left"]) if node["left"].kind in _CHAIN else None
        running = self.value(node["right"])
        self.assign(node["left"], running)
        return running

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
            at=(node.start, condition.end),
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
        ends = []
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
            if _is_optional(link) and self._guards_rest(link, links[:place]):
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
        if link.kind == "call_expression" and self.functions.known(inner) is not None:
            return NOTHING
        return self.value(inner)

    def _guards_rest(self, link: Syntax, outer: list[Syntax]) -> bool:
        if self.calls.handle(_inner(link)) is not None:
            return False  # a server or a tool is always there
        after = [child for one in (link, *outer) for child in one.children[1:]]
        return self.live.any_call(after) or any(self.functions.called(o) for o in outer)

    def _optional(self, link: Syntax) -> int:
        call = link.kind == "call_expression"
        form = Form.OPTIONAL_CALL if call else Form.OPTIONAL_MEMBER
        return self.decision(link, form, _inner(link), guards=True)

    def _link(self, link: Syntax, running: Running) -> Running:
        if link.kind != "call_expression":
            return running | self.values(link.children[1:])
        return self._call(link, running)

    # Calls

    def _call(self, call: Syntax, running: Running) -> Running:
        """A call whose callee has been evaluated; ``running`` is what the callee waits for."""
        site = self.calls.by_node.get(call)
        if site is not None:
            self.awaited |= self.values([*call["arguments"].children])
            return self.task(site, Form.CALL)
        if self._is_combinator(call):
            return self._fork(call)
        if self.functions.is_array_callback(call) and self._runs_callback(call):
            return running | self._loop_callback(call)
        if self.functions.is_promise_callback(call) and running:
            return self._then(call, running)
        arguments = call.get("arguments")
        if arguments is not None:
            running |= self.values(arguments.children)
        self._collect(call, running)
        function = self.functions.called(call)
        if function is None:
            function = self.live.methods.get(method_of(self.source, call) or "")
        if function is None or function not in self.live.functions:
            return running
        return running | self.invoke(function, call)

    def _collect(self, call: Syntax, running: Running) -> None:
        """``calls.push(mcp.a.b())``: the receiver now holds the running call."""
        if method_of(self.source, call) is not None:
            self.assign(receiver_of(call), running)

    def _callback(self, expression: Syntax, call: Syntax) -> Running | None:
        """Run what is given as a callback; None where no tool is called by it."""
        node = bare(expression)
        site = self.calls.by_node.get(node) or self.calls.by_node.get(expression)
        if site is not None and site.call is None:
            return self.task(site, Form.VALUE)
        function = self.functions.known(node)
        if function is None or function not in self.live.functions:
            return None
        return self.invoke(function, call)

    def _runs_callback(self, call: Syntax) -> bool:
        arguments = arguments_of(call)
        if not arguments or arguments[0] not in self.live:
            return False
        node = bare(arguments[0])
        site = self.calls.by_node.get(node)
        return site is not None or self.functions.known(node) in self.live.functions

    def _then(self, call: Syntax, running: Running) -> Running:
        """``.then(f)``: runs beside what follows, once the receiver has settled."""
        before, waits = self.position(), self._waits
        self.wait(running)
        method = method_of(self.source, call)
        for place, argument in enumerate(arguments_of(call)):
            start = self.here
            inner = self._callback(argument, call)
            if inner is None:
                self.awaited |= self.value(argument)
                continue
            self.wait(inner)
            if method == "catch" or place > 0:
                self.merge([start, self.here])
        end = self.point(None)
        self.here, self._waits = before, waits
        return self.start(end, before, call)

    def _escaping(self, function: Syntax) -> Running:
        """A function is handed to code that may call it."""
        start = self.here
        running = self.invoke(function, function)
        self.merge([start, self.here])
        self.awaited |= running
        return running

    # Functions

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
        for parameter in function.get("parameters").children if "parameters" in function.fields else ():
            self.value(parameter)
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

    # Side by side

    def _is_combinator(self, call: Syntax) -> bool:
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
            elements = (c.children[0] if c.kind == "spread_element" else c for c in argument.children)
            return any(self._starts_calls(bare(e)) for e in elements if e in self.live)
        if argument.kind == "call_expression" and self.functions.is_array_callback(argument):
            return self._runs_callback(argument)
        return argument.kind not in _READS and argument in self.live

    def _fork(self, call: Syntax) -> Running:
        argument = bare(arguments_of(call)[0])
        name = method_of(self.source, call) or ""
        at = (call.start, call.end)
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
        if not is_map or not self._runs_callback(node):
            return self.value(node)
        running = self.value(receiver_of(node))
        callback = self._callback(arguments_of(node)[0], node)
        return running | (callback or NOTHING)

    def _loop_callback(self, call: Syntax) -> Running:
        arguments = arguments_of(call)
        running = self.values(arguments[1:])
        method = method_of(self.source, call)
        label = f"{self.source.text(receiver_of(call))}.{method}"
        at = (call.start, arguments[0].start)
        loop = Point(Role.LOOP, Form.CALLBACK, call, label, at, (arguments[0].start, 0))
        head = self.point(loop)
        first = len(self.graph.points)
        self.here = self.graph.add()
        self.graph.link(head, self.here, Way.CONTAINS)
        body = self._callback(arguments[0], call) or NOTHING
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


def _inner(link: Syntax) -> Syntax:
    """What a link of a chain is applied to."""
    node = link["function"] if link.kind == "call_expression" else link["object"]
    while node.kind == "non_null_expression" and node.children:
        node = node.children[0]
    return node


def _is_optional(link: Syntax) -> bool:
    return "optional_chain" in link.fields or "?." in link.tokens


_EXPRESSIONS = {
    "identifier": Expressions._name,
    "shorthand_property_identifier": Expressions._name,
    "await_expression": Expressions._await,
    "unary_expression": Expressions._void,
    "assignment_expression": Expressions._assignment,
    "augmented_assignment_expression": Expressions._augmented,
    "binary_expression": Expressions._binary,
    "ternary_expression": Expressions._ternary,
    "call_expression": Expressions._chain,
    "member_expression": Expressions._chain,
    "subscript_expression": Expressions._chain,
}
