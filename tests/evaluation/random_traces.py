"""Random traces, each text of which can be told wherever it turns up."""

from itertools import count
from typing import Any

from hypothesis import strategies as st

from pml.domain.run import RunState
from pml.domain.tools import Tool
from pml.domain.trace import BranchDecision, ExecutionTrace, TaskResult

TOOLS = (
    Tool(
        server="files",
        name="read_file",
        description="Reads a file and returns its lines",
        input_schema={
            "type": "object",
            "properties": {"path": {"type": "string", "description": "Where the file is"}},
        },
        output_schema={"type": "object", "properties": {"lines": {"type": "array"}}},
    ),
    Tool(
        server="chat",
        name="post",
        description="Sends a message to a channel",
        input_schema={"properties": {"to": {"type": "string"}, "text": {"type": "string"}}},
    ),
)
CANARY = "xyzzy"
"""Part of every text of a trace that is nobody else's business."""


def canaries() -> st.SearchStrategy[str]:
    """Texts of all forms, with the canary in each."""
    forms = ("{}", "/home/{}/a.csv", "{}@example.com", "#{}-prod", "https://{}.org", "say {}\nto")
    rest = st.text("abcdefgh0123456789", max_size=6)
    return st.builds(lambda form, end: form.format(CANARY + end), st.sampled_from(forms), rest)


def values() -> st.SearchStrategy[Any]:
    """JSON, the keys of which are declared or canaries."""
    numbers = st.integers(10**9, 10**12) | st.floats(1e6, 1e9)
    scalars = st.none() | st.booleans() | numbers | canaries()
    names = st.sampled_from(["path", "lines", "to", "text"]) | canaries()
    return st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
        max_leaves=8,
    )


def tasks(tools: st.SearchStrategy[str]) -> st.SearchStrategy[TaskResult]:
    """Calls of those tools, with whatever labels and errors."""
    labels = st.sampled_from(["n1", "n2", "n3", "n3_2"])
    return st.builds(
        TaskResult,
        task_id=labels | canaries(),
        node_id=labels | canaries(),
        tool=tools,
        args=st.dictionaries(st.sampled_from(["path", "text"]) | canaries(), values(), max_size=3),
        result=values(),
        success=st.booleans(),
        error=st.none() | canaries(),
        error_code=st.none() | st.just("tool_error") | canaries(),
        started_at_ms=st.integers(10**12, 10**12 + 10**6),
        duration_ms=st.floats(0, 1e4),
        attempts=st.integers(0, 3),
        delivered=st.booleans(),
    )


def traces() -> st.SearchStrategy[ExecutionTrace]:
    """Of listed tools, of unlisted ones and of capabilities."""
    known = st.sampled_from([tool.id for tool in TOOLS])
    others = canaries().map("capabilities:{}".format) | canaries().map("{}:go".format) | canaries()
    numbers = count()
    ids = st.builds(lambda name: f"{name}-{next(numbers)}", canaries())
    words = st.sampled_from(["Read", "the", "files", "and", "send", "lines", "please"])
    decisions = st.builds(
        BranchDecision,
        node_id=st.just("d1") | canaries(),
        outcome=st.sampled_from(["true", "ok"]) | canaries().map("case:{}".format) | canaries(),
    )
    return st.builds(
        ExecutionTrace,
        id=ids,
        run_id=ids,
        user_id=canaries(),
        capability_id=st.none() | canaries(),
        parent_trace_id=st.none() | canaries(),
        intent_text=st.lists(words | canaries(), max_size=6).map(" ".join),
        initial_context=st.dictionaries(canaries(), values(), max_size=3),
        executed_at_ms=st.integers(10**12, 10**12 + 10**6),
        success=st.booleans(),
        state=st.sampled_from([RunState.SUCCESS, RunState.ERROR]),
        duration_ms=st.floats(0, 1e4),
        error_message=st.none() | canaries(),
        executed_path=st.lists(st.sampled_from(["n1", "d1"]) | canaries(), max_size=3).map(tuple),
        decisions=st.lists(decisions, max_size=2).map(tuple),
        task_results=st.lists(tasks(known | others), max_size=4).map(tuple),
        priority=st.floats(0, 1),
        exploratory=st.booleans(),
        dry_run=st.booleans(),
    )
