"""A data set as it stands in a folder: tools, workflows, and what else the set has.

The records of the format that `docs/reference/datasets.md` describes.  Texts are third-party
data: they are compared and counted, never followed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

TRAIN = "train"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One row of ``tools.parquet``."""

    id: str
    server: str
    name: str
    description: str = ""
    input_schema: Mapping[str, Any] | None = None
    output_schema: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """One row of ``workflows.parquet``: an intent and what served it.

    Invariant: ``edges`` are pairs of different positions in ``nodes``.
    """

    id: str
    intent: str
    nodes: tuple[str, ...]
    """Ids of tools in topological order; a tool may come twice."""
    edges: tuple[tuple[int, int], ...] = ()
    split: str = TRAIN
    """``train``, ``dev`` or what begins with ``test``; sets may have others."""
    description: str | None = None
    """An independent paraphrase of the intent, where the set has one (n8n)."""
    notes: str | None = None
    node_names: tuple[str, ...] = ()
    """What the author called each node (n8n)."""
    main_tool: str | None = None
    """The tool that was asked for; the others are what it depends on (toollinkos)."""

    @property
    def links(self) -> tuple[tuple[str, str], ...]:
        """The edges as pairs of tools."""
        return tuple((self.nodes[a], self.nodes[b]) for a, b in self.edges)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One row of ``executions.parquet``: a recorded call."""

    episode_id: str
    step: int
    tool_id: str
    arguments: Mapping[str, Any] | None = None
    ok: bool | None = None
    """None where the source does not tell."""
    result: Any = None
    """What the set keeps of the answer (``result_first`` or ``response_head``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """One row of ``episodes.parquet``: a recorded run."""

    id: str
    workflow_id: str | None
    intent: str
    reward: float | None = None
    n_errors: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency:
    """One row of ``dependencies.parquet``: the consumer needs what the provider gives."""

    provider: str
    consumer: str
    type: str
    parameter: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A folder's records.

    Invariant: ids of tools and of workflows are unique; every workflow's nodes are tools unless
    ``unknown_tools`` names them; dependencies name tools.
    """

    name: str
    tools: tuple[Tool, ...]
    workflows: tuple[Workflow, ...] = ()
    calls: tuple[Call, ...] = ()
    """By episode, then step."""
    episodes: tuple[Episode, ...] = ()
    dependencies: tuple[Dependency, ...] = ()
    unknown_tools: frozenset[str] = field(default_factory=frozenset)

    def split(self, *names: str) -> tuple[Workflow, ...]:
        """The workflows of these splits, in the order of the file."""
        return tuple(workflow for workflow in self.workflows if workflow.split in names)
