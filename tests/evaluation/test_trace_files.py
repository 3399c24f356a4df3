"""An export is written and read a batch at a time, and appears whole or not at all (RW-5)."""

import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from pml.domain.trace import ExecutionTrace
from pml.evaluation.anonymous import KEY_BYTES, Anonymiser
from pml.evaluation.trace_reader import BATCH as READ_AT_ONCE
from pml.evaluation.trace_reader import read_tools, read_traces
from pml.evaluation.trace_schema import FILES
from pml.evaluation.trace_sets import workflow
from pml.evaluation.trace_writer import writing
from tests.cli.test_trace_exchange import READ, SEND, a_task, a_trace
from tests.evaluation.random_traces import TOOLS

BATCH = 50
KNOWN = frozenset(tool.id for tool in TOOLS)
MADE = Anonymiser(bytes(KEY_BYTES), TOOLS)


def batches(count: int) -> Iterator[list[ExecutionTrace]]:
    for start in range(0, count, BATCH):
        numbers = range(start, start + BATCH)
        yield [MADE.trace(a_trace(number, READ, SEND), epoch_ms=0) for number in numbers]


def peak_of_writing(folder: Path, made: list[list[ExecutionTrace]]) -> int:
    """Bytes, apart from the traces themselves."""
    tracemalloc.start()
    with writing(folder, TOOLS, traces=len(made) * BATCH) as writer:
        for batch in made:
            writer.add(batch)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_only_a_batch_is_in_memory(tmp_path: Path) -> None:
    """Read lazily, and nothing of what was written is held."""
    made = list(batches(12 * BATCH))
    peak_of_writing(tmp_path / "first", made[:1])  # what is imported and cached once

    few, many = (peak_of_writing(tmp_path / str(n), made[:n]) for n in (3, 12))
    assert many < 1.5 * few
    read = read_traces(tmp_path / "12", TOOLS)
    assert len(next(read)) == READ_AT_ONCE
    assert sum(map(len, read)) == 12 * BATCH - READ_AT_ONCE


def test_an_export_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def interrupted() -> None:
        with writing(tmp_path, TOOLS, traces=2) as writer:
            writer.add(next(batches(BATCH)))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()

    assert list(tmp_path.iterdir()) == []


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    (written,) = batches(BATCH)
    with writing(tmp_path, TOOLS, traces=BATCH) as writer:
        writer.add(written)

    assert {path.name for path in tmp_path.iterdir()} == set(FILES)
    assert read_tools(tmp_path) == TOOLS
    assert [trace for batch in read_traces(tmp_path, TOOLS) for trace in batch] == written


def test_only_what_worked_for_real_is_a_workflow() -> None:
    trace = MADE.trace(a_trace(1, READ, SEND), epoch_ms=0)
    changes = ({"success": False}, {"dry_run": True}, {"exploratory": True}, {"task_results": ()})

    assert workflow(trace, KNOWN, split="train") is not None
    others = (msgspec.structs.replace(trace, **change) for change in changes)
    assert [workflow(other, KNOWN, split="train") for other in others] == [None] * 4


def test_a_site_in_a_loop_stands_once_and_later_calls_count_for_edges() -> None:
    first = a_task(1, "files:read_file", {"path": "list.txt"}, {"lines": ["one.txt", "two.txt"]})
    again = [
        msgspec.structs.replace(
            a_task(2 + turn, "chat:post", {"text": text}, None), node_id="n2", task_id=f"n2_{turn}"
        )
        for turn, text in enumerate(("by hand", "two.txt"))
    ]
    row = workflow(MADE.trace(a_trace(1, first, *again), epoch_ms=0), KNOWN, split="train")

    assert row is not None
    assert (row["nodes"], row["edges"]) == (["files:read_file", "chat:post"], [[0, 1]])


def test_what_the_caller_gave_and_what_is_short_prove_no_flow() -> None:
    first = a_task(1, "files:read_file", {"path": "notes.md"}, {"lines": ["notes.md", "ok", 7]})
    second = a_task(2, "chat:post", {"text": "notes.md", "to": ["ok", 7, None, True]}, None)
    row = workflow(MADE.trace(a_trace(1, first, second), epoch_ms=0), KNOWN, split="train")

    assert row is not None
    assert row["edges"] == []
