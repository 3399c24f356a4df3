"""Which server is called after which, as evidence of the next tool (`pml.discovery.next_tool`)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from pml.learning.continuations import Continuations, past_places

_ORDER = 2
_Row = Float64[np.ndarray, " tools"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedTool:
    """A tool as evidence sees it."""

    id: str
    server: str
    text: str


class Servers:
    """Which server comes after which, and how much each of its tools is called."""

    def __init__(
        self,
        tools: Sequence[RankedTool],
        sequences: Sequence[Sequence[str]],
        origins: Sequence[int],
    ) -> None:
        number = {server: at for at, server in enumerate(dict.fromkeys(t.server for t in tools))}
        self._of_id = {tool.id: tool.server for tool in tools}
        self._of = np.array([number[tool.server] for tool in tools], dtype=np.int64)
        self._number = number
        by_server = [self._named(sequence) for sequence in sequences]
        places = past_places(by_server, origins, number)
        self._continuations = Continuations(places, len(number), order=_ORDER)
        self._shares = self._shared(tools, sequences)

    def _named(self, sequence: Sequence[str]) -> tuple[str, ...]:
        return tuple(self._of_id.get(tool, tool) for tool in sequence)

    def _shared(self, tools: Sequence[RankedTool], sequences: Sequence[Sequence[str]]) -> _Row:
        """Of its server's calls, each tool's share; one that was never called counts as once."""
        place = {tool.id: at for at, tool in enumerate(tools)}
        calls = [place[tool] for sequence in sequences for tool in sequence if tool in place]
        counts = np.bincount(np.array(calls, dtype=np.int64), minlength=len(tools)) + 1.0
        totals = np.bincount(self._of, weights=counts, minlength=len(self._number))
        return np.asarray(counts / totals[self._of])

    def chances(self, prefix: Sequence[str]) -> _Row:
        """Of each tool: that its server comes next, times its share of it."""
        chances = self._continuations.chances(self._named(prefix))[-1]
        return np.asarray(chances[self._of] * self._shares)

    def shared_with(self, tool: str) -> _Row:
        """1 for the tools of the tool's server."""
        server = self._number.get(self._of_id.get(tool, ""), -1)
        return np.asarray(self._of == server, dtype=np.float64)
