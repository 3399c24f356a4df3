"""Traces, results and edges between tools in memory."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import msgspec

from pml.domain.capability import Literals, PastIntent, normalised_intent
from pml.domain.record import JsonText
from pml.domain.run import RunState
from pml.domain.trace import DependencyType, ExecutionTrace, ToolDependency
from pml.learning.experience import canonical_arguments, teaches
from pml.learning.priority import priority
from pml.store.memory.data import Data, KeptCapability, Result, stored
from pml.store.memory.imports import selected
from pml.store.memory.runs import MemoryRuns
from pml.store.messages import check_page, check_trace, no_capability, no_result, no_trace
from pml.store.ports import NO_CALLEES, ResultPage
from pml.store.printable import printable
from pml.store.staleness import called, callers

_EDGE_SOURCES = ("template", "inferred", "observed")
"""From weak evidence to strong; an edge keeps the strongest it ever had."""


class MemoryTraces:
    """By id."""

    def __init__(self, data: Data, runs: MemoryRuns) -> None:
        self._data = data
        self._runs = runs

    async def finish(
        self,
        run_id: str,
        to: RunState,
        *,
        reason: str,
        now_ms: int,
        epoch: int,
        trace: ExecutionTrace,
        results: Sequence[tuple[str, JsonText]],
        dependencies: Sequence[ToolDependency],
        result_expires_at_ms: int,
        arguments: JsonText = "{}",
        literals: Literals | None = None,
        callees: Mapping[str, int] = NO_CALLEES,
        tools: Mapping[str, str] | None = None,
    ) -> None:
        """See `Traces.finish`."""
        check_trace(run_id, trace)
        if trace.id in self._data.traces:
            return
        kept = self._capability(trace)
        self._runs.moved(
            run_id,
            to,
            reason=reason,
            now_ms=now_ms,
            epoch=epoch,
            log_expires_at_ms=result_expires_at_ms,
        )
        trace = self._printable(trace)
        if kept is not None:
            surprise = priority(kept.experience.learning, trace)
            trace = msgspec.structs.replace(trace, priority=surprise)
            if teaches(trace):
                was_stale = kept.experience.stale
                outdated = tools is not None and self._outdated(kept.capability.id, tools)
                self._teach(kept, trace, arguments, literals, now_ms)
                if was_stale and outdated:
                    kept.experience = replace(kept.experience, stale=True)
                self._count_callees(kept.capability.id, callees)
        self._data.traces[trace.id] = trace
        for task_id, text in results:
            self._data.results[run_id, task_id] = Result(text, result_expires_at_ms)
        for dependency in dependencies:
            self._count(dependency)

    def _capability(self, trace: ExecutionTrace) -> KeptCapability | None:
        if trace.capability_id is None:
            return None
        if trace.capability_id not in self._data.capabilities:
            raise no_capability(trace.capability_id)
        return self._data.capabilities[trace.capability_id]

    def _teach(
        self,
        kept: KeptCapability,
        trace: ExecutionTrace,
        arguments: JsonText,
        literals: Literals | None,
        now_ms: int,
    ) -> None:
        kept.experience = kept.experience.after(
            trace,
            kept.capability.structure,
            argument_hash=canonical_arguments(arguments),  # nobody reads this memory
            has_parameters=bool(kept.capability.parameters),
        )
        kept.capability = msgspec.structs.replace(kept.capability, updated_at_ms=now_ms)
        key = normalised_intent(trace.intent_text)
        old = kept.intents.get(key)
        kept.intents[key] = PastIntent(
            capability_id=kept.capability.id,
            intent=trace.intent_text if old is None else old.intent,
            success_count=(old.success_count if old else 0) + trace.success,
            failure_count=(old.failure_count if old else 0) + (not trace.success),
            last_success=trace.success,
            last_at_ms=now_ms,
            literals=(literals if trace.success else None) or (old.literals if old else Literals()),
        )
        kept.used_at_ms = now_ms
        kept.changed = self._data.changed()

    def _outdated(self, capability_id: str, known: Mapping[str, str]) -> bool:
        """Whether a tool that it uses, directly or through others, is not what the run knew."""
        patterns = self._data.capabilities
        calls = {one: called(kept.capability.structure) for one, kept in patterns.items()}
        changed = {
            kept.tool.id
            for tools in self._data.servers.values()
            for kept in tools.values()
            if kept.gone or known.get(kept.tool.id) != kept.tool.schema_hash()
        }
        return capability_id in callers(changed, calls)

    def _count_callees(self, source: str, callees: Mapping[str, int]) -> None:
        contains = DependencyType.CONTAINS
        for target, count in callees.items():
            if target not in self._data.capabilities:
                continue
            old = self._data.capability_dependencies.get((source, target))
            self._data.capability_dependencies[source, target] = ToolDependency(
                source=source,
                target=target,
                type=contains,
                edge_source="observed",
                weight=contains.weight,
                count=count + (0 if old is None else old.count),
            )

    def _printable(self, trace: ExecutionTrace) -> ExecutionTrace:
        error = trace.error_message
        return stored(
            msgspec.structs.replace(
                trace,
                user_id=self._data.user_id,
                intent_text=printable(trace.intent_text),
                error_message=None if error is None else printable(error),
            )
        )

    def _count(self, new: ToolDependency) -> None:
        key = (new.source, new.target, new.type)
        old = self._data.dependencies.get(key)
        if old is not None:
            strongest = max(old.edge_source, new.edge_source, key=_EDGE_SOURCES.index)
            new = msgspec.structs.replace(new, count=old.count + new.count, edge_source=strongest)
        self._data.dependencies[key] = new

    async def get(self, trace_id: str) -> ExecutionTrace:
        """See `Traces.get`."""
        if trace_id not in self._data.traces:
            raise no_trace(trace_id)
        return self._data.traces[trace_id]

    async def of_run(self, run_id: str) -> tuple[ExecutionTrace, ...]:
        """See `Traces.of_run`."""
        traces = [trace for trace in self._data.traces.values() if trace.run_id == run_id]
        return tuple(sorted(traces, key=lambda trace: (trace.executed_at_ms, trace.id)))

    async def recent(self, limit: int) -> tuple[ExecutionTrace, ...]:
        """See `Traces.recent`."""
        traces = sorted(
            self._data.traces.values(), key=lambda trace: (-trace.executed_at_ms, trace.id)
        )
        return tuple(traces[:limit])

    async def selected(self, *, since_ms: int, limit: int) -> tuple[tuple[int, str], ...]:
        """See `SomeTraces.selected`."""
        return selected(self._data.traces.values(), since_ms, limit)

    async def several(self, ids: Sequence[str]) -> tuple[ExecutionTrace, ...]:
        """See `SomeTraces.several`."""
        return tuple(self._data.traces[one] for one in ids if one in self._data.traces)


class MemoryTaskResults:
    """By run and task."""

    def __init__(self, data: Data) -> None:
        self._data = data

    async def page(
        self, run_id: str, task_id: str, *, offset: int, limit: int, now_ms: int
    ) -> ResultPage:
        """See `TaskResults.page`."""
        check_page(offset, limit)
        result = self._data.results.get((run_id, task_id))
        if result is None or result.text is None or result.expires_at_ms <= now_ms:
            raise no_result(run_id, task_id, None if result is None else result.expires_at_ms)
        return ResultPage(
            text=result.text[offset : offset + limit],
            offset=offset,
            total_chars=len(result.text),
            expires_at_ms=result.expires_at_ms,
        )

    async def delete_expired(self, now_ms: int) -> int:
        """See `TaskResults.delete_expired`."""
        over = [
            result
            for result in self._data.results.values()
            if result.expires_at_ms <= now_ms and result.text is not None
        ]
        for result in over:
            result.text = None
        return len(over)


class MemoryToolDependencies:
    """By ends and type."""

    def __init__(self, data: Data) -> None:
        self._data = data

    async def all(self) -> tuple[ToolDependency, ...]:
        """See `ToolDependencies.all`."""
        edges = self._data.dependencies.values()
        return tuple(sorted(edges, key=lambda edge: (edge.source, edge.target, edge.type)))
