"""What upstream servers offer, and how followers of changes keep up."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NewType, Protocol

from pml.domain.approval import Quarantined
from pml.domain.tools import Catalog, Tool
from pml.domain.trace import ToolDependency

Mark = NewType("Mark", int)
"""A point in the history of the store; ``changes`` tells what came after it.

What is committed late is not missed: a change may be told twice, never not at all.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolChanges:
    """Tools listed, changed or gone since a mark."""

    mark: Mark
    """Where the next question begins."""
    tools: tuple[Tool, ...]
    gone: tuple[str, ...]
    """Ids of tools that their server no longer lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What results of a tool showed (SA-10)."""

    server: str
    name: str
    schema_hash: str
    """Of the tool that was called."""
    schema: Mapping[str, Any]
    """As `pml.learning.shapes` writes it."""


class ToolSchemas(Protocol):
    """What upstream servers offered when they were last asked."""

    async def replace(self, server: str, tools: Sequence[Tool]) -> None:
        """Make ``tools`` what ``server`` offers; tools that it no longer lists are marked gone.

        Of two tools with one name the last counts.  Capabilities that use a tool that is gone
        or whose schema hash changed, directly or through others, become stale (ST-4).  What
        results showed stays known while the schema hash is the same, whatever ``tools`` says.

        The first listing of a tool accepts it (HIL-5).  One whose schema hash differs from
        what was accepted, also long ago, is quarantined (`Tool.changed`) until it is accepted
        or described as before.
        """

    async def catalog(self, servers: Collection[str] | None = None) -> Catalog:
        """The servers that were ever listed, or those of them that are named, with their tools.

        Tools come in the order of their server's list.
        """

    async def find(self, tool_ids: Collection[str]) -> Mapping[str, Tool]:
        """Those of the tools that are there, by id."""

    async def changes(self, since: Mark | None) -> ToolChanges:
        """What changed since a mark; everything that is there, for None."""

    async def observe(self, observations: Sequence[Observation]) -> None:
        """Add what results showed to what is known of their tools; one of each tool.

        Tools that are not there, have changed since, or declare an output schema stay as
        they are.
        """

    async def quarantined(self) -> tuple[Quarantined, ...]:
        """Tools that are there and described otherwise than when they were accepted, by id."""

    async def accept(self, tool_id: str, *, schema_hash: str, by: str, now_ms: int) -> Tool:
        """Accept a tool as it is described now; the audit log says so in the same transaction.

        ``schema_hash`` is what the person looked at.  A tool that is not quarantined stays as
        it is.

        Raises:
            NotFoundError: no server lists the tool.
            ApprovalStateError: it is described otherwise than what was looked at.
        """


class ToolDependencies(Protocol):
    """Edges between tools, counted over traces (ST-3); `Traces.finish` writes them."""

    async def all(self) -> tuple[ToolDependency, ...]:
        """Every edge, by source, target and type."""
