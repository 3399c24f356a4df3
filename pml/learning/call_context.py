"""What is known of a call before it is made, as features for `pml.learning.probit` (LE-4, SP-7).

From the general to the particular: all calls, the server, the words of the tool's name (so that
a tool never called is not quite unknown), the tool; then what this run has seen (did the same
tool fail, with the same arguments?).  Arguments are compared within the run and not kept: what
they look like brought nothing on either set in experiments/005-call-outcomes.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pml.learning.verdicts import Verdict

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_MOST = 3
"""Counts above it are one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFacts:
    """What is known of a tool without calling it."""

    id: str
    server: str
    name: str
    known: bool = True
    """Whether the catalog has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastCall:
    """An earlier call of the same run."""

    tool: ToolFacts
    arguments: Mapping[str, Any] | None
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class CallContext:
    """A call that is about to be made."""

    tool: ToolFacts
    arguments: Mapping[str, Any] | None
    before: Sequence[PastCall] = ()
    """Of the same run, oldest first."""


def features(context: CallContext) -> tuple[str, ...]:
    """Different names of what the call has; each begins with its group and a colon."""
    parts = (tool_features(context), run_features(context))
    return tuple(dict.fromkeys(name for part in parts for name in part))


def tool_features(context: CallContext) -> Iterator[str]:
    """Which tool it is."""
    tool = context.tool
    yield "all:"
    yield f"server:{tool.server}"
    yield f"tool:{tool.id}"
    if not tool.known:
        yield "unknown:"
    for word in _WORD.findall(tool.name):
        yield f"word:{word.lower()}"


def run_features(context: CallContext) -> Iterator[str]:
    """What the run has done before."""
    tool, told = context.tool, _told(context.before)
    same = [call for call in told if call.tool.id == tool.id]
    others = [call for call in told if call.tool.id != tool.id]
    neighbours = [call for call in others if call.tool.server == tool.server]
    foreign = [call for call in others if call.tool.server != tool.server]
    yield f"same:{_last(same)}"
    yield f"tool-same:{tool.id}:{_last(same)}"
    yield f"neighbour:{_last(neighbours)}"
    yield f"foreign:{_last(foreign)}"
    failed = [call for call in told if call.verdict is Verdict.FAILURE]
    yield f"failures:{min(len(failed), _MOST)}"
    if same and same[-1].verdict is Verdict.FAILURE:
        yield f"again:{same[-1].arguments == context.arguments}"
    yield f"previous:{context.before[-1].tool.id if context.before else ''}"


def _told(calls: Sequence[PastCall]) -> list[PastCall]:
    return [call for call in calls if call.verdict is not Verdict.UNINFORMATIVE]


def _last(calls: Sequence[PastCall]) -> str:
    return calls[-1].verdict.value if calls else ""
