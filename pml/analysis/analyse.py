"""TypeScript to static structure and instrumented code: the whole of analysis in order.

Parse, bind names, find the calls, build control flow, draw it, trace values, lift literals,
splice.
"""

from dataclasses import dataclass

import msgspec

from pml.analysis.arguments import Arguments
from pml.analysis.calls import Calls, Kind, Site
from pml.analysis.canonical import canonical_hash
from pml.analysis.diagnose import (
    Reporter,
    errors_first,
    report_calls,
    report_flow,
    report_refused,
    report_uncalled,
)
from pml.analysis.early import report_early_errors
from pml.analysis.edges import Drawn, draw
from pml.analysis.functions import Functions
from pml.analysis.graph import Graph, Point, Role
from pml.analysis.inputs import Inputs, inputs
from pml.analysis.lifting import Lifted, lift, passed
from pml.analysis.live import Live
from pml.analysis.misuses import Misuses
from pml.analysis.origins import Tracer
from pml.analysis.parameters import parameters_of
from pml.analysis.provides import dataflow_edges, schema_edges
from pml.analysis.prune import kept_points
from pml.analysis.scope import Scopes
from pml.analysis.splice import instrument
from pml.analysis.statements import Statements
from pml.analysis.syntax import Source
from pml.analysis.taint import Taint
from pml.analysis.uncalled import Uncalled
from pml.analysis.undeclared import report_undeclared
from pml.analysis.unparsed import report_depth, report_syntax
from pml.domain.limits import Limits
from pml.domain.program import Diagnostic, Program, Severity
from pml.domain.structure import (
    ANY_TOOL,
    Argument,
    CapabilityCall,
    Decision,
    Edge,
    Fork,
    Join,
    Location,
    Loop,
    Node,
    StaticStructure,
    Task,
)
from pml.domain.tools import Catalog

_EMPTY = StaticStructure(nodes=(), edges=(), complete=True)
ANY_SERVER = "*"
"""Among the servers that a source names: it may use every server there is."""
CAPABILITY_ID = "capabilityId"
"""Annotation of a capability that stands as a tool of `CAPABILITY_SERVER` in a catalog."""


@dataclass(frozen=True, slots=True)
class _Names:
    """A source that parses, with what its names mean."""

    source: Source
    scopes: Scopes
    functions: Functions
    calls: Calls


@dataclass(frozen=True, slots=True)
class References:
    """What a source names, in order of first use, before anything is connected or looked up."""

    servers: tuple[str, ...] = ()
    """`ANY_SERVER` stands among them if the source may use others."""
    capabilities: tuple[str, ...] = ()
    """Names, as in ``capabilities.name``."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A source that was parsed once: what it names is known before there is a catalog."""

    text: str
    refused: tuple[Diagnostic, ...]
    """Why it cannot be analysed; empty if it can."""
    references: References
    names: _Names | None
    """None where it is refused."""

    def release(self) -> None:
        """Take the tree apart, for whoever has understood it for the last time."""
        if self.names is not None:
            self.names.source.release()


def read(source: str, *, limits: Limits = Limits()) -> Reading:  # noqa: B008  # frozen
    """Parse a program and find what it calls; never raises."""
    text, refusal = _readable(source, limits)
    if refusal is not None:
        return Reading(text, (refusal,), References(), None)
    parsed = Source(text)
    report = Reporter(parsed)
    if _unparsed(parsed, report):
        return Reading(text, tuple(errors_first(report.found)), References(), None)
    try:
        names = _read(parsed)
        return Reading(text, (), _references(names.calls), names)
    except RecursionError:  # deep calls of helpers by helpers: rare, and not worth a second stack
        return Reading(text, (_too_intricate(),), References(servers=(ANY_SERVER,)), None)


def understand(reading: Reading, catalog: Catalog) -> Program:
    """Analyse a program against the tools that there are; never raises.

    What is wrong with the source is said in the diagnostics; with an error among them the
    program has no instrumented code, and with a syntax error no structure either.
    """
    if reading.names is None:
        return _not_understood(reading.text, reading.refused)
    try:
        return _analyse(reading.names, reading.text, catalog)
    except RecursionError:
        return _not_understood(reading.text, (_too_intricate(),))


def analyse(source: str, catalog: Catalog, *, limits: Limits = Limits()) -> Program:  # noqa: B008  # frozen
    """Read and understand a program before it runs; never raises."""
    reading = read(source, limits=limits)
    program = understand(reading, catalog)
    reading.release()
    return program


def _not_understood(text: str, diagnostics: tuple[Diagnostic, ...]) -> Program:
    return Program(source=text, structure=_EMPTY, instrumented="", diagnostics=diagnostics)


def _references(calls: Calls) -> References:
    servers: list[str] = []
    capabilities: list[str] = []
    for handle in (site.handle for site in calls.sites):
        if handle.kind is not Kind.CAPABILITY:
            servers.append(ANY_SERVER if handle.server is None else handle.server)
        elif handle.name is not None:
            capabilities.append(handle.name)
    servers += [ANY_SERVER] if calls.leaks else []
    return References(tuple(dict.fromkeys(servers)), tuple(dict.fromkeys(capabilities)))


def _too_intricate() -> Diagnostic:
    message = "functions call one another through too many levels: split the program"
    return Diagnostic(severity=Severity.ERROR, code="too-deep", message=message, line=1, column=1)


def _readable(source: str, limits: Limits) -> tuple[str, Diagnostic | None]:
    """The source as text that can be encoded, and why it is refused, if it is."""
    text = source.encode("utf-8", "replace").decode()
    size = len(text.encode())
    message = ""
    if text != source:
        message = "the source is not valid Unicode: it holds half of a surrogate pair"
        code = "not-unicode"
    elif size > limits.source_bytes:
        message = (
            f"the source has {size:,} bytes, the limit is {limits.source_bytes:,} (source_bytes): "
            "move data out of the code into args, or read it with a tool"
        )
        code = "too-large"
    if not message:
        return text, None
    place = text[:80].splitlines()[0] if text.strip() else ""
    return text, Diagnostic(
        severity=Severity.ERROR, code=code, message=message, line=1, column=1, text=place
    )


def _unparsed(source: Source, report: Reporter) -> bool:
    """Whether the source cannot be analysed further; the reasons are reported."""
    report_syntax(source, report)
    report_depth(source, report)
    return bool(report.found)


def _read(source: Source) -> _Names:
    scopes = Scopes(source)
    functions = Functions(source, scopes)
    return _Names(source, scopes, functions, Calls(source, scopes, functions))


def _analyse(names: _Names, text: str, catalog: Catalog) -> Program:
    source, scopes, calls = names.source, names.scopes, names.calls
    report = Reporter(source)
    report_early_errors(source, report)
    report_refused(source, scopes, report)
    report_undeclared(source, scopes, catalog, report)
    live = Live(source, scopes, names.functions, calls)
    flow = Statements(
        source=source, scopes=scopes, functions=names.functions, calls=calls, live=live
    )
    end = flow.program()
    drawn = draw(flow.graph, kept_points(flow.graph, end), flow.joins)
    ids = {point.site: point.id for point in drawn.points if point.site is not None}
    tracer = Tracer(source, scopes, names.functions, calls)
    read_inputs = inputs(source, scopes)
    values = passed(source, calls)
    lifts = lift(source, scopes, names.functions, calls, values=values, read=read_inputs)
    taint = Taint(source, scopes, names.functions, calls, tracer.shared)
    arguments = Arguments(source, scopes, tracer=tracer, taint=taint, ids=ids, lifts=lifts)
    given = {site: arguments.of(site) for site in calls.sites}
    report_calls(source, calls, catalog, given, report)
    report_uncalled(Uncalled(source, scopes, calls), report)
    report_flow(
        source,
        unreachable=flow.unreachable,
        unawaited=flow.unawaited(),
        misused=Misuses(source, scopes, names.functions, calls).all(),
        cut=live.targets.cut,
        report=report,
    )
    provided = _provided(arguments, ids, catalog, flow.graph, drawn)
    structure = StaticStructure(
        nodes=tuple(_node(point, given, catalog) for point in drawn.points),
        edges=(*drawn.edges, *provided),
        complete=calls.complete,
        flows_complete=not arguments.cut,
        parameters=read_inputs.names,
        variables=read_inputs.variables,
        layers=drawn.layers,
        locations=_locations(source, drawn),
    )
    found = tuple(errors_first(report.found))
    program = Program(source=text, structure=structure, instrumented="", diagnostics=found)
    if program.errors:
        return program
    lifted = lifts.literals
    return msgspec.structs.replace(
        program,
        instrumented=instrument(source, calls, drawn.points, lifted),
        parameters=parameters_of(read_inputs, lifted, values, tracer, catalog),
        canonical_hash=_hash(names, read_inputs, lifted, catalog),
    )


def _provided(
    arguments: Arguments, ids: dict[Site, str], catalog: Catalog, graph: Graph, drawn: Drawn
) -> list[Edge]:
    """The ``provides`` edges in the order of what they lead to."""
    found = dataflow_edges(arguments.flows, arguments.fields, ids, catalog)
    found += schema_edges(graph, catalog, {(edge.source, edge.target) for edge in found})
    place = {point.id: index for index, point in enumerate(drawn.points)}
    return sorted(found, key=lambda edge: (place[edge.target], place[edge.source]))


def _hash(names: _Names, read_inputs: Inputs, lifted: tuple[Lifted, ...], catalog: Catalog) -> str:
    ids = {
        site.handle.name: capability_id(site, catalog)
        for site in names.calls.sites
        if site.handle.kind is Kind.CAPABILITY and site.handle.name is not None
    }
    return canonical_hash(
        names.source,
        names.scopes,
        names.calls,
        read=read_inputs,
        lifted=lifted,
        capability_ids=ids,
    )


def _node(point: Point, given: dict[Site, dict[str, Argument]], catalog: Catalog) -> Node:
    if point.site is not None:
        if point.site.handle.kind is Kind.CAPABILITY:
            return CapabilityCall(
                id=point.id,
                capability_id=capability_id(point.site, catalog),
                name=point.site.handle.name or "",
                arguments=given[point.site],
            )
        return Task(id=point.id, tool=point.label, arguments=given[point.site])
    if point.role is Role.DECISION:
        return Decision(id=point.id, condition=point.label)
    if point.role is Role.FORK:
        return Fork(id=point.id, combinator=point.label)
    if point.role is Role.JOIN:
        return Join(id=point.id)
    return Loop(id=point.id, condition=point.label)


def capability_id(site: Site, catalog: Catalog) -> str:
    """Of the capability that a site calls; its name where none of that name is known."""
    known = catalog.find(site.handle.tool)
    found = None if known is None else known.annotations.get(CAPABILITY_ID)
    return found if isinstance(found, str) else site.handle.name or ANY_TOOL


def _locations(source: Source, drawn: Drawn) -> dict[str, Location]:
    found: dict[str, Location] = {}
    for point in drawn.points:
        node = point.syntax
        line, column = source.position(node.start)
        found[point.id] = Location(line=line, column=column, start=node.start, end=node.end)
    return found
