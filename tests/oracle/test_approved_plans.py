"""What a person approves is what then runs: plans against what programs do (HIL-2).

Every tool needs consent here.  Programs are random; each is run, and each of its calls is judged
by the approved plan alone.  A further question may come only where the plan said that the tool
is unknown, and a call that differs in tool, site or a known argument is never covered.
"""

import asyncio
import json
from collections.abc import Iterator, Mapping

import msgspec
import pytest
from hypothesis import HealthCheck, given, note, settings

from pml.analysis.analyse import analyse
from pml.analysis.parameters import bind
from pml.analysis.plan import plan_of
from pml.domain.approval import Approval
from pml.domain.permissions import Effect, Permission
from pml.domain.plan import Plan, PlannedCall, UnknownKind
from pml.domain.run import Issued
from pml.domain.structure import ANY_TOOL, SPREAD, CapabilityCall, StaticStructure
from pml.domain.tools import Tool
from pml.runtime.consent import Consent, of_approval, version_of
from pml.runtime.sandbox.module import module_text
from pml.runtime.sandbox.protocol import CallIssued
from tests.oracle.compare import CATALOG
from tests.oracle.programs import case, cases
from tests.oracle.sandboxed import Reusing, sandboxed
from tests.oracle.scenario import Case, play
from tests.oracle.snippets import REFUSED, SNIPPETS

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(900)]

PROGRAMS = 200
AT_ONCE = 3
OTHER = {"no": "program sends this"}


def approved(plan: Plan) -> Consent:
    """The plan after a person said yes to all that it names."""
    return of_approval(
        Approval(
            id="a",
            run_id="r",
            source_hash=plan.program.source_hash,
            arguments_hmac="",
            tools=tuple(version_of(p.tool, CATALOG.find(p.tool)) for p in plan.tools),
            asked_at_ms=0,
            expires_at_ms=1,
        ),
        plan,
    )


async def planned_and_done(case: Case, sandboxes: Reusing) -> tuple[Plan, list[Issued]]:
    """What was promised before the run, and what was called in it."""
    program = analyse(case.source, CATALOG)
    assert program.errors == ()
    arguments, _ = bind(program, dict(case.args))
    plan = plan_of(
        program.structure,
        source_hash=program.source_hash(),
        arguments=arguments,
        tools=[Permission(tool=tool) for tool in _needed(program.structure)],
        callees={},
    )
    text = module_text(program.instrumented, program.structure.variables)
    async with sandboxed(sandboxes, text, arguments) as runner:
        seen = await play(case, runner)
    issued = [_issued(item) for item in seen.trail if isinstance(item, CallIssued)]
    return plan, [call for call in issued if _can_go(call)]


def _can_go(issued: Issued) -> bool:
    """Whether it could reach a server: the rest is refused before anybody is asked."""
    known = CATALOG.find(issued.tool) is not None
    return known and isinstance(json.loads(issued.arguments), dict)


def _needed(structure: StaticStructure) -> list[str]:
    """Every tool that is named; capabilities are a server like any other here."""
    nodes = structure.nodes
    called = [f"capabilities:{node.name}" for node in nodes if isinstance(node, CapabilityCall)]
    return [*dict.fromkeys((*structure.tools(), *called))]


def _issued(item: CallIssued) -> Issued:
    return Issued(
        seq=item.call,
        at_ms=0,
        call=item.call,
        site=item.site,
        occurrence=1,
        tool=f"{item.server}:{item.tool}",
        arguments=item.arguments,
        effect=Effect.WRITE,
    )


def surprises(plan: Plan, done: list[Issued]) -> list[str]:
    """Calls for which a person is asked again although the plan knew their tool."""
    consent = approved(plan)
    open_sites = {u.node for u in plan.program.unknown if u.kind is UnknownKind.TOOL}
    return [
        f"{issued.site} {issued.tool} {issued.arguments}"
        for issued in done
        if not consent.covers(issued, tool_of(issued))
        and not (issued.site in open_sites or (issued.site == "?" and open_sites))
        and None not in open_sites  # a server that cannot be followed: labels prove nothing
    ]


def excesses(plan: Plan, done: list[Issued]) -> Iterator[str]:
    """Calls that nobody agreed to and that are covered all the same."""
    consent = approved(plan)
    sites = {call.id: call for call in plan.program.calls}
    for issued in done:
        for forged in _forged(issued, sites):
            if consent.covers(forged, tool_of(forged)):
                yield f"{forged.site} {forged.tool} {forged.arguments}, made of {issued}"
        described = msgspec.structs.replace(tool_of(issued), description="Does something else.")
        if consent.covers(issued, described):
            yield f"{issued.tool} after it changed"


def _forged(issued: Issued, sites: Mapping[str, PlannedCall]) -> Iterator[Issued]:
    """The call with one thing changed that the plan is definite about."""
    yield msgspec.structs.replace(issued, tool="fs:read" if issued.tool != "fs:read" else "kv:get")
    yield msgspec.structs.replace(issued, site="?")
    for site, call in sites.items():
        if call.tool not in (issued.tool, ANY_TOOL):
            yield msgspec.structs.replace(issued, site=site)
    planned = sites.get(issued.site)
    if planned is None:
        return
    sent = json.loads(issued.arguments)
    if SPREAD not in planned.arguments:
        yield _with(issued, {**sent, "besides": 1})
    for name, argument in planned.arguments.items():
        if argument.value is not msgspec.UNSET and name != SPREAD:
            yield _with(issued, {**sent, name: OTHER})
            yield _with(issued, {other: sent[other] for other in sent if other != name})


def _with(issued: Issued, arguments: Mapping[str, object]) -> Issued:
    return msgspec.structs.replace(issued, arguments=json.dumps(arguments))


def tool_of(issued: Issued) -> Tool:
    tool = CATALOG.find(issued.tool)
    assert tool is not None
    return tool


async def wrong(case: Case, sandboxes: Reusing) -> list[str]:
    plan, done = await planned_and_done(case, sandboxes)
    return [*surprises(plan, done), *excesses(plan, done)]


async def test_an_approved_program_asks_again_only_where_its_plan_said_unknown(
    reusing: Reusing,
) -> None:
    turn = asyncio.Semaphore(AT_ONCE)

    async def one(seed: int) -> tuple[int, list[str]]:
        async with turn:
            return seed, await wrong(case(seed), reusing)

    found = await asyncio.gather(*(one(seed) for seed in range(PROGRAMS)))
    bad = sorted(((len(case(s).source), s, what) for s, what in found if what))
    report = "\n\n".join(f"--- seed {s}\n{case(s).source}\n" + "\n".join(w) for _, s, w in bad[:3])
    assert not bad, f"{len(bad)} of {PROGRAMS}; the shortest:\n{report}"


@pytest.mark.parametrize("name", sorted(SNIPPETS.keys() - REFUSED.keys()))
async def test_a_tricky_program_does_what_its_plan_said(name: str, reusing: Reusing) -> None:
    assert await wrong(SNIPPETS[name], reusing) == []


@settings(
    max_examples=200, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
@given(case=cases())
async def test_whatever_hypothesis_writes_does_what_its_plan_said(
    case: Case, reusing: Reusing
) -> None:
    note(case.source)
    assert await wrong(case, reusing) == []


async def test_plans_are_definite_enough_to_be_worth_approving(reusing: Reusing) -> None:
    """A control: most sites are named, and many values are known and were really compared."""
    calls = values = named = 0
    for seed in range(20):
        plan, done = await planned_and_done(case(seed), reusing)
        sites = {call.id: call for call in plan.program.calls}
        for issued in done:
            planned = sites.get(issued.site)
            calls += 1
            named += planned is not None and planned.tool == issued.tool
            values += planned is not None and any(
                a.value is not msgspec.UNSET for a in planned.arguments.values()
            )
    assert named > calls * 0.8
    assert values > calls * 0.3
