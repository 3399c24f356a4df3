"""Whether a run may begin or go on: permissions as they hold now, and what people agreed to."""

from dataclasses import dataclass

from pml.analysis.plan import plan_of
from pml.domain.permissions import ApprovalMode, Permission
from pml.domain.program import Diagnostic
from pml.loop.asking import Asking
from pml.loop.close import History
from pml.loop.consents import RunConsents
from pml.loop.means import Means
from pml.loop.nested import JudgesCapabilities, permissions_of
from pml.loop.surroundings import Surroundings
from pml.runtime.consent import NOTHING, Consents
from pml.runtime.mocks import DryRun
from pml.runtime.plan import JudgesTools


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A run with everything that decides whether it may begin or go on."""

    history: History
    around: Surroundings
    judge: JudgesTools
    consents: RunConsents
    dry_run: DryRun | None
    """Answers for the tools that would change the world, if it is a dry run (EX-6)."""
    needed: tuple[Permission, ...]
    """What somebody must agree to first."""
    diagnostics: tuple[Diagnostic, ...] = ()


def dry_run_of(means: Means, history: History, around: Surroundings) -> DryRun | None:
    """What a dry run answers itself; None: the run is none."""
    if not history.run.dry_run:
        return None
    return DryRun(
        judge=means.permissions,
        catalog=around.catalog,
        requested=history.kept.mocks,
        configured=means.mocks,
    )


async def judge(
    means: Means,
    history: History,
    around: Surroundings,
    *,
    asking: Asking,
    inherited: Consents = NOTHING,
    diagnostics: tuple[Diagnostic, ...] = (),
) -> Judged:
    """What holds for everything that may be called, and what was agreed to (HIL-1, HIL-2).

    Raises:
        StoreError: the database is lost.
    """
    run, kept = history.run, history.kept
    dry = dry_run_of(means, history, around)
    rules = means.permissions if dry is None else dry
    permissions = permissions_of(history.structure, around.callees, around.catalog, rules)
    needed: tuple[Permission, ...] = ()
    consents = asking.nothing(run, inherited)
    if any(permission.approval_mode is ApprovalMode.HIL for permission in permissions):
        plan = plan_of(
            history.structure,
            source_hash=run.source_hash,
            arguments={**kept.arguments, **kept.lifted},
            tools=permissions,
            callees=around.callees,
        )
        consents = await asking.consents(run, kept, plan, inherited=inherited)
        needed = consents.needed(plan, around.catalog, around.callees.values())
    return Judged(
        history=history,
        around=around,
        judge=JudgesCapabilities(
            tools=rules,
            catalog=around.catalog,
            by_name=around.by_name,
            callees=around.callees,
        ),
        consents=consents,
        dry_run=dry,
        needed=needed,
        diagnostics=diagnostics,
    )
