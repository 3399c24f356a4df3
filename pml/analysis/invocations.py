"""Control flow into functions and out of them: a helper's call sites appear once (SA-3)."""

from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from pml.analysis.graph import Form, Repeat, Way
from pml.analysis.patterns import parameters
from pml.analysis.syntax import CLASSES, FUNCTIONS, Syntax, bare
from pml.analysis.targets import constructor_of
from pml.analysis.walk import NOTHING, Frame, Region, Running, Walk

_REGIONS = 8
"""Of a function that is called in many places so many are remembered: enough to know, mostly."""


@dataclass(slots=True, eq=False)
class Built:
    """A function whose body is in the graph; ``regions`` are where it is called."""

    entry: int
    exit: int
    raised: int
    regions: list[Region]
    running: Running
    plain: bool
    yields: list[int]
    done: bool = False


class Invocations(Walk):
    """Runs functions of the program where they are called."""

    def __init__(self, **given: object) -> None:
        super().__init__(**given)  # type: ignore[arg-type]  # as they come
        self.built: dict[Syntax, Built] = {}
        self.lazy: dict[int, Syntax] = {}
        """Generators that were called and run when somebody iterates, by what stands for them.

        So do the ``next`` methods of what may be iterated.
        """
        self.doubtful: set[int] = set()
        """Those of them that what is iterated may not have."""
        self.buried: dict[Syntax, Syntax] = {}
        """Functions that unreachable code calls, and such a call."""
        self.created: dict[Syntax, int] = {}
        """Where a function was made, until it is seen to be called."""

    @abstractmethod
    def statement(self, node: Syntax) -> None:
        """Build a statement."""

    @abstractmethod
    def value(self, node: Syntax | None) -> Running:
        """Build an expression; the calls its value waits for."""

    @abstractmethod
    def pattern(self, node: Syntax) -> None:
        """Build what taking a value apart evaluates: defaults and computed keys."""

    def values(self, nodes: Iterable[Syntax]) -> Running:
        """Build several expressions in order."""
        running: set[int] = set()
        for node in nodes:
            running |= self.value(node)
        return frozenset(running)

    def call_any(self, functions: list[Syntax], call: Syntax) -> Running:
        """Run one of several functions."""
        if len(functions) == 1:
            return self.invoke(functions[0], call)
        start, ends, running = self.here, [], NOTHING
        for function in functions:
            self.here = start
            self.enter()
            running |= self.invoke(function, call)
            self.leave_region()
            ends.append(self.here)
        self.merge(ends)
        return running

    def invoke(self, function: Syntax, call: Syntax) -> Running:
        """Call a function; a generator's body waits until somebody iterates."""
        if "*" in function.tokens and function.kind not in CLASSES:
            number = self.graph.add()
            self.lazy[number] = function
            return frozenset({number})
        return self.run(function, call)

    def run(self, function: Syntax, call: Syntax) -> Running:
        """Run a function; its sites appear once, where it is called first.

        A call that control never gets to is not the first: the body waits for one that is.
        """
        before = self.position()
        built = self.built.get(function)
        end = self.graph.add()
        if built is None and self.dead:
            self.buried[function] = call
            return NOTHING if _is_plain(function) else self.start(end, before, call)
        if built is None:
            built = self._build(function)
            self.graph.link(before, built.entry)
        else:
            self._again(built, before, end)
        if built.done:
            self.graph.link(built.exit, end)
        if built.plain:
            self.fail(built.raised)
            self.here = end
            return built.running
        self.here = before
        failed = self.graph.add()
        self.graph.link(built.raised, failed, Way.THROWN)
        return self.start(end, before, call, failed)

    def _again(self, built: Built, before: int, end: int) -> None:
        """A further call; one within the function itself always comes after the first."""
        around = [known for known in built.regions if known.surrounds(self.region)]
        certain = not built.done or bool(around)
        nearest = max(around, key=lambda region: region.depth, default=self.region)
        within = frozenset(nearest.functions_to(self.region))
        self.graph.repeats.append(Repeat(before, built.entry, end, certain, within))
        if not certain and len(built.regions) < _REGIONS:
            built.regions.append(self.region)

    def maybe(self, build: Callable[[], Running]) -> Running:
        """Something that may or may not happen here."""
        start = self.here
        self.enter()
        running = build()
        self.leave_region()
        self.merge([start, self.here], skips=start)
        return running

    def _build(self, function: Syntax) -> Built:
        plain = _is_plain(function)
        here, dead, self.dead = self.here, self.dead, False
        self.here = entry = self.graph.add()
        returns, raises = self.new_jump("return"), self.new_jump("throw")
        built = Built(entry, returns.target, raises.target, [self.region], NOTHING, plain, [])
        self.built[function] = built
        self.enter(entry)
        outer = self.frame
        self.frame = Frame(function, returns, not plain, [raises], yields=built.yields)
        self._construct(function) if function.kind in CLASSES else self._body(function)
        built.running = self._end(built)
        self.frame = outer
        self.leave_region()
        self.here, self.dead = here, dead
        built.done = True
        return built

    def _end(self, built: Built) -> Running:
        """What a function gives back still waits for; an async one settles after that."""
        running = self.frame.running
        if built.plain or not running:
            return running
        self.here = built.exit
        self.wait(running)
        built.exit = self.position()
        return NOTHING

    def _body(self, function: Syntax) -> None:
        body = function["body"]
        for _place, pattern in parameters(function):
            self.pattern(pattern)
        if body.kind == "statement_block":
            self.statement(body)
        else:
            self.returned(self.value(body))
        if self.here is not None:
            self.jump(self.frame.returns)

    def returned(self, running: Running) -> None:
        """The function's value waits for ``running``."""
        if not self.frame.waits or len(self.finalizers) > self.frame.returns.finalizers:
            self.frame.running = self.together(self.frame.running, running)
            return
        handlers, self.frame.handlers = self.frame.handlers, self.frame.handlers[:1]
        self.wait(running)  # a returned call is not caught here
        self.frame.handlers = handlers

    # Classes

    def _construct(self, found: Syntax) -> None:
        """Make an instance: fields, then the constructor, the base's first."""
        self.frame.constructs = found
        constructor = constructor_of(self.source, found)
        derived = any(child.kind == "class_heritage" for child in found.children)
        if constructor is not None and derived:
            self._body(constructor)  # the fields come after ``super(...)``
            return
        self.construct_base(found, found)
        if constructor is not None:
            self._body(constructor)
        elif self.here is not None:
            self.jump(self.frame.returns)

    def construct_base(self, found: Syntax, call: Syntax) -> Running:
        """Run what the base class does, then start this class's fields."""
        bases = [one for one in self.live.run_by(call) if one.kind in CLASSES]
        running = self.call_any(bases, call) if bases else NOTHING
        for member in found["body"].children:
            value = member.get("value")
            static = "static" in member.tokens
            if member.kind == "public_field_definition" and value is not None and not static:
                running |= self.value(value)
        return running

    # Functions as values

    def handed_on(self, functions: list[Syntax], call: Syntax) -> Running:
        """Functions are handed to code that may call them now."""
        running = NOTHING
        for function in functions:
            running |= self.maybe(partial(self.run, function, call))
        self.awaited |= running
        return running

    def make(self, function: Syntax) -> None:
        """A function is made and may be called at any time from here on."""
        if self.here is not None and function in self.live.functions:
            self.created.setdefault(function, self.here)

    def yields(self, function: Syntax) -> list[int]:
        """Where a generator hands over what it yields; nowhere if nobody gets to iterate it."""
        return self.built[function].yields if function in self.built else []

    def opened(self, iterated: Syntax) -> Running:
        """The iterators that a value of the program's own makes of itself, found by name."""
        found = self.live.iterating(iterated)
        if found is None:
            return NOTHING
        running = NOTHING
        if found.makers:
            making = partial(self.call_any, list(found.makers), iterated)
            running = making() if found.certain else self.maybe(making)
        for step in found.steps:
            number = self.graph.add()
            self.lazy[number] = step
            running |= {number}
        if not found.certain:
            self.doubtful |= running
        return running

    def taken(self, iterated: Syntax, running: Running) -> Running:
        """Somebody takes all elements of what an expression gives."""
        return self.iterate(running | self.opened(iterated), iterated)

    def iterate(self, running: Running, call: Syntax) -> Running:
        """Somebody may take from the generators among what an expression gives."""
        lazy = [self.lazy[number] for number in sorted(running) if number in self.lazy]
        rest = running.difference(self.lazy)
        for function in lazy:
            start = self.here
            self.enter()
            rest |= self.run(function, call)
            self.leave_region()
            self.merge([start, self.here, *self.yields(function)], skips=start)
        return rest

    def callback(self, expression: Syntax, call: Syntax) -> Running | None:
        """Run what is given as a callback; None where no tool is called by it."""
        node = bare(expression)
        site = self.calls.by_node.get(node) or self.calls.by_node.get(expression)
        if site is not None and site.call is None:
            return self.task(site, Form.VALUE)
        functions = self.live.given(node)
        if not functions:
            return None
        if node.kind not in FUNCTIONS and node.kind != "identifier":
            self.value(node)
        if self.live.targets.unknown(node):
            return self.maybe(partial(self.call_any, functions, call))
        return self.call_any(functions, call)

    def is_callback(self, expression: Syntax) -> bool:
        """Whether an expression is something that calls tools when it is called."""
        node = bare(expression)
        site = self.calls.by_node.get(node) or self.calls.by_node.get(expression)
        return (site is not None and site.call is None) or bool(self.live.given(node))


def _is_plain(function: Syntax) -> bool:
    """Whether a call of the function is over when it returns."""
    return "async" not in function.tokens or "*" in function.tokens
