"""Traces in PostgreSQL (`pml.store.ports.Traces`)."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import psycopg
from psycopg.rows import kwargs_row

from pml.domain.capability import Literals
from pml.domain.record import JsonText, decode, encode
from pml.domain.run import RunState
from pml.domain.trace import BranchDecision, ExecutionTrace, TaskResult, ToolDependency
from pml.learning.experience import canonical_arguments, teaches
from pml.learning.priority import priority
from pml.store.connection import Connection
from pml.store.database import Database
from pml.store.ledger_key import LedgerKey
from pml.store.messages import check_trace, no_run, no_trace
from pml.store.ports import NO_CALLEES
from pml.store.printable import printable
from pml.store.queries import queries
from pml.store.runs import move_run
from pml.store.teaching import argument_text, count_callees, lock, teach

_SQL = queries("traces")


class PostgresTraces:
    """One row per trace; JSON columns hold what the record's JSON holds."""

    def __init__(self, database: Database, key: LedgerKey) -> None:
        self._database = database
        self._key = key

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
        async with self._database.connection() as connection, connection.transaction():
            capability = None
            if trace.capability_id is not None:
                capability = await lock(connection, trace.capability_id)
                surprise = priority(capability.experience.learning, trace)
                trace = msgspec.structs.replace(trace, priority=surprise)
            # Before all else, because it tells a repetition, and makes a second one wait for
            # the first.
            if not await _insert(connection, trace):
                return
            if capability is not None and teaches(trace):
                known_as = argument_text(capability.id, canonical_arguments(arguments))
                await teach(
                    connection,
                    capability,
                    trace,
                    argument_hash=self._key.hmac(known_as),
                    literals=literals,
                    now_ms=now_ms,
                    tools=tools,
                )
                await count_callees(connection, capability.id, callees)
            await move_run(
                connection,
                run_id,
                to,
                reason=reason,
                now_ms=now_ms,
                epoch=epoch,
                log_expires_at_ms=result_expires_at_ms,
            )
            await _write_results(connection, run_id, results, result_expires_at_ms)
            await _count(connection, dependencies)

    async def get(self, trace_id: str) -> ExecutionTrace:
        """See `Traces.get`."""
        traces = await self._select("get", id=printable(trace_id))
        if not traces:
            raise no_trace(trace_id)
        return traces[0]

    async def of_run(self, run_id: str) -> tuple[ExecutionTrace, ...]:
        """See `Traces.of_run`."""
        return await self._select("of_run", run_id=printable(run_id))

    async def recent(self, limit: int) -> tuple[ExecutionTrace, ...]:
        """See `Traces.recent`."""
        return await self._select("recent", limit=limit)

    async def selected(self, *, since_ms: int, limit: int) -> tuple[tuple[int, str], ...]:
        """See `SomeTraces.selected`."""
        async with self._database.connection() as connection:
            return await select_times(connection, _SQL["selected"], since_ms, limit)

    async def several(self, ids: Sequence[str]) -> tuple[ExecutionTrace, ...]:
        """See `SomeTraces.several`."""
        return await self._select("several", ids=[*map(printable, ids)])

    async def _select(self, query: str, **parameters: object) -> tuple[ExecutionTrace, ...]:
        async with self._database.connection() as connection:
            cursor = connection.cursor(row_factory=kwargs_row(_trace))
            await cursor.execute(_SQL[query], parameters)
            return tuple(await cursor.fetchall())


async def select_times(
    connection: Connection, query: bytes, since_ms: int, limit: int
) -> tuple[tuple[int, str], ...]:
    """What a query of the latest says, the earliest first."""
    cursor = await connection.execute(query, {"since_ms": since_ms, "limit": limit})
    rows = await cursor.fetchall()
    return tuple(sorted((int(str(ms)), str(trace_id)) for ms, trace_id in rows))


async def _insert(connection: Connection, trace: ExecutionTrace) -> bool:
    """False if the trace is there already."""
    row = {name: getattr(trace, name) for name in trace.__struct_fields__}
    error = trace.error_message
    row |= {
        "intent_text": printable(trace.intent_text),
        "error_message": None if error is None else printable(error),
        "initial_context": _json(trace.initial_context),
        "executed_path": list(trace.executed_path),
        "decisions": _json(trace.decisions),
        "task_results": _json(trace.task_results),
    }
    try:
        cursor = await connection.execute(_SQL["insert"], row)
    except psycopg.errors.ForeignKeyViolation as violation:
        raise no_run(trace.run_id) from violation
    return cursor.rowcount == 1


async def _write_results(
    connection: Connection,
    run_id: str,
    results: Sequence[tuple[str, JsonText]],
    expires_at_ms: int,
) -> None:
    rows = [
        {"run_id": run_id, "task_id": task_id, "result": text, "expires_at_ms": expires_at_ms}
        for task_id, text in results
    ]
    await connection.cursor().executemany(_SQL["insert_result"], rows)


async def _count(connection: Connection, dependencies: Sequence[ToolDependency]) -> None:
    rows = [
        {name: getattr(dependency, name) for name in dependency.__struct_fields__}
        for dependency in dependencies
    ]
    # In one order everywhere, so that two runs that end together do not wait in a circle.
    rows.sort(key=lambda row: (row["source"], row["target"], row["type"]))
    await connection.cursor().executemany(_SQL["count_dependency"], rows)


def _json(value: object) -> str:
    return encode(value).decode()


def _trace(
    initial_context: str,
    executed_path: list[str],
    decisions: str,
    task_results: str,
    **columns: Any,  # noqa: ANN401  # as the query names them
) -> ExecutionTrace:
    return ExecutionTrace(
        initial_context=msgspec.json.decode(initial_context),
        executed_path=tuple(executed_path),
        decisions=decode(tuple[BranchDecision, ...], decisions),
        task_results=decode(tuple[TaskResult, ...], task_results),
        **columns,
    )
