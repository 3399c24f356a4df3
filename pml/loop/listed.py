"""What servers say that they offer, beside what was kept of it.

The store knows more of a tool than its server says: what results showed, and whether somebody
has accepted the tool as it is described (HIL-5).  Who asks a server gets both.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from pml.domain.tools import Tool, changes_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """The tools of some servers."""

    tools: Mapping[str, Mapping[str, Tool]]
    unavailable: Mapping[str, str]
    """Servers that nobody could ask, and why."""


def all_as_kept(said: Iterable[Tool], kept: Mapping[str, Tool]) -> dict[str, Tool]:
    """What a server just said of its tools, with what is kept of them, by name."""
    return {tool.name: as_kept(tool, kept.get(tool.name)) for tool in said}


def as_kept(said: Tool, kept: Tool | None) -> Tool:
    """A tool as its server just described it, with what is kept of it.

    One that the store knows otherwise is quarantined: nobody can have accepted it.
    """
    if kept is None:
        return said
    changed = changes_of(kept, said)
    return msgspec.structs.replace(said, changed=changed) if changed else kept
