"""How new a tool's server is to past intents, by slot of the index.

A past intent votes for the tools that served it.  That none votes for a tool says something only
if past intents could have used its server.  They could not while it was not there, so a server that
none has used is new, and becomes known with the first few.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SETTLED = 5
"""Past intents that used a server after which nothing of it is new.  With the first already, its
other tools would lose what they were found by (docs/explanation/discovery.md)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTools:
    """Which tools are new; in the order of slots.  Not to be written to."""

    new: NDArray[np.int64]
    """Slots of tools that are new at all."""
    newness: NDArray[np.float64]
    """Of each of these, in (0, 1]; 1 where no past intent has used its server."""
    used: NDArray[np.int64]
    """Slots of tools that are not altogether new; the same tool may be in both."""


class Newness:
    """Servers of tools, and how many past intents used them.

    Invariant: a server's count is the sum over the capabilities that are there and use it.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        """Of servers; never given to another."""
        self._served = array("q")
        """Past intents, by a server's number."""
        self._server_of = array("q")
        """By slot, the number of a tool's server; -1 where there is no tool."""
        self._counted: dict[int, tuple[frozenset[int], int]] = {}
        """By slot of a capability, its servers and what was counted for each."""
        self._tools: NewTools | None = None
        """The answer, until something changes."""

    def put_tool(self, slot: int, server: str | None) -> None:
        """Make the slot a tool of a server; None where nobody told which."""
        self.forget(slot)
        if server is not None:
            self._server_of[slot] = self._number(server)

    def put_capability(self, slot: int, servers: Sequence[str], served: int) -> None:
        """Make the slot a capability that served so many past intents by these servers."""
        self.forget(slot)
        counted = frozenset(map(self._number, servers)), served
        self._count(*counted)
        self._counted[slot] = counted

    def forget(self, slot: int) -> None:
        """Empty a slot."""
        missing = slot + 1 - len(self._server_of)
        self._server_of.extend([-1] * max(missing, 0))
        self._server_of[slot] = -1
        numbers, served = self._counted.pop(slot, (frozenset[int](), 0))
        self._count(numbers, -served)

    def tools(self) -> NewTools:
        """Those of which a server was told."""
        if self._tools is None:
            by_number = np.maximum(0.0, 1 - np.array(self._served, np.int64) / SETTLED)
            server_of = np.array(self._server_of, np.int64)
            told = np.flatnonzero(server_of >= 0)
            newness = by_number[server_of[told]]
            self._tools = NewTools(
                new=told[newness > 0], newness=newness[newness > 0], used=told[newness < 1]
            )
        return self._tools

    def _number(self, server: str) -> int:
        number = self._numbers.setdefault(server, len(self._numbers))
        if number == len(self._served):
            self._served.append(0)
        return number

    def _count(self, numbers: frozenset[int], served: int) -> None:
        for number in numbers:
            self._served[number] += served
        self._tools = None
