"""From anonymous traces to the tables that methods are evaluated on.

A trace is an episode; what it called are that episode's calls; a trace that succeeded for real
is a workflow: its intent, and the tools that served it, each call site once, in order of the
first start.  Edges are proven: the later site was given a value that the earlier one's result
held (the same digest).  Of several earlier sites the latest counts, and values that the caller
gave, or that are too small to be the same only by being passed on, prove nothing.

Calls of capabilities have traces of their own and are left out here, and so are tools that no
server lists: a data set speaks of tools that it describes.
"""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import Any

from pml.domain.record import encode
from pml.domain.trace import ExecutionTrace, TaskResult
from pml.evaluation.anonymity import VALUE_TOKEN

Row = dict[str, Any]
TELLING_SIZE = 2
"""Step of the size from which on values are hardly equal by chance: 4 characters, 3 digits."""
TRAIN, TEST = "train", "test"


def episode(trace: ExecutionTrace, workflow_id: str | None) -> Row:
    """A row of ``episodes.parquet``."""
    return {
        "episode_id": trace.id,
        "workflow_id": workflow_id,
        "intent": trace.intent_text,
        "reward": float(trace.success),
        "n_errors": sum(not task.success for task in trace.task_results),
    }


def calls(trace: ExecutionTrace, tools: AbstractSet[str]) -> list[Row]:
    """Rows of ``executions.parquet``, in order of issue; mocks say nothing of a tool."""
    return [
        {
            "episode_id": trace.id,
            "step": step,
            "tool_id": task.tool,
            "arguments": encode(task.args).decode() if isinstance(task.args, dict) else None,
            "ok": task.success,
            "result_first": encode(task.result).decode() if task.success else None,
            "error": task.error_code,
        }
        for step, task in enumerate(trace.task_results)
        if task.tool in tools and not task.mocked
    ]


def workflow(trace: ExecutionTrace, tools: AbstractSet[str], *, split: str) -> Row | None:
    """A row of ``workflows.parquet``; None where the trace shows no procedure that worked."""
    if not trace.success or trace.dry_run or trace.exploratory:
        return None
    done = [task for task in trace.task_results if task.success and task.tool in tools]
    first: dict[str, TaskResult] = {}
    for task in sorted(done, key=lambda task: task.started_at_ms):
        first.setdefault(task.node_id, task)
    if not first:
        return None
    places = {site: place for place, site in enumerate(first)}
    return {
        "workflow_id": trace.id,
        "intent": trace.intent_text,
        "nodes": [task.tool for task in first.values()],
        "edges": sorted(map(list, _edges(trace, done, places))),
        "arguments": encode([task.args for task in first.values()]).decode(),
        "split": split,
    }


def _edges(
    trace: ExecutionTrace, done: list[TaskResult], places: dict[str, int]
) -> set[tuple[int, int]]:
    given = frozenset(telling(trace.initial_context))
    source: dict[str, int] = {}
    edges = set()
    for task in sorted(done, key=lambda task: task.started_at_ms):
        place = places[task.node_id]
        for digest in set(telling(task.args)) - given:
            if source.get(digest, place) < place:
                edges.add((source[digest], place))
        source |= dict.fromkeys(telling(task.result), place)
    return edges


def telling(value: Any) -> Iterator[str]:  # noqa: ANN401  # JSON
    """Digests of the values within that are hardly equal by chance."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from telling(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from telling(inner)
    elif isinstance(value, str) and (token := VALUE_TOKEN.fullmatch(value)):
        form, size, digest = token[0].split(":")
        if int(size) >= TELLING_SIZE and form != "boolean":
            yield digest
