"""The state of building a control-flow graph: where control is, and where it can jump to."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from pml.analysis.calls import Calls, Site
from pml.analysis.functions import Functions
from pml.analysis.graph import Form, Graph, Point, Role, Way
from pml.analysis.live import Live
from pml.analysis.raising import may_throw
from pml.analysis.scope import Binding, Scopes
from pml.analysis.syntax import Source, Syntax

Running = frozenset[int]
"""Points that a value waits for: calls that were started and may still run."""

NOTHING: Running = frozenset()
_BUNDLED = 3
"""A variable that collects more running calls than these holds one point where they meet."""


@dataclass(slots=True, eq=False)
class Region:
    """A piece of the program that may be left early or not run at all, and those around it."""

    outer: "Region | None"
    depth: int
    entry: int | None = None
    """Of the function whose body it is."""

    def surrounds(self, other: "Region | None") -> bool:
        """Whether ``other`` is this region, or lies in it."""
        while other is not None and other.depth > self.depth:
            other = other.outer
        return other is self

    def functions_to(self, inner: "Region") -> Iterator[int]:
        """The entries of the functions in which a region lies that is in this one."""
        while inner is not self and inner.outer is not None:
            if inner.entry is not None:
                yield inner.entry
            inner = inner.outer


@dataclass(slots=True, eq=False)
class Finalizer:
    """A ``finally`` that jumps out of its ``try`` have to pass."""

    entry: int
    loops: int
    jumps: list[tuple["Jump", Way]] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Jump:
    """A place that return, throw, break or continue goes to.

    ``finalizers`` and ``loops`` are how many lie around it: the further ones are left.
    """

    target: int
    finalizers: int
    loops: int
    kind: str
    labels: tuple[str, ...] = ()
    taken: bool = False


@dataclass(slots=True, eq=False)
class Frame:
    """One function being built; its jumps and handlers, innermost last."""

    function: Syntax | None
    returns: Jump
    waits: bool
    """Whether a returned call is waited for: an async function's is."""
    handlers: list[Jump]
    """Where exceptions go; the first leads out of the function."""
    jumps: list[Jump] = field(default_factory=list)
    running: Running = NOTHING
    """Calls that run on when the function has returned, and that its value waits for."""
    yields: list[int] = field(default_factory=list)
    """Where a generator hands over what it yields."""
    constructs: Syntax | None = None
    """The class whose constructor this is."""


class Walk:
    """Shared by the builders of expressions and statements.

    Invariant: ``here`` is the point that control last passed; None after a jump.
    """

    def __init__(
        self,
        *,
        source: Source,
        scopes: Scopes,
        functions: Functions,
        calls: Calls,
        live: Live,
    ) -> None:
        self.source = source
        self.scopes = scopes
        self.functions = functions
        self.calls = calls
        self.live = live
        self.graph = Graph()
        self.here: int | None = self.graph.add()
        self.region = Region(None, 0)
        self.finalizers: list[Finalizer] = []
        self.loops: list[int] = []
        self.variables: dict[Binding, Running] = {}
        self.reached: set[Site] = set()
        self.joins: dict[Point, Point] = {}
        self.unreachable: list[Syntax] = []
        self.started: dict[int, Syntax] = {}
        """What may be running after a point, by point: reported if nothing waits for it."""
        self.awaited: set[int] = set()
        self.bundles: dict[int, Running] = {}
        """What meets in a point that stands for several running calls."""
        self._started_at: dict[int, int] = {}
        self._started_in: dict[int, Region] = {}
        self._rejects: dict[int, int] = {}
        """Where what runs has failed, if that is another point than where it has ended."""
        self._risked: tuple[int, Jump] | None = None
        self._waits = 0
        self.dead = False
        """Whether control cannot get to what is being built."""
        self.frame = Frame(None, self.new_jump("return"), True, [self.new_jump("throw")])

    # Points

    def position(self) -> int:
        """The point control is at; a new one, that nothing leads to, in unreachable code."""
        if self.here is None:
            self.here = self.graph.add()
        return self.here

    def point(self, point: Point | None) -> int:
        """Add a point after ``here`` and go there."""
        before = self.position()
        self.here = self.graph.add(point)
        self.graph.link(before, self.here)
        return self.here

    def merge(self, ends: Iterable[int | None], skips: int | None = None) -> None:
        """Go to where the ends come together; nowhere if all of them jumped away.

        ``skips`` is the end of the way on which nothing has happened.
        """
        reached = {end for end in ends if end is not None}
        if len(reached) <= 1:
            self.here = reached.pop() if reached else None
            return
        self.here = self.graph.add()
        for end in sorted(reached):
            self.graph.link(end, self.here, Way.SKIPS if end == skips else Way.NEXT)

    def branch(self, decision: int, outcome: str) -> None:
        """Go into a branch of a decision."""
        self.here = self.graph.add()
        self.graph.link(decision, self.here, outcome=outcome)
        self.enter()

    def end_branch(self) -> int | None:
        """Leave the innermost branch; where it ended."""
        self.leave_region()
        return self.here

    def enter(self, entry: int | None = None) -> None:
        """Go into a region."""
        self.region = Region(self.region, self.region.depth + 1, entry)

    def leave_region(self) -> None:
        """Go out of the innermost region."""
        assert self.region.outer is not None
        self.region = self.region.outer

    def task(self, site: Site, form: Form) -> Running:
        """A call starts here and runs on while control goes on."""
        node = site.node
        point = Point(
            role=Role.TASK,
            form=form,
            syntax=node,
            label=site.handle.tool,
            at=(node.start, node.end),
            order=(node.end, 0),
            site=site,
        )
        before = self.position()
        number = self.graph.add(point)
        self.graph.link(before, number)
        self.reached.add(site)
        return self.start(number, before, node)

    # Waiting

    def start(self, number: int, before: int, node: Syntax, rejects: int | None = None) -> Running:
        """The point ``number`` runs from ``before`` on; the value that waits for it."""
        self.started[number] = node
        self._started_at[number] = before
        self._started_in[number] = self.region
        if rejects is not None:
            self._rejects[number] = rejects
        return frozenset({number})

    def rejected(self, number: int) -> int:
        """Where a running call has failed."""
        return self._rejects.get(number, number)

    @property
    def waits(self) -> int:
        """How often control waited so far."""
        return self._waits

    def wait(self, running: Running) -> None:
        """``await``: go on when everything has ended; a failure goes to the handler."""
        if not running:
            return
        for number in running:
            self.fail(self.rejected(number))
        self.settle(running)

    def settle(self, running: Running) -> None:
        """Go on when everything has ended well."""
        if not running:
            return
        self._waits += 1
        self.awaited |= running
        before = self.position()
        if len(running) == 1 and self._started_at.get(min(running)) == before:
            self.here = min(running)
            return
        self.here = self._meeting(running)
        sure = all(self._surely_started(number) for number in running)
        self.graph.link(before, self.here, Way.NEXT if sure else Way.SKIPS)
        if sure:
            self.graph.joins.add(self.here)

    def _surely_started(self, number: int) -> bool:
        region = self._started_in.get(number)
        return region is not None and region.surrounds(self.region)

    def _meeting(self, points: Iterable[int]) -> int:
        """A point after all of some."""
        number = self.graph.add()
        for point in sorted(points):
            self.graph.link(point, number)
        return number

    def together(self, first: Running, second: Running) -> Running:
        """Both; few points, however many calls a variable collects."""
        both = first | second
        if len(both) <= _BUNDLED:
            return both
        number = self._meeting(both)
        self._rejects[number] = self.graph.add()
        for one in sorted(both):
            self.graph.link(self.rejected(one), self._rejects[number], Way.THROWN)
        self.bundles[number] = both
        return frozenset({number})

    # Jumps and exceptions

    @contextmanager
    def reachable_or_not(self) -> Iterator[None]:
        """Build something; if control does not get here, it does not get out of there either."""
        if self.here is not None:
            yield
            return
        outer, self.dead = self.dead, True
        yield
        self.dead, self.here = outer, None

    def new_jump(self, kind: str, labels: tuple[str, ...] = ()) -> Jump:
        """A place to jump to from here on."""
        return Jump(self.graph.add(), len(self.finalizers), len(self.loops), kind, labels)

    def jump(self, jump: Jump) -> None:
        """Control goes elsewhere; what follows here is not reached this way."""
        self.leave(jump, self.position())
        self.here = None

    def leave(self, jump: Jump, start: int, way: Way = Way.NEXT) -> None:
        """An arrow to where a jump leads, through the finalizers in between.

        Out of a loop leads the loop, if it turns out to be a node; else the place of the jump.
        """
        if self.dead:
            return
        target, loops = jump.target, jump.loops
        if len(self.finalizers) > jump.finalizers:
            finalizer = self.finalizers[-1]
            target, loops = finalizer.entry, max(loops, finalizer.loops)
            if (jump, way) not in finalizer.jumps:
                finalizer.jumps.append((jump, way))
        else:
            jump.taken = True
        if len(self.loops) > loops:
            self.graph.link(start, target, way, leaves=self.loops[loops])
            self.graph.link(self.loops[loops], target, way)
        else:
            self.graph.link(start, target, way)

    def fail(self, start: int) -> None:
        """What runs up to a point may fail: an arrow to the handler, if there is one."""
        if self.catching:
            self.leave(self.frame.handlers[-1], start, Way.THROWN)

    @property
    def catching(self) -> bool:
        """Whether anything can come of an exception."""
        return len(self.frame.handlers) > 1 or self.frame.function is not None

    def risk(self, node: Syntax | None) -> None:
        """Evaluating the node may throw, before anything in it has happened."""
        if node is None or self.here is None or not self.catching:
            return
        risked = (self.here, self.frame.handlers[-1])
        if risked != self._risked and may_throw(node):
            self._risked = risked
            self.fail(self.here)
