"""What analysis said of sources that were seen before: one parse per source, not per request.

An answer holds for a source as long as the tools that it names are what they were; a source
with errors is analysed again each time, since a tool that it misses may be there by then.
"""

import hashlib
from collections import OrderedDict
from dataclasses import dataclass, field

from pml.analysis.analyse import References
from pml.domain.capability import CAPABILITY_SERVER
from pml.domain.program import Program
from pml.domain.structure import CapabilityCall, Task
from pml.domain.tools import Catalog, Tool

SOURCES = 512
SOURCE_BYTES = 4_000_000
"""Remembered together; what was asked for longest ago goes first."""


@dataclass(slots=True)
class _Known:
    references: References
    size: int
    program: Program | None = None
    tools: dict[str, Tool | None] = field(default_factory=dict)
    """Those that the program calls, as they were when it was analysed."""


class Analysed:
    """Remembers the analysis of sources.

    Invariant: at most `SOURCES` of them with `SOURCE_BYTES` together.  Not for several threads.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, _Known] = OrderedDict()
        self._bytes = 0

    def references(self, source: str) -> References | None:
        """What the source names; None if it is not remembered."""
        key = _key(source)
        known = self._known.get(key)
        if known is None:
            return None
        self._known.move_to_end(key)
        return known.references

    def program(self, source: str, catalog: Catalog) -> Program | None:
        """The source analysed; None if it is not remembered or a tool of it has changed."""
        known = self._known.get(_key(source))
        if known is None or known.program is None:
            return None
        same = all(catalog.find(name) == tool for name, tool in known.tools.items())
        return known.program if same else None

    def put(self, source: str, references: References) -> None:
        """Remember what a source names."""
        key = _key(source)
        if key in self._known:
            return
        size = len(source.encode("utf-8", "replace"))
        self._known[key] = _Known(references, size)
        self._bytes += size
        while len(self._known) > SOURCES or self._bytes > SOURCE_BYTES:
            self._bytes -= self._known.popitem(last=False)[1].size

    def put_program(self, program: Program, catalog: Catalog, *, source: str) -> None:
        """Remember an analysis without errors, of a source whose references are remembered."""
        known = self._known.get(_key(source))
        if known is not None and not program.errors:
            known.program = program
            known.tools = {name: catalog.find(name) for name in _called(program)}


def _called(program: Program) -> set[str]:
    found = set()
    for node in program.structure.nodes:
        if isinstance(node, Task):
            found.add(node.tool)
        elif isinstance(node, CapabilityCall):
            found.add(f"{CAPABILITY_SERVER}:{node.name}")
    return found


def _key(source: str) -> bytes:
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).digest()
