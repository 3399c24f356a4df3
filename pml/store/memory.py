"""The store without a database: the twin that the contract tests hold against PostgreSQL.

For tests, and for trying things out; nothing outlives the process.  Records pass through
their JSON form, so that what comes back is what a database would give back.

Invariant: no method awaits, so each is one transaction by construction.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

from pml.domain.limits import Limits
from pml.domain.record import JsonText, Record, decode, encode
from pml.domain.run import NEXT_STATES, LogRecord, Run, RunProgram, RunState
from pml.domain.tools import Catalog, Tool
from pml.domain.trace import DependencyType, ExecutionTrace, ToolDependency
from pml.errors import RunStateError
from pml.store.messages import (
    check_page,
    check_trace,
    log_gap,
    no_capability,
    no_program,
    no_result,
    no_run,
    no_trace,
    run_exists,
)
from pml.store.ports import ResultPage, Store
from pml.store.printable import printable

_R = TypeVar("_R", bound=Record)
_EDGE_SOURCES = ("template", "inferred", "observed")
"""From weak evidence to strong; an edge keeps the strongest it ever had."""


def _stored(record: _R) -> _R:
    return decode(type(record), encode(record))


@dataclass(slots=True)
class _Result:
    text: JsonText | None
    expires_at_ms: int


@dataclass(slots=True)
class _Data:
    user_id: str
    servers: dict[str, dict[str, Tool]] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)
    programs: dict[str, RunProgram] = field(default_factory=dict)
    logs: dict[str, list[LogRecord]] = field(default_factory=dict)
    log_expiry: dict[str, int] = field(default_factory=dict)
    traces: dict[str, ExecutionTrace] = field(default_factory=dict)
    results: dict[tuple[str, str], _Result] = field(default_factory=dict)
    dependencies: dict[tuple[str, str, DependencyType], ToolDependency] = field(
        default_factory=dict
    )

    def run(self, run_id: str) -> Run:
        if run_id not in self.runs:
            raise no_run(run_id)
        return self.runs[run_id]


def memory_store(user_id: str = "local") -> Store:
    """An empty store."""
    data = _Data(user_id)
    runs = _Runs(data)
    return Store(
        tool_schemas=_ToolSchemas(data),
        runs=runs,
        run_log=_RunLog(data),
        traces=_Traces(data, runs),
        task_results=_TaskResults(data),
        tool_dependencies=_ToolDependencies(data),
    )


class _ToolSchemas:
    def __init__(self, data: _Data) -> None:
        self._data = data

    async def replace(self, server: str, tools: Sequence[Tool]) -> None:
        kept: dict[str, Tool] = {}
        for tool in tools:
            kept.pop(tool.name, None)
            kept[tool.name] = _stored(
                msgspec.structs.replace(
                    tool, server=server, description=printable(tool.description)
                )
            )
        self._data.servers[server] = kept

    async def catalog(self) -> Catalog:
        return Catalog({server: tools.values() for server, tools in self._data.servers.items()})


class _Runs:
    def __init__(self, data: _Data) -> None:
        self._data = data

    async def create(self, run: Run, program: RunProgram) -> None:
        if run.id in self._data.runs:
            raise run_exists(run.id)
        self._data.runs[run.id] = msgspec.structs.replace(
            run,
            user_id=self._data.user_id,
            intent=printable(run.intent),
            reason=printable(run.reason),
        )
        self._data.programs[run.id] = _stored(program)

    async def get(self, run_id: str) -> Run:
        return self._data.run(run_id)

    async def program(self, run_id: str) -> RunProgram:
        self._data.run(run_id)
        if run_id not in self._data.programs:
            raise no_program(run_id)
        return self._data.programs[run_id]

    async def recent(self, limit: int, state: RunState | None = None) -> tuple[Run, ...]:
        runs = [run for run in self._data.runs.values() if state in (None, run.state)]
        runs.sort(key=lambda run: (-run.created_at_ms, run.id))
        return tuple(runs[:limit])

    async def move(
        self,
        run_id: str,
        to: RunState,
        *,
        reason: str = "",
        now_ms: int,
        owner: str | None = None,
    ) -> Run:
        return self.moved(
            run_id, to, reason, now_ms, now_ms + Limits().result_ttl_s * 1000, owner=owner
        )

    def moved(
        self,
        run_id: str,
        to: RunState,
        reason: str,
        now_ms: int,
        log_expires_at_ms: int,
        *,
        owner: str | None = None,
    ) -> Run:
        run = self._data.run(run_id)
        if to not in NEXT_STATES[run.state]:
            raise RunStateError(run_id, run.state, to)
        moved = msgspec.structs.replace(
            run,
            state=to,
            reason=printable(reason),
            updated_at_ms=now_ms,
            owner=run.owner if owner is None else owner,
        )
        self._data.runs[run_id] = moved
        if to.final:
            self._data.log_expiry[run_id] = log_expires_at_ms
        return moved

    async def unfinished_of_others(self, alive: Callable[[str], bool]) -> tuple[Run, ...]:
        running = [run for run in self._data.runs.values() if run.state is RunState.RUNNING]
        running.sort(key=lambda run: (run.created_at_ms, run.id))
        return tuple(run for run in running if not alive(run.owner))


class _RunLog:
    def __init__(self, data: _Data) -> None:
        self._data = data

    async def append(self, run_id: str, records: Sequence[LogRecord]) -> None:
        if not records:
            return
        log = self._data.logs.get(run_id, [])
        expected = range(len(log), len(log) + len(records))
        if run_id not in self._data.programs or [r.seq for r in records] != list(expected):
            raise log_gap(run_id, records)
        self._data.logs[run_id] = [*log, *(_stored(record) for record in records)]

    async def read(self, run_id: str) -> tuple[LogRecord, ...]:
        return tuple(self._data.logs.get(run_id, ()))

    async def delete_expired(self, now_ms: int) -> int:
        over = [run_id for run_id, end in self._data.log_expiry.items() if end <= now_ms]
        for run_id in over:
            self._data.programs.pop(run_id, None)
        return sum(len(self._data.logs.pop(run_id, ())) for run_id in over)


class _Traces:
    def __init__(self, data: _Data, runs: _Runs) -> None:
        self._data = data
        self._runs = runs

    async def finish(
        self,
        run_id: str,
        to: RunState,
        *,
        reason: str,
        now_ms: int,
        trace: ExecutionTrace,
        results: Sequence[tuple[str, JsonText]],
        dependencies: Sequence[ToolDependency],
        result_expires_at_ms: int,
    ) -> None:
        check_trace(run_id, trace)
        if trace.id in self._data.traces:
            return
        if trace.capability_id is not None:
            raise no_capability(trace.capability_id)
        self._runs.moved(run_id, to, reason, now_ms, result_expires_at_ms)
        self._data.traces[trace.id] = self._printable(trace)
        for task_id, text in results:
            self._data.results[run_id, task_id] = _Result(text, result_expires_at_ms)
        for dependency in dependencies:
            self._count(dependency)

    def _printable(self, trace: ExecutionTrace) -> ExecutionTrace:
        error = trace.error_message
        return _stored(
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
        if trace_id not in self._data.traces:
            raise no_trace(trace_id)
        return self._data.traces[trace_id]

    async def of_run(self, run_id: str) -> tuple[ExecutionTrace, ...]:
        traces = [trace for trace in self._data.traces.values() if trace.run_id == run_id]
        return tuple(sorted(traces, key=lambda trace: (trace.executed_at_ms, trace.id)))

    async def recent(self, limit: int) -> tuple[ExecutionTrace, ...]:
        traces = sorted(
            self._data.traces.values(), key=lambda trace: (-trace.executed_at_ms, trace.id)
        )
        return tuple(traces[:limit])


class _TaskResults:
    def __init__(self, data: _Data) -> None:
        self._data = data

    async def page(
        self, run_id: str, task_id: str, *, offset: int, limit: int, now_ms: int
    ) -> ResultPage:
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
        over = [
            result
            for result in self._data.results.values()
            if result.expires_at_ms <= now_ms and result.text is not None
        ]
        for result in over:
            result.text = None
        return len(over)


class _ToolDependencies:
    def __init__(self, data: _Data) -> None:
        self._data = data

    async def all(self) -> tuple[ToolDependency, ...]:
        edges = self._data.dependencies.values()
        return tuple(sorted(edges, key=lambda edge: (edge.source, edge.target, edge.type)))
