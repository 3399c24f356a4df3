"""What a call evaluates, and what it runs: its callee, callbacks, an iterator, a constructor."""

from functools import partial

from pml.analysis.functions import arguments_of, method_of, receiver_of
from pml.analysis.graph import Form
from pml.analysis.parallel import SCHEDULERS, Parallel
from pml.analysis.patterns import pattern_names
from pml.analysis.syntax import Syntax, bare
from pml.analysis.walk import NOTHING, Running

_TAKES = frozenset({"next", "return", "throw", "toArray"})
"""Methods of a generator that run it."""


class Calling(Parallel):
    """Calls and ``new``, whose callee has been evaluated; what is handed over is held."""

    def called(self, call: Syntax, running: Running) -> Running:
        """A call whose callee has been evaluated; ``running`` is what the callee waits for."""
        site = self.calls.by_node.get(call)
        if site is not None:
            self.awaited |= self.values(call["arguments"].children)
            return self.task(site, Form.CALL)
        if self.is_combinator(call):
            return self.fork(call)
        if self.runs_callback(call):
            return running | self.loop_callback(call)
        arguments = call.get("arguments")
        callbacks = any(self.is_callback(argument) for argument in arguments_of(call))
        if self.functions.is_promise_callback(call) and (running or callbacks):
            return self.then(call, running)
        if callbacks and self.source.text(call["function"]) in SCHEDULERS:
            return self.later(call)
        if method_of(self.source, call) in _TAKES:
            running = self.iterate(running, call)
        if arguments is not None:
            running |= self.values(arguments.children)
        for argument in arguments_of(call)[:1]:
            running |= self.iterate(self.opened(argument), call)
        self.risk(call)
        self._collect(call, running)
        return self._run_any(call, running)

    def _run_any(self, call: Syntax, running: Running) -> Running:
        """The functions that a call may run: its callee's, and those given to unknown code."""
        functions = self.live.run_by(call)
        if self.functions.called(call) is None:
            running = self.iterate(running, call)
        if not functions:
            return running
        if bare(call.get("function") or call).kind == "super":
            return running | self._super(call)
        if self.live.targets.unknown(call):
            return running | self.maybe(partial(self.call_any, functions, call))
        given = {f for argument in arguments_of(call) for f in self.live.given(argument)}
        running |= self.handed_on([f for f in functions if f in given], call)
        callees = [f for f in functions if f not in given]
        return running | self.call_any(callees, call) if callees else running

    def _super(self, call: Syntax) -> Running:
        found = self.frame.constructs
        return NOTHING if found is None else self.construct_base(found, call)

    def _collect(self, call: Syntax, running: Running) -> None:
        """``calls.push(mcp.a.b())``: the receiver now holds the running call."""
        if method_of(self.source, call) is not None:
            self.assign(receiver_of(call), running)

    def instance(self, node: Syntax) -> Running:
        """Make an instance: arguments, then the class's fields and constructor."""
        self.value(node["constructor"])
        arguments = arguments_of(node)
        is_promise = self.source.text(node["constructor"]) == "Promise"
        if is_promise and arguments and self.is_callback(arguments[0]):
            return self.promise(node)
        running = self.values(arguments)
        for argument in arguments[:1]:
            running |= self.iterate(self.opened(argument), node)
        return self._run_any(node, running)

    def assign(self, pattern: Syntax, running: Running) -> None:
        """The names of a pattern now hold running calls."""
        if not running:
            return
        for target, _path, _default in pattern_names(self.source, pattern):
            binding = self.scopes.holder(target)
            if binding is None:
                self.awaited |= running
            else:
                held = self.variables.get(binding, NOTHING)
                self.variables[binding] = self.together(held, running)
