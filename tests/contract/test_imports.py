"""Traces of others, and reading many traces in parts: both stores alike (RW-5)."""

from pml.domain.run import RunState
from pml.domain.trace import ExecutionTrace
from pml.store.ports import ImportedSource, Store
from tests.store.nouns import a_program, a_run, a_tool, a_trace

ALL = 1_000


def imported(trace_id: str, at_ms: int = 0) -> ExecutionTrace:
    return a_trace(trace_id, run_id=trace_id, executed_at_ms=at_ms)


async def finish(store: Store, trace_id: str, at_ms: int) -> None:
    """A run of one's own with that trace."""
    await store.runs.create(a_run(f"run-{trace_id}"), a_program())
    await store.traces.finish(
        f"run-{trace_id}",
        RunState.SUCCESS,
        reason="",
        now_ms=at_ms,
        epoch=0,
        trace=a_trace(trace_id, f"run-{trace_id}", executed_at_ms=at_ms),
        results=(),
        dependencies=(),
        result_expires_at_ms=at_ms,
    )


async def test_what_was_imported_comes_back_as_it_was(any_store: Store) -> None:
    imports, traces = any_store.imports, (imported("b", 5), imported("a", 7))

    assert await imports.add("team", tools=(a_tool(),), traces=traces, now_ms=9) == 2

    assert await imports.selected(since_ms=0, limit=ALL) == ((5, "b"), (7, "a"))
    assert await imports.several(["a", "gone", "b"]) == (traces[1], traces[0])
    assert await imports.tools() == (a_tool(),)
    assert await imports.sources() == (ImportedSource(name="team", traces=2, imported_at_ms=9),)


async def test_importing_a_trace_again_changes_nothing(any_store: Store) -> None:
    imports = any_store.imports
    await imports.add("team", tools=(), traces=(imported("a", 5),), now_ms=9)

    other = imported("a", 6)
    assert await imports.add("others", tools=(), traces=(other, imported("b")), now_ms=10) == 1
    assert await imports.add("others", tools=(), traces=(), now_ms=11) == 0

    assert await imports.several(["a"]) == (imported("a", 5),)
    assert [(one.name, one.traces) for one in await imports.sources()] == [
        ("others", 1),
        ("team", 1),
    ]


async def test_nothing_imported_counts_as_own_experience(any_store: Store) -> None:
    await finish(any_store, "own", 1)
    await any_store.imports.add("team", tools=(a_tool(),), traces=(imported("a", 5),), now_ms=9)

    assert [trace.id for trace in await any_store.traces.recent(ALL)] == ["own"]
    assert await any_store.traces.selected(since_ms=0, limit=ALL) == ((1, "own"),)
    assert await any_store.traces.several(["a"]) == ()
    assert await any_store.tool_dependencies.all() == ()
    assert (await any_store.tool_schemas.catalog()).servers == {}


async def test_a_source_can_be_forgotten(any_store: Store) -> None:
    imports = any_store.imports
    await imports.add("team", tools=(a_tool(),), traces=(imported("a"),), now_ms=9)
    described = a_tool(description="Another text")
    await imports.add("b-team", tools=(described,), traces=(imported("b"),), now_ms=9)

    assert await imports.tools() == (described,)
    assert await imports.forget("b-team") == 1

    assert await imports.tools() == (a_tool(),)
    assert await imports.selected(since_ms=0, limit=ALL) == ((0, "a"),)
    assert await imports.forget("b-team") == 0


async def test_a_tool_of_a_source_is_described_anew(any_store: Store) -> None:
    described = a_tool(description="Another text")
    for tool in (a_tool(), described):
        await any_store.imports.add("team", tools=(tool,), traces=(), now_ms=9)

    assert await any_store.imports.tools() == (described,)


async def test_own_traces_are_read_in_parts_from_a_time_on(any_store: Store) -> None:
    for trace_id, at_ms in (("c", 3), ("b", 2), ("a", 2), ("d", 1)):
        await finish(any_store, trace_id, at_ms)

    traces = any_store.traces
    assert await traces.selected(since_ms=2, limit=ALL) == ((2, "a"), (2, "b"), (3, "c"))
    assert await traces.selected(since_ms=0, limit=2) == ((2, "a"), (3, "c"))
    found = await traces.several(["c", "gone", "d"])
    assert found == (await traces.get("c"), await traces.get("d"))
