"""Traces out of a store into a folder, and out of a folder into a store (RW-5).

However many there are, one batch is in memory.  What is imported is kept apart from own traces:
nothing learns from it, finds it or deletes it unless it is asked to.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pml.domain.tools import Tool
from pml.domain.trace import ExecutionTrace
from pml.evaluation.anonymous import KEY_BYTES, Anonymiser
from pml.evaluation.trace_reader import read_tools, read_traces
from pml.evaluation.trace_writer import writing
from pml.store.ports import SomeTraces, Store

BATCH = 200
"""Traces in memory at a time; of 10 KB a value each can be a megabyte."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What an export holds."""

    traces: int
    workflows: int
    tools: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What an import came to."""

    source: str
    traces: int
    """New ones."""
    known: int
    """Those that were there already."""
    tools: int


async def export_own(
    store: Store, folder: Path, *, since_ms: int, limit: int, keep_intents: bool
) -> Exported:
    """Write own traces, the latest ``limit``, without their values.

    The key of the tokens lives as long as this call.

    Raises:
        RequestError: the folder holds something, or cannot be written.
    """
    catalog = await store.tool_schemas.catalog()
    tools = tuple(tool for by_name in catalog.servers.values() for tool in by_name.values())
    chosen = await store.traces.selected(since_ms=since_ms, limit=limit)
    made = Anonymiser(secrets.token_bytes(KEY_BYTES), tools, keep_intents=keep_intents)
    epoch_ms = min((at_ms for at_ms, _ in chosen), default=0)
    # Ties in the order of the ids as an import will know them, so that a second export is equal.
    ordered = sorted(chosen, key=lambda one: (one[0], made.id("trace", one[1])))
    return await _export(
        store.traces,
        folder,
        tools,
        [trace_id for _, trace_id in ordered],
        lambda trace: made.trace(trace, epoch_ms=epoch_ms),
    )


async def export_imported(store: Store, folder: Path, *, limit: int) -> Exported:
    """Write imported traces as they are.

    Raises:
        RequestError: the folder holds something, or cannot be written.
    """
    tools = await store.imports.tools()
    chosen = await store.imports.selected(since_ms=0, limit=limit)
    ids = [trace_id for _, trace_id in chosen]
    return await _export(store.imports, folder, tools, ids, lambda trace: trace)


async def _export(
    traces: SomeTraces,
    folder: Path,
    tools: tuple[Tool, ...],
    ids: list[str],
    told: Callable[[ExecutionTrace], ExecutionTrace],
) -> Exported:
    described = sorted(tools, key=lambda tool: tool.id)
    with writing(folder, described, traces=len(ids)) as writer:
        for start in range(0, len(ids), BATCH):
            writer.add(map(told, await traces.several(ids[start : start + BATCH])))
        return Exported(traces=writer.written, workflows=writer.workflows, tools=len(described))


async def import_all(store: Store, folder: Path, *, source: str, now_ms: int) -> Imported:
    """Keep the traces of an export under a name.

    All of it is checked before anything is written.  It is written in batches; after a crash in
    between the same import again adds what is missing.

    Raises:
        DatasetError: the folder is no export, is damaged, or holds what is not anonymous.
    """
    tools = read_tools(folder)
    total = sum(map(len, read_traces(folder, tools)))
    await store.imports.add(source, tools=tools, traces=(), now_ms=now_ms)
    new = 0
    for batch in read_traces(folder, tools):
        new += await store.imports.add(source, tools=(), traces=batch, now_ms=now_ms)
    return Imported(source=source, traces=new, known=total - new, tools=len(tools))
