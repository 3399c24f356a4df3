"""Traces of others in memory."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pml.domain.tools import Tool
from pml.domain.trace import ExecutionTrace
from pml.store.memory.data import stored
from pml.store.ports import ImportedSource
from pml.store.printable import printable


@dataclass(frozen=True, slots=True)
class _Kept:
    source: str
    imported_at_ms: int
    trace: ExecutionTrace


class MemoryImports:
    """Traces by id; tools by their id and source."""

    def __init__(self) -> None:
        self._traces: dict[str, _Kept] = {}
        self._tools: dict[tuple[str, str], Tool] = {}

    async def add(
        self,
        source: str,
        *,
        tools: Sequence[Tool],
        traces: Sequence[ExecutionTrace],
        now_ms: int,
    ) -> int:
        """See `Imports.add`."""
        name, before = printable(source), len(self._traces)
        for tool in tools:
            self._tools[printable(tool.id), name] = stored(tool)
        for trace in traces:
            self._traces.setdefault(printable(trace.id), _Kept(name, now_ms, stored(trace)))
        return len(self._traces) - before

    async def sources(self) -> tuple[ImportedSource, ...]:
        """See `Imports.sources`."""
        by_name: dict[str, list[int]] = {}
        for kept in self._traces.values():
            by_name.setdefault(kept.source, []).append(kept.imported_at_ms)
        return tuple(
            ImportedSource(name=name, traces=len(times), imported_at_ms=max(times))
            for name, times in sorted(by_name.items())
        )

    async def tools(self) -> tuple[Tool, ...]:
        """See `Imports.tools`."""
        first: dict[str, Tool] = {}
        for (tool_id, _), tool in sorted(self._tools.items(), key=lambda item: item[0]):
            first.setdefault(tool_id, tool)
        return tuple(first.values())

    async def selected(self, *, since_ms: int, limit: int) -> tuple[tuple[int, str], ...]:
        """See `SomeTraces.selected`."""
        return selected((kept.trace for kept in self._traces.values()), since_ms, limit)

    async def several(self, ids: Sequence[str]) -> tuple[ExecutionTrace, ...]:
        """See `SomeTraces.several`."""
        return tuple(self._traces[one].trace for one in ids if one in self._traces)

    async def forget(self, source: str) -> int:
        """See `Imports.forget`."""
        name, before = printable(source), len(self._traces)
        self._tools = {key: tool for key, tool in self._tools.items() if key[1] != name}
        self._traces = {one: kept for one, kept in self._traces.items() if kept.source != name}
        return before - len(self._traces)


def selected(
    traces: Iterable[ExecutionTrace], since_ms: int, limit: int
) -> tuple[tuple[int, str], ...]:
    """As `SomeTraces.selected`."""
    found = ((one.executed_at_ms, one.id) for one in traces if one.executed_at_ms >= since_ms)
    latest = sorted(found, key=lambda one: (-one[0], one[1]))[:limit]
    return tuple(sorted(latest))
