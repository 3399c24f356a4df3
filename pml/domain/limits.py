"""Every limit in one place (OP-5); the error that names one says how to raise it."""

from pml.domain.record import Record

_MB = 1_000_000


class Limits(Record, frozen=True, kw_only=True):
    """What one request, run or sandbox may use.  Documented in docs/reference/limits.md."""

    source_bytes: int = 1 * _MB
    """Of the program; a larger one is refused before it is read."""
    arguments_bytes: int = 1 * _MB
    """Of the request's ``args``, and of the arguments of one call."""
    result_bytes: int = 10 * _MB
    """Of one call's result, and of the program's own."""
    answer_bytes: int = 100_000
    """Of the JSON of a result in an MCP answer; of a larger one it holds the first characters."""
    nesting: int = 200
    """Levels of arrays and objects in one value; decoders of MCP messages take no more."""
    calls_per_run: int = 10_000
    """The run ends at the next call; split the work into several runs."""
    concurrent_calls: int = 64
    """Per run; further calls wait their turn in the broker."""
    concurrent_runs: int = 16
    """Requests that run at the same time in one process; further ones wait, up to their timeout."""
    nested_runs: int = 4
    """Runs of nested capabilities at the same time, per level; further ones wait their turn."""
    capability_depth: int = 8
    """Levels of capabilities that call capabilities."""
    request_bytes: int = 4 * _MB
    """Of one HTTP request."""
    timers_per_run: int = 10_000
    """``setTimeout`` and ``setInterval``; as for calls."""
    records_per_run: int = 200_000
    """In the log: calls, decisions, timers.  A decision in a loop is told 1,000 times at most."""
    call_timeout_s: float = 60.0
    """Of one call; ``callTimeoutS`` in mcp.json sets it for a server."""
    connect_timeout_s: float = 30.0
    """Of connecting to a server; ``connectTimeoutS`` in mcp.json sets it for a server."""
    max_timeout_ms: int = 3_600_000
    """The longest ``timeout`` that a request may ask for."""
    heap_mb: int = 256
    """V8 heap of one sandbox, which dies when it needs more."""
    data_mb: int = 1_500
    """RLIMIT_DATA of one sandbox; ArrayBuffers count here.  Less than about 1,000 does not boot."""
    cpu_s: int = 60
    """Processor time of one sandbox, which is killed when it is used up."""
    output_bytes: int = 1 * _MB
    """stdout and stderr of one sandbox together; it is killed when it writes more."""
    result_ttl_s: int = 3_600
    """How long the whole results of a run, and its log, are kept after it ended."""
    waiting_ttl_s: int = 86_400
    """How long a run waits for an answer (paused, approval, in doubt) before it expires."""
    lease_ttl_s: float = 6.0
    """A process that says nothing for so long counts as dead, and another one takes its runs."""
    results_bytes_per_run: int = 100 * _MB
    """Of all results of one run together; the run ends at the next call."""
    events_per_run: int = 10_000
    """Kept for watchers that come late; the oldest are dropped first."""
    traces_kept: int = 100_000
    """`pml gc` deletes the oldest beyond."""
    trace_age_days: int = 365
    """`pml gc` deletes older ones."""
    preview_chars: int = 240
    """Of each result in an answer; ``pml trace RUN --task CALL`` shows the whole."""
    message_chars: int = 10_000
    """Of an error or a warning, and of an intent."""
    warnings_per_run: int = 100
    """Further ones are counted."""
    trace_value_bytes: int = 10_000
    """Larger values are cut out of traces (ST-5); the whole stays in the task results."""
