"""What a value stands for on the way from ``mcp`` to a tool (SA-5)."""

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from pml.analysis.globals import CAPABILITIES, MCP
from pml.analysis.kinds import Identified
from pml.analysis.patterns import Into, Path, Step
from pml.domain.capability import CAPABILITY_SERVER
from pml.domain.structure import ANY_TOOL


class Kind(Identified):
    """What a handle is good for; a step into the first three leads to the next."""

    ROOT = "mcp"
    SERVER = "a server"
    TOOL = "a tool"
    CAPABILITIES = "capabilities"
    CAPABILITY = "a capability"


_NEXT = {
    Kind.ROOT: Kind.SERVER,
    Kind.SERVER: Kind.TOOL,
    Kind.CAPABILITIES: Kind.CAPABILITY,
}
CALLABLE = frozenset({Kind.TOOL, Kind.CAPABILITY})


class Handle(Struct, frozen=True, gc=False):
    """What an expression stands for on the way from ``mcp`` to a tool; None is unknown."""

    kind: Kind
    server: str | None = None
    name: str | None = None
    certain: bool = True
    """False where the value may also be something else than a handle."""

    def step(self, key: Step | None) -> "Handle | None":
        """What a property of the handle stands for."""
        if key is Into.REST:
            return self
        kind = _NEXT.get(self.kind)
        if kind is None:
            return None
        text = key if isinstance(key, str) else None
        if kind is Kind.SERVER:
            kind = Kind.CAPABILITIES if text == CAPABILITY_SERVER else kind
            return Handle(kind, server=text, certain=self.certain)
        return Handle(kind, server=self.server, name=text, certain=self.certain)

    @property
    def tool(self) -> str:
        """``server:tool``, ``capabilities:name``, or ``*``."""
        return (
            ANY_TOOL if self.server is None or self.name is None else f"{self.server}:{self.name}"
        )


class Absent:
    """The type of `ABSENT`."""


ABSENT: Final = Absent()
"""Null, undefined or whatever else is falsy: never a handle, and of no use as one."""
Found = Handle | Absent | None
"""None is a value that may be anything."""

ROOTS = {
    MCP: Handle(Kind.ROOT),
    CAPABILITIES: Handle(Kind.CAPABILITIES, server=CAPABILITY_SERVER),
}
_FURTHEST = (Kind.SERVER, Kind.CAPABILITIES, Kind.ROOT)


def along(handle: Found, path: Path) -> Found:
    """What lies at a path in a value."""
    for step in path:
        handle = handle.step(step) if isinstance(handle, Handle) else None
    return handle


def merged(values: Iterable[Found]) -> Found:
    """What a value is that may be any of several.

    Of several servers none has a name.  Of several tools each is known where it is chosen, so the
    value is followed no further than there.
    """
    found = {value for value in values if value is not ABSENT}
    handles = [value for value in found if isinstance(value, Handle)]
    if len(handles) == len(found) == 1:
        return handles[0]
    if not handles:
        return None if found else ABSENT
    kinds = {handle.kind for handle in handles}
    if kinds & CALLABLE:
        return None
    kind = next(kind for kind in _FURTHEST if kind in kinds)
    certain = len(handles) == len(found) and len(kinds) == 1
    return Handle(kind, certain=certain and all(handle.certain for handle in handles))
