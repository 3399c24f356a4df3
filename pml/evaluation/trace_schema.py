"""The files of an export of traces, as Parquet (RW-5).

``traces.parquet`` has a column per field of `ExecutionTrace` (values as JSON text) and is all
that an import needs beside ``tools.parquet``; the other files are what `pml evaluate` reads of
any data set (`docs/reference/datasets.md`).
"""

import pyarrow as pa

VERSION = "1"
VERSION_KEY = b"pml.traces"
"""In the metadata of ``traces.parquet``; another version is another meaning of columns."""

TEXT, TRUTH, WHOLE, NUMBER = pa.string(), pa.bool_(), pa.int64(), pa.float64()
TEXTS = pa.list_(pa.string())

DECISION = pa.struct([("node_id", TEXT), ("outcome", TEXT)])
TASK_RESULT = pa.struct(
    [
        ("task_id", TEXT),
        ("node_id", TEXT),
        ("tool", TEXT),
        ("args", TEXT),
        ("result", TEXT),
        ("success", TRUTH),
        ("error", TEXT),
        ("error_code", TEXT),
        ("started_at_ms", WHOLE),
        ("duration_ms", NUMBER),
        ("attempts", WHOLE),
        ("delivered", TRUTH),
        ("mocked", TRUTH),
    ]
)
TRACES = pa.schema(
    [
        ("id", TEXT),
        ("parent_trace_id", TEXT),
        ("capability_id", TEXT),
        ("intent_text", TEXT),
        ("initial_context", TEXT),
        ("executed_at_ms", WHOLE),
        ("success", TRUTH),
        ("state", TEXT),
        ("duration_ms", NUMBER),
        ("error_message", TEXT),
        ("executed_path", TEXTS),
        ("decisions", pa.list_(DECISION)),
        ("task_results", pa.list_(TASK_RESULT)),
        ("priority", NUMBER),
        ("exploratory", TRUTH),
        ("dry_run", TRUTH),
    ],
    metadata={VERSION_KEY: VERSION.encode()},
)
TOOLS = pa.schema(
    [
        ("tool_id", TEXT),
        ("server", TEXT),
        ("name", TEXT),
        ("description", TEXT),
        ("input_schema", TEXT),
        ("output_schema", TEXT),
        ("annotations", TEXT),
    ]
)
WORKFLOWS = pa.schema(
    [
        ("workflow_id", TEXT),
        ("intent", TEXT),
        ("nodes", TEXTS),
        ("edges", pa.list_(pa.list_(pa.int32()))),
        ("arguments", TEXT),
        ("split", TEXT),
    ]
)
CALLS = pa.schema(
    [
        ("episode_id", TEXT),
        ("step", WHOLE),
        ("tool_id", TEXT),
        ("arguments", TEXT),
        ("ok", TRUTH),
        ("result_first", TEXT),
        ("error", TEXT),
    ]
)
EPISODES = pa.schema(
    [
        ("episode_id", TEXT),
        ("workflow_id", TEXT),
        ("intent", TEXT),
        ("reward", NUMBER),
        ("n_errors", WHOLE),
    ]
)
TRACES_FILE = "traces.parquet"
TOOLS_FILE = "tools.parquet"
FILES = {
    TOOLS_FILE: TOOLS,
    "workflows.parquet": WORKFLOWS,
    "executions.parquet": CALLS,
    "episodes.parquet": EPISODES,
    TRACES_FILE: TRACES,
}
"""In the order in which a finished export gets its names: the one that an import asks for last."""
