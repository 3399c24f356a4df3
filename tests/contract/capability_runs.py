"""A capability that is kept, and one run of it."""

from collections.abc import Mapping
from typing import Any

from pml.domain.capability import Capability
from pml.domain.run import RunState
from pml.store.ports import NO_CALLEES, Store
from tests.store.nouns import (
    a_capability,
    a_program,
    a_run,
    a_trace,
)


async def kept(store: Store, name: str = "read_log", **fields: object) -> Capability:
    return await store.capabilities.keep(a_capability(name, **fields), now_ms=1_000)


async def ran(
    store: Store,
    capability_id: str | None,
    number: int = 1,
    *,
    state: RunState = RunState.SUCCESS,
    arguments: str = "{}",
    now_ms: int = 2_000,
    tools: Mapping[str, str] | None = None,
    callees: Mapping[str, int] = NO_CALLEES,
    **trace: object,
) -> None:
    """One run, from its start to its end."""
    run_id = f"run-{number}"
    await store.runs.create(a_run(run_id, capability_id=capability_id), a_program())
    success = state is RunState.SUCCESS
    known: dict[str, Any] = {"state": state, "success": success, "capability_id": capability_id}
    await store.traces.finish(
        run_id,
        state,
        reason="",
        now_ms=now_ms,
        epoch=0,
        trace=a_trace(f"trace-{number}", run_id, **known | trace),
        results=(),
        dependencies=(),
        result_expires_at_ms=now_ms,
        arguments=arguments,
        tools=tools,
        callees=callees,
    )
