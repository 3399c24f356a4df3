"""Whether a person has agreed to a call (HIL-2, HIL-3).  Pure, and judged again at each call.

Three things can cover a call: the approval of a plan, the approval of exactly this call, and a
grant that was remembered.  Each is bound: to the run's own program, to the tool as it was
described when somebody was asked (its schema hash), and to what was known of the arguments.
A call that nothing covers does not go; that is the whole of the enforcement.

A capability call needs no consent of its own: the run that it starts asks by itself, and is
covered by the plan that its caller was approved with, as far as that plan names it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

import msgspec

from pml.domain.approval import Approval, Grant, GrantScope, ToolVersion
from pml.domain.capability import CAPABILITY_SERVER
from pml.domain.json_value import parsed, same_json
from pml.domain.plan import Plan, PlannedArgument, PlannedCall, PlannedProgram, UnknownKind
from pml.domain.run import Issued
from pml.domain.structure import SPREAD
from pml.domain.tools import Tool, matches

_PARENT: Final = ".."


def is_capability(tool_id: str) -> bool:
    """Whether a call of this starts a run of its own."""
    return tool_id.partition(":")[0] == CAPABILITY_SERVER


class Consent(Protocol):
    """One thing that may cover a call."""

    @property
    def by(self) -> str:
        """What the audit log names."""

    def covers(self, issued: Issued, tool: Tool) -> bool:
        """Whether this call may go because of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanConsent:
    """The approved plan of one program, and of the capabilities that it calls.

    Invariant: it covers no call of a tool, at a site, or with an argument other than the plan
    says, as far as the plan says it.
    """

    approval_id: str
    versions: Mapping[str, str]
    """Schema hashes of the tools that were asked for, by id."""
    program: PlannedProgram
    callees: Mapping[str, PlannedProgram]
    """What the capabilities do that it calls, directly or not, by the hash of their source."""

    @property
    def by(self) -> str:
        """See `Consent`."""
        return f"approval {self.approval_id}"

    def covers(self, issued: Issued, tool: Tool) -> bool:
        """See `Consent`."""
        return _is_version(self.versions, issued, tool) and self._plans(issued)

    def within(self, issued: Issued, source_hash: str) -> "PlanConsent | None":
        """What it says of the run that a capability call starts; None: nothing.

        Args:
            issued: the call; only one that the plan has starts a run that the plan covers.
            source_hash: of the capability's source.
        """
        program = self.callees.get(source_hash)
        if program is None or not self._plans(issued):
            return None
        return PlanConsent(
            approval_id=self.approval_id,
            versions=self.versions,
            program=program,
            callees=self.callees,
        )

    def asked_for(self, tool_id: str, schema_hash: str) -> bool:
        """Whether the tool, as it is described now, was among those that were asked for."""
        return self.versions.get(tool_id) == schema_hash

    def _plans(self, issued: Issued) -> bool:
        planned = (call for call in self.program.calls if call.id == issued.site)
        return any(
            call.tool == issued.tool
            and _as_planned(call, issued)
            and (_is_definite(call) or not self._may_mislabel)
            for call in planned
        )

    @property
    def _may_mislabel(self) -> bool:
        """Whether the program may give a call the site of another.

        It can where a server goes where analysis cannot follow; then a site says nothing, and
        only a call of which every value is known is sure to be the one that was shown.
        """
        return any(u.kind is UnknownKind.TOOL and u.node is None for u in self.program.unknown)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallConsent:
    """Calls of one run that were approved one by one; its log says what they are."""

    approval_id: str
    versions: Mapping[str, str]
    calls: frozenset[int]

    @property
    def by(self) -> str:
        """See `Consent`."""
        return f"approval {self.approval_id}"

    def covers(self, issued: Issued, tool: Tool) -> bool:
        """See `Consent`."""
        return issued.call in self.calls and _is_version(self.versions, issued, tool)


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantConsent:
    """A remembered approval, in a run of ``capability_id``.

    Whether it has expired or was revoked is for those to know who have a clock and the store.
    """

    grant: Grant
    capability_id: str | None

    @property
    def by(self) -> str:
        """See `Consent`."""
        return f"grant {self.grant.id}"

    def covers(self, issued: Issued, tool: Tool) -> bool:
        """See `Consent`."""
        arguments = parsed(issued.arguments)
        return tool.id == issued.tool and reaches(
            self.grant.scope,
            issued.tool,
            arguments if isinstance(arguments, dict) else {},
            self.capability_id,
        )


@dataclass(frozen=True, slots=True)
class Consents:
    """All that was agreed to for one run; the first that covers a call is named for it."""

    consents: tuple[Consent, ...] = ()

    def covering(self, issued: Issued, tool: Tool) -> str | None:
        """What covers the call; None: nothing does."""
        return next((each.by for each in self.consents if each.covers(issued, tool)), None)

    def covers(self, issued: Issued, tool: Tool) -> bool:
        """Whether the call may go."""
        return is_capability(issued.tool) or self.covering(issued, tool) is not None

    def within(self, issued: Issued, source_hash: str) -> "Consents":
        """What holds in the run that a capability call starts, before anybody is asked for it."""
        plans = (c.within(issued, source_hash) for c in self.consents if isinstance(c, PlanConsent))
        return Consents(tuple(plan for plan in plans if plan is not None))

    def and_also(self, more: Iterable[Consent]) -> "Consents":
        """These, and more."""
        return Consents((*self.consents, *more))


NOTHING: Final = Consents()
"""Nobody has agreed to anything."""


def of_approval(approval: Approval, plan: Plan) -> Consent:
    """What a granted approval covers in its run, whose plan this is."""
    versions = {version.tool: version.schema_hash for version in approval.tools}
    if approval.calls:
        return CallConsent(
            approval_id=approval.id, versions=versions, calls=frozenset(approval.calls)
        )
    return PlanConsent(
        approval_id=approval.id,
        versions=versions,
        program=plan.program,
        callees={program.source_hash: program for program in plan.capabilities.values()},
    )


def version_of(tool_id: str, tool: Tool | None) -> ToolVersion:
    """A tool as it is described now; one that nobody describes has no hash."""
    return ToolVersion(tool=tool_id, schema_hash="" if tool is None else tool.schema_hash())


def reaches(
    scope: GrantScope, tool_id: str, arguments: Mapping[str, Any], capability_id: str | None
) -> bool:
    """Whether a call lies within the scope of a grant."""
    if scope.capability_id is not None and scope.capability_id != capability_id:
        return False
    return matches(scope.tool, tool_id) and all(
        name in arguments and fits(wanted, arguments[name])
        for name, wanted in scope.arguments.items()
    )


def reaches_planned(scope: GrantScope, call: PlannedCall, capability_id: str | None) -> bool:
    """Whether all that a call may send lies within the scope: only what is certain counts."""
    certain = {
        name: argument.value
        for name, argument in call.arguments.items()
        if name != SPREAD and argument.value is not msgspec.UNSET
    }
    return reaches(scope, call.tool, certain, capability_id)


def fits(wanted: Any, value: Any) -> bool:  # noqa: ANN401  # JSON
    """Whether a value is the one that a grant names, or is matched by its ``*`` and ``?``.

    A text that climbs (``/tmp/../etc``) is only matched by itself: a pattern of paths would
    mean nothing otherwise.
    """
    if same_json(wanted, value):
        return True
    if not isinstance(wanted, str) or not isinstance(value, str):
        return False
    return matches(wanted, value) and not _climbs(value)


def _climbs(text: str) -> bool:
    return _PARENT in text.replace("\\", "/").split("/")


def _is_version(versions: Mapping[str, str], issued: Issued, tool: Tool) -> bool:
    known = versions.get(issued.tool)
    return known is not None and tool.id == issued.tool and known == tool.schema_hash()


def _is_definite(call: PlannedCall) -> bool:
    return SPREAD not in call.arguments and all(
        argument.value is not msgspec.UNSET for argument in call.arguments.values()
    )


def _as_planned(call: PlannedCall, issued: Issued) -> bool:
    """Whether arguments are what the plan says, as far as it says it."""
    sent = parsed(issued.arguments)
    if not isinstance(sent, dict):  # which names it sends was open, so a person saw that
        return SPREAD in call.arguments
    if SPREAD not in call.arguments and not sent.keys() <= call.arguments.keys():
        return False
    return all(
        _is_sent(name, argument, sent)
        for name, argument in call.arguments.items()
        if name != SPREAD
    )


def _is_sent(name: str, argument: PlannedArgument, sent: Mapping[str, Any]) -> bool:
    if argument.value is msgspec.UNSET:
        return True
    return name in sent and same_json(argument.value, sent[name])
