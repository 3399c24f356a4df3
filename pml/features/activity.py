"""Activity: what runs did with each tool and capability, kept up run by run.

Everything is a sum over runs (counts, decayed uses, sums of argument vectors), so runs may come in
any order and one at a time; what is kept equals what all runs together give.
"""

from dataclasses import dataclass, field
from typing import Any

from pml.features.arguments import ArgumentProfile, argument_pattern, argument_vector
from pml.features.cooccurrence import Cooccurrence
from pml.features.recency import HALF_LIFE_MS, Uses


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSeen:
    """One call of a run; `pml.learning.seen` makes it of a trace."""

    tool: str
    arguments: Any = None
    """JSON; looked at and not kept."""
    success: bool | None = None
    """None where the tool did not answer for itself: the call counts as use only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSeen:
    """One run, as far as features are made of it."""

    at_ms: int
    calls: tuple[CallSeen, ...] = ()
    capability: str | None = None
    """Id, where the run was a capability's."""
    arguments: Any = None
    """Of the run."""
    success: bool | None = None


@dataclass(slots=True, kw_only=True)
class NodeActivity:
    """Of one tool or capability."""

    runs: int = 0
    """That used it."""
    successes: int = 0
    """Calls of a tool, runs of a capability."""
    failures: int = 0
    uses: Uses = field(default_factory=Uses)
    """A run counts once, however often it called."""
    arguments: ArgumentProfile = field(default_factory=ArgumentProfile)

    def count(self, arguments: object, *, success: bool | None) -> None:
        """One call or run that came to ``success``."""
        if success is None:
            return
        self.successes += success
        self.failures += not success
        self.arguments.add(argument_vector(argument_pattern(arguments)), success=success)


class Activity:
    """Of all tools and capabilities.

    Invariant: the order in which runs were added does not matter, up to rounding.
    """

    def __init__(self, half_life_ms: float = HALF_LIFE_MS) -> None:
        self.together = Cooccurrence()
        """Of tools."""
        self.runs = 0
        """Of capabilities."""
        self._half_life_ms = half_life_ms
        self._tools: dict[str, NodeActivity] = {}
        self._capabilities: dict[str, NodeActivity] = {}

    def add(self, run: RunSeen) -> None:
        """Count a run.

        Raises:
            ValueError: an argument is no JSON value.
        """
        used = {call.tool for call in run.calls}
        self.together.add(used)
        for tool in sorted(used):
            self._used(self._tools, tool, run.at_ms)
        for call in run.calls:
            self._tools[call.tool].count(call.arguments, success=call.success)
        if run.capability is not None:
            self.runs += 1
            self._used(self._capabilities, run.capability, run.at_ms)
            self._capabilities[run.capability].count(run.arguments, success=run.success)

    def tool(self, key: str) -> NodeActivity:
        """Empty for one that no run used."""
        return self._tools.get(key) or NodeActivity()

    def capability(self, key: str) -> NodeActivity:
        """Empty for one that never ran."""
        return self._capabilities.get(key) or NodeActivity()

    def _used(self, nodes: dict[str, NodeActivity], key: str, at_ms: int) -> None:
        fresh = NodeActivity(uses=Uses(half_life_ms=self._half_life_ms))
        node = nodes.setdefault(key, fresh)
        node.runs += 1
        node.uses = node.uses.used(at_ms)
