"""The state of building a control-flow graph: where control is, and where it can jump to."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from pml.analysis.calls import Calls, Site
from pml.analysis.functions import Functions
from pml.analysis.graph import Form, Graph, Point, Role, Way
from pml.analysis.live import Live
from pml.analysis.scope import Binding, Scopes
from pml.analysis.syntax import Source, Syntax

Running = frozenset[int]
"""Points that a value waits for: calls that were started and may still run."""

NOTHING: Running = frozenset()


@dataclass(slots=True, eq=False)
class Context:
    """The branches around a place, innermost first; tells alternatives from sequences."""

    outer: "Context | None"
    decision: int
    outcome: str

    def branches(self) -> dict[int, str]:
        """Decision and outcome of every branch around."""
        found: dict[int, str] = {}
        context: Context | None = self
        while context is not None:
            found[context.decision] = context.outcome
            context = context.outer
        return found


@dataclass(slots=True, eq=False)
class Finalizer:
    """A ``finally`` that jumps out of its ``try`` have to pass."""

    entry: int
    jumps: list["Jump"] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Jump:
    """A place that return, throw, break or continue goes to, and the finalizers outside it."""

    target: int
    way: Way
    finalizers: int
    kind: str
    labels: tuple[str, ...] = ()
    taken: bool = False


@dataclass(slots=True, eq=False)
class Frame:
    """One function being built; its jumps, innermost last."""

    function: Syntax | None
    returns: Jump
    waits: bool
    """Whether a returned call is waited for: an async function's is."""
    jumps: list[Jump] = field(default_factory=list)
    running: Running = NOTHING
    """Calls that a plain function returns while they run."""


@dataclass(slots=True, eq=False)
class Built:
    """A function whose body is in the graph."""

    entry: int
    exit: int
    contexts: list[Context | None]
    """Of the calls that lead into the body."""
    running: Running
    plain: bool
    done: bool = False


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
        self.context: Context | None = None
        self.finalizers: list[Finalizer] = []
        self.handlers: list[Jump] = []
        self.variables: dict[Binding, Running] = {}
        self.built: dict[Syntax, Built] = {}
        self.reached: set[Site] = set()
        self.joins: dict[Point, Point] = {}
        self.unreachable: list[Syntax] = []
        self.started: dict[int, Syntax] = {}
        """What may be running after a point, by point: reported if nothing waits for it."""
        self.awaited: set[int] = set()
        self._started_at: dict[int, int] = {}
        self._waits = 0
        self.frame = Frame(None, self._jump("return"), waits=True)

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

    def merge(self, ends: Iterable[int | None]) -> None:
        """Go to where the ends come together; nowhere if all of them jumped away."""
        reached = {end for end in ends if end is not None}
        if len(reached) <= 1:
            self.here = reached.pop() if reached else None
            return
        self.here = self.graph.add()
        for end in sorted(reached):
            self.graph.link(end, self.here)

    def branch(self, decision: int, outcome: str) -> None:
        """Go into a branch of a decision."""
        self.here = self.graph.add()
        self.graph.link(decision, self.here, outcome=outcome)
        self.context = Context(self.context, decision, outcome)

    def end_branch(self) -> int | None:
        """Leave the innermost branch; where it ended."""
        assert self.context is not None
        self.context = self.context.outer
        return self.here

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

    def start(self, number: int, before: int, node: Syntax) -> Running:
        """The point ``number`` runs from ``before`` on; the value that waits for it."""
        self.started[number] = node
        self._started_at[number] = before
        return frozenset({number})

    # Waiting

    @property
    def waits(self) -> int:
        """How often control waited so far."""
        return self._waits

    def wait(self, running: Running) -> None:
        """``await``: go on when everything has ended; a failure goes to the handler."""
        if not running:
            return
        self._waits += 1
        self.awaited |= running
        for number in running:
            if self.handlers:
                self.leave(self.handlers[-1], number)
        before = self.position()
        if len(running) == 1 and self._started_at.get(min(running)) == before:
            self.here = min(running)
            return
        self.here = self.graph.add()
        self.graph.link(before, self.here)
        for number in sorted(running):
            self.graph.link(number, self.here)

    # Jumps

    def _jump(self, kind: str, way: Way = Way.NEXT, labels: tuple[str, ...] = ()) -> Jump:
        return Jump(self.graph.add(), way, len(self.finalizers), kind, labels)

    def jump(self, jump: Jump) -> None:
        """Control goes elsewhere; what follows here is not reached this way."""
        self.leave(jump, self.position())
        self.here = None

    def leave(self, jump: Jump, start: int) -> None:
        """An arrow to where a jump leads, through the finalizers in between."""
        if len(self.finalizers) > jump.finalizers:
            finalizer = self.finalizers[-1]
            self.graph.link(start, finalizer.entry)
            if jump not in finalizer.jumps:
                finalizer.jumps.append(jump)
            return
        jump.taken = True
        self.graph.link(start, jump.target, jump.way)
