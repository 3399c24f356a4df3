"""What a program would do, for the person who decides whether it may (HIL-2).

One plan covers the whole program: its tools, the arguments of every call as far as they are
known before anything runs, what flows from call to call, and what stays unknown.  It is bound
to the source as sent and to the bound arguments, never to the canonical form (design, section
5, rule 12).
"""

from enum import StrEnum
from typing import Annotated, Any

import msgspec

from pml.domain.permissions import Permission
from pml.domain.record import Count, Ordinal, Record
from pml.domain.structure import CallSite, FieldFlow, NodeId


class PlannedArgument(Record, frozen=True, kw_only=True):
    """What is known of one argument: its value, or what it will be made of."""

    value: Any | msgspec.UnsetType = msgspec.UNSET
    """There exactly when the call will send this value and no other."""
    default: Any | msgspec.UnsetType = msgspec.UNSET
    """Sent unless the caller gives the parameter; only inside capabilities."""
    expression: str = ""
    """The source text where the value is not known yet."""
    calls: tuple[CallSite, ...] = ()
    """Whose results the value is made of."""
    parameters: tuple[str, ...] = ()
    """Of the program, that the value is or is made of."""


class Condition(Record, frozen=True, kw_only=True):
    """An outcome that a decision must have for a call to be reached."""

    node: NodeId
    condition: str
    """As the code says it; ``catch`` for a try with a catch."""
    outcome: str


class PlannedCall(Record, frozen=True, kw_only=True):
    """One call site; whether it runs, and how often, is known as far as ``when`` and ``loops`` say.

    Both are what is certain: a call without conditions need not run (an error may come
    first), and one outside loops may run again if its function is called again.
    """

    id: CallSite
    tool: str
    """``server:tool``, ``capabilities:name``, or ``*`` where it is known only when it runs."""
    arguments: dict[str, PlannedArgument] = {}  # noqa: RUF012
    when: tuple[Condition, ...] = ()
    loops: tuple[str, ...] = ()
    """Headers of the loops that may run it many times, outermost first."""
    layer: Count = 0
    line: Ordinal = 1


class PlannedFlow(Record, frozen=True, kw_only=True):
    """A result that flows into the arguments of a later call."""

    source: CallSite = msgspec.field(name="from")
    target: CallSite = msgspec.field(name="to")
    fields: tuple[FieldFlow, ...] = ()


class UnknownKind(StrEnum):
    """What is not known before a program runs."""

    TOOL = "tool"
    VALUE = "value"
    NAMES = "names"
    BRANCH = "branch"
    TIMES = "times"
    FLOW = "flow"


class Unknown(Record, frozen=True, kw_only=True):
    """One thing that stays unknown until the program runs."""

    kind: UnknownKind
    node: NodeId | None = None
    """None where no place in the source can be named."""
    message: str


class PlannedProgram(Record, frozen=True, kw_only=True):
    """What one program does; the submitted one, or a capability that it calls."""

    source_hash: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
    """SHA-256 of the source as sent."""
    calls: tuple[PlannedCall, ...] = ()
    """In source order."""
    flows: tuple[PlannedFlow, ...] = ()
    unknown: tuple[Unknown, ...] = ()


class Plan(Record, frozen=True, kw_only=True):
    """All that a person is asked to agree to at once."""

    program: PlannedProgram
    arguments: dict[str, Any] = {}  # noqa: RUF012
    """The bound arguments, those of lifted literals included."""
    tools: tuple[Permission, ...] = ()
    """Every tool that may be called, through capabilities too, each once; ``*`` among them if
    not all can be named."""
    capabilities: dict[str, PlannedProgram] = {}  # noqa: RUF012
    """What the capabilities that it calls do in turn, by their names, each once."""
