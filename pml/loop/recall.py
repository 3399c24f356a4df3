"""An intent without code: the known capability that answers it, or suggestions (MCP-2).

A capability runs by itself only where nobody could mean another one: see
`pml.discovery.match`.  Everything else is shown with what is missing, and why.
"""

import json

from pml.analysis.parameters import bind_capability
from pml.discovery.match import Match, clear_match, confidence
from pml.domain.capability import Capability, Lifecycle, Literals
from pml.domain.permissions import ApprovalMode
from pml.domain.response import ExecuteRequest, Suggestions
from pml.errors import NotFoundError
from pml.loop.cards import brief
from pml.loop.discover import ranked, with_missing
from pml.loop.library import Library
from pml.loop.nested import permissions_of
from pml.loop.prepare import Prepared, prepare_known
from pml.loop.surroundings import Refusal
from pml.runtime.plan import JudgesTools
from pml.store.ports import Capabilities

MIN_SUCCESS_RATE = 0.8
"""Of a capability that runs on an intent alone; from story 10.7."""
CANDIDATES = 5
NOT_CLEAR = (
    "no capability is clearly what was meant: send code, or send the intent again as the exact "
    "name of a capability among the candidates"
)
NOTHING = (
    "nothing is known that fits: send code; pml_discover shows the tools that there are for it"
)
_BY_NAME = "to run it all the same, send its exact name as the intent"


async def recall(
    request: ExecuteRequest, *, library: Library, capabilities: Capabilities, judge: JudgesTools
) -> Prepared | Suggestions:
    """What shall run for the intent alone, or what could.

    Raises:
        StoreError: the database is lost.
    """
    await library.refresh()
    match = clear_match(library.index, request.intent)
    why = ""
    if match is not None:
        found = await _runnable(match, request, library, capabilities, judge)
        if isinstance(found, Prepared):
            return found
        why = found
    nearest = confidence(library.index, request.intent)
    results, _ = await ranked(library, request.intent, kind="all", limit=CANDIDATES)
    return Suggestions(
        confidence=0.0 if nearest is None else nearest.confidence,
        candidates=tuple(brief(with_missing(result, request.args)) for result in results),
        why=why or (NOT_CLEAR if results else NOTHING),
    )


async def _runnable(
    match: Match,
    request: ExecuteRequest,
    library: Library,
    capabilities: Capabilities,
    judge: JudgesTools,
) -> Prepared | str:
    """The capability ready to run, or why it does not run by itself.

    Who sends its exact name asks for it as code would, whatever its record is.
    """
    by_name = match.past is None
    literals = Literals() if match.past is None else match.past.literals
    try:
        capability = await capabilities.get(match.capability_id)
        bound = bind_capability(
            capability.parameters, {**json.loads(literals.values), **request.args}
        )
        unkept = tuple(name for name in literals.missing if name not in request.args)
        wrong = _wrong_arguments(capability, (*bound.missing, *unkept), bound.problems)
        if problem := ("" if by_name else _unproven(capability)) or wrong:
            return problem
        prepared = await prepare_known(
            capability, bound, library=library, literals=None if by_name else literals
        )
    except NotFoundError as exc:
        return f"the capability that fits cannot be run: {exc}"
    if isinstance(prepared, Refusal):
        return f"capabilities.{capability.name} fits, and cannot run now: {prepared.error.message}"
    unfit = "" if by_name else "; ".join(filter(None, map(_unfit, prepared.callees.values())))
    return _not_allowed(prepared, capability, judge) or unfit or prepared


def _not_allowed(prepared: Prepared, capability: Capability, judge: JudgesTools) -> str:
    permissions = permissions_of(prepared.structure, prepared.callees, prepared.catalog, judge)
    asks = [p.tool for p in permissions if p.approval_mode is ApprovalMode.HIL]
    if not asks:
        return ""
    return (
        f"capabilities.{capability.name} fits, but it calls {', '.join(asks)}, which may not "
        "be called without approval: allow it in permissions.yaml (approval_mode: auto)"
    )


def _unproven(capability: Capability) -> str:
    """Why the capability is not trusted to run by itself; empty if it is."""
    if capability.success_rate >= MIN_SUCCESS_RATE:
        return _unfit(capability)
    return _unfit(capability) or (
        f"capabilities.{capability.name} fits, but only {capability.success_rate:.0%} of its "
        f"{capability.usage_count} runs succeeded: {_BY_NAME}"
    )


def _unfit(capability: Capability) -> str:
    """Why nothing should run the capability unseen; empty if it may."""
    name = f"capabilities.{capability.name}"
    if capability.hidden or capability.lifecycle is Lifecycle.DEPRECATED:
        return f"{name} has not proved itself: send its code to run it"
    if capability.stale:
        return f"{name} uses a tool that has changed since it last succeeded: {_BY_NAME}"
    return ""


def _wrong_arguments(
    capability: Capability, missing: tuple[str, ...], problems: tuple[str, ...]
) -> str:
    parts = [f"give {', '.join(missing)} in args"] if missing else []
    parts += problems
    return f"capabilities.{capability.name} fits: {'; '.join(parts)}" if parts else ""
