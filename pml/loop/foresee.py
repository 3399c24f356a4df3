"""What a program would do with given arguments, without running it (HIL-2)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from pml.analysis.parameters import bind
from pml.analysis.plan import plan_of
from pml.domain.capability import Capability
from pml.domain.plan import Plan
from pml.domain.program import Diagnostic, Program, Severity
from pml.domain.tools import Catalog
from pml.loop.nested import permissions_of
from pml.runtime.plan import JudgesTools


@dataclass(frozen=True, slots=True)
class Foreseen:
    """A program before it runs."""

    program: Program
    plan: Plan | None = None
    """None if the program is refused."""
    doubts: tuple[Diagnostic, ...] = ()
    """What a run would refuse of the arguments, as warnings: in a plan they stay open."""


def foresee(
    program: Program,
    args: Mapping[str, Any],
    *,
    catalog: Catalog,
    callees: Mapping[str, Capability],
    judge: JudgesTools,
) -> Foreseen:
    """The plan of an analysed program."""
    if program.errors:
        return Foreseen(program)
    arguments, unbound = bind(program, args)
    plan = plan_of(
        program.structure,
        source_hash=program.source_hash(),
        arguments=arguments,
        tools=permissions_of(program.structure, callees, catalog, judge),
        callees=callees,
    )
    doubts = (msgspec.structs.replace(d, severity=Severity.WARNING) for d in unbound)
    return Foreseen(program, plan, tuple(doubts))
