"""From a request to something that can run: analysed, bound, every tool known.

A program comes from the request and is analysed, or from a capability and is not: what
analysis said of it was kept.  Servers are asked only when something names them and nothing
is known of them yet, or when what is known does not have the tool.
"""

import asyncio
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from pml.analysis.analyse import Reading, read, understand
from pml.analysis.dag import CompiledDag, compile_dag
from pml.analysis.kept import new_capability
from pml.analysis.parameters import Bound, bind
from pml.analysis.plan import plan_of
from pml.domain.capability import (
    Capability,
    CapabilityParameter,
    CapabilitySource,
    Literals,
    NewCapability,
)
from pml.domain.limits import Limits
from pml.domain.permissions import Permission
from pml.domain.plan import Plan
from pml.domain.program import Diagnostic, Program, Severity
from pml.domain.record import JsonText
from pml.domain.response import ExecuteError, ExecuteRequest
from pml.domain.structure import StaticStructure
from pml.domain.tools import Catalog
from pml.errors import DagError
from pml.loop.consents import quarantined
from pml.loop.library import Library, with_capabilities
from pml.loop.problems import idle_mocks
from pml.loop.surroundings import (
    Refusal,
    Surroundings,
    refusal,
    servers_of,
    structures_of,
    surroundings_of,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """Something that may run, once its permissions are judged."""

    source: str
    instrumented: str
    structure: StaticStructure
    catalog: Catalog
    by_name: Mapping[str, Capability]
    """The capabilities that the program calls, by the names that it uses."""
    callees: Mapping[str, Capability]
    """Those and the ones that they call, by id."""
    arguments: Mapping[str, JsonText]
    """What the program sees as ``args``."""
    lifted: Mapping[str, JsonText] = field(default_factory=dict)
    parameters: tuple[CapabilityParameter, ...]
    diagnostics: tuple[Diagnostic, ...] = ()
    """Warnings only."""
    new: NewCapability | None = None
    """What is to be kept of a program that was submitted."""
    capability: Capability | None = None
    """What is run, if it is known already."""
    literals: Literals | None = None
    """What the intent stands for after a run of this; None: what it stood for before."""

    def source_hash(self) -> str:
        """SHA-256 of the source: what approvals bind to (design, section 5, rule 12)."""
        return hashlib.sha256(self.source.encode()).hexdigest()

    def plan(self, permissions: Iterable[Permission]) -> Plan:
        """What a person is asked to agree to, if anyone is (HIL-2)."""
        return plan_of(
            self.structure,
            source_hash=self.source_hash(),
            arguments={**self.arguments, **self.lifted},
            tools=permissions,
            callees=self.callees,
        )

    def defaults(self) -> dict[str, JsonText]:
        """What parameters are where nothing is given: the literals of the code."""
        return {
            parameter.name: json.dumps(parameter.default)
            for parameter in self.parameters
            if parameter.default is not msgspec.UNSET
        }

    @property
    def around(self) -> Surroundings:
        """What its calls lead to."""
        return Surroundings(catalog=self.catalog, by_name=self.by_name, callees=self.callees)


async def prepare(
    request: ExecuteRequest, *, library: Library, limits: Limits
) -> Prepared | Refusal:
    """Analyse and bind a program that was submitted; nothing runs.

    Raises:
        StoreError: the database is lost.
    """
    try:
        compiled = None
        if request.dag is not None:
            compiled = await asyncio.to_thread(compile_dag, request.dag)
    except DagError as exc:
        return refusal("bad_dag", str(exc))
    source = request.code if compiled is None else compiled.source
    assert source is not None
    found = await examine(source, library=library, limits=limits)
    program = found.program
    if found.unavailable:
        return refusal("server_unavailable", "; ".join(found.unavailable.values()))
    known = _of_tasks(program.diagnostics, compiled)
    if program.errors:
        return _refused_by(known)
    depth = 1 + max((each.depth for each in found.by_name.values()), default=-1)
    if held_back := _held_back(found, depth, limits):
        return held_back
    arguments, unbound = bind(program, request.args)
    below = [callee.structure for callee in found.callees.values()]
    idle = idle_mocks(request.dry_run_mocks, [program.structure, *below], found.by_name)
    diagnostics = (*known, *_of_tasks(unbound, compiled), *idle)
    if any(d.severity is Severity.ERROR for d in unbound):
        return _refused_by(diagnostics)
    source_kind = CapabilitySource.CODE if request.dag is None else CapabilitySource.DAG
    new = await asyncio.to_thread(
        new_capability, program, intent=request.intent, depth=depth, source=source_kind
    )
    if isinstance(new, str):
        diagnostics = (*diagnostics, _not_kept(new))
    return Prepared(
        source=program.source,
        instrumented=program.instrumented,
        structure=program.structure,
        catalog=found.catalog,
        by_name=found.by_name,
        callees=found.callees,
        arguments=arguments,
        parameters=program.parameters,
        diagnostics=diagnostics,
        new=None if isinstance(new, str) else new,
        literals=None if isinstance(new, str) else literals_of(new.parameters, limits),
    )


def literals_of(parameters: Iterable[CapabilityParameter], limits: Limits) -> Literals:
    """With which literals a procedure was submitted, as far as they may and can be kept."""
    lifted = [parameter for parameter in parameters if parameter.lifted]
    values = {p.name: p.default for p in lifted if p.default is not msgspec.UNSET}
    text = json.dumps(values)
    if len(text) > limits.trace_value_bytes:
        values, text = {}, "{}"
    return Literals(values=text, missing=tuple(p.name for p in lifted if p.name not in values))


async def prepare_known(
    capability: Capability,
    bound: Bound,
    *,
    library: Library,
    literals: Literals | None = None,
) -> Prepared | Refusal:
    """What it takes to run a capability; its code is not parsed again.

    Raises:
        NotFoundError: a capability that it calls is gone.
        StoreError: the database is lost.
    """
    around = await surroundings_of(capability.structure, library)
    if isinstance(around, Refusal):
        return around
    return Prepared(
        source=capability.code,
        instrumented=capability.instrumented,
        structure=capability.structure,
        catalog=around.catalog,
        by_name=around.by_name,
        callees=around.callees,
        arguments=bound.arguments,
        lifted=bound.lifted,
        parameters=capability.parameters,
        capability=capability,
        literals=literals,
    )


def _held_back(found: "Examined", depth: int, limits: Limits) -> Refusal | None:
    """Why a correct program may not run, whatever the permissions say."""
    if reason := quarantined(structures_of(found.program.structure, found.callees), found.catalog):
        return refusal("quarantined", reason)
    if depth > limits.capability_depth:
        return refusal("too_deep", _too_deep(found.by_name, limits))
    return None


def _too_deep(by_name: Mapping[str, Capability], limits: Limits) -> str:
    deepest = max(by_name, key=lambda name: by_name[name].depth)
    return (
        f"capabilities.{deepest} calls capabilities {by_name[deepest].depth} levels deep, the "
        f"limit is {limits.capability_depth} (capability_depth): call its tools directly"
    )


def _not_kept(reason: str) -> Diagnostic:
    return Diagnostic(
        severity=Severity.WARNING,
        code="not-kept",
        message=f"no capability is made of this: {reason}",
        line=1,
        column=1,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """A program, seen with the tools and capabilities that it names."""

    program: Program
    catalog: Catalog
    by_name: Mapping[str, Capability]
    callees: Mapping[str, Capability]
    unavailable: Mapping[str, str]
    """Servers that it needs and nobody could ask, and why."""


async def examine(source: str, *, library: Library, limits: Limits) -> Examined:
    """Analyse a program against what is known of its servers, or what they say now.

    Raises:
        StoreError: the database is lost.
    """
    known = library.analysed
    reading: Reading | None = None
    named = known.references(source)
    # in threads: a source of 1 MB takes seconds, and other runs go on meanwhile
    if named is None:
        reading = await asyncio.to_thread(read, source, limits=limits)
        named = reading.references
        known.put(source, named)
    by_name = await library.named(named.capabilities)
    callees = await library.callees(each.id for each in by_name.values())
    servers = {*named.servers, *servers_of(c.structure for c in callees.values())}
    listed = await library.listed(servers)
    catalog = with_capabilities({**library.names, **listed.tools}, by_name)
    program = known.program(source, catalog)
    if program is None:
        if reading is None:
            reading = await asyncio.to_thread(read, source, limits=limits)
        understood = await asyncio.to_thread(understand, reading, catalog)
        if any(d.code == "unknown-tool" for d in understood.errors):  # perhaps it is new
            listed = await library.listed(servers, again=True)
            catalog = with_capabilities({**library.names, **listed.tools}, by_name)
            understood = await asyncio.to_thread(understand, reading, catalog)
        if any(d.code == "unknown-capability" for d in understood.errors):  # say which there are
            alike = await library.alike(named.capabilities)
            offered = with_capabilities({**library.names, **listed.tools}, {**alike, **by_name})
            understood = await asyncio.to_thread(understand, reading, offered)
        reading.release()
        known.put_program(understood, catalog, source=source)
        program = understood
    return Examined(
        program=program,
        catalog=catalog,
        by_name=by_name,
        callees=callees,
        unavailable=listed.unavailable,
    )


def _of_tasks(
    diagnostics: tuple[Diagnostic, ...], compiled: CompiledDag | None
) -> tuple[Diagnostic, ...]:
    """The diagnostics as who sent tasks instead of code understands them: each names its task."""
    if compiled is None:
        return diagnostics
    named = [(compiled.place(each.line), each) for each in diagnostics]
    return tuple(
        msgspec.structs.replace(each, message=f"{task}: {each.message}") if task else each
        for task, each in named
    )


def _refused_by(diagnostics: tuple[Diagnostic, ...]) -> Refusal:
    """The first error speaks; all of them come with the answer."""
    first = next(d for d in diagnostics if d.severity is Severity.ERROR)
    return Refusal(
        ExecuteError(code=first.code, message=first.message, line=first.line), diagnostics
    )


def json_object(values: Mapping[str, JsonText]) -> JsonText:
    """One JSON object of values that are JSON text already, and stay exact."""
    return "{" + ",".join(f"{json.dumps(key)}:{value}" for key, value in values.items()) + "}"
