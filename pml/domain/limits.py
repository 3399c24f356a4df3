"""Every limit in one place (OP-5); the error that names one says what to do.

``limits.yaml`` sets them (`pml.runtime.limits_file`); the types say what they may be set to.
"""

from typing import Annotated, TypeAlias

from msgspec import Meta

from pml.domain.record import Record

_MB = 1_000_000
_DAY_S = 86_400

_Bytes: TypeAlias = Annotated[int, Meta(ge=1_000, le=1_000 * _MB)]
_Number: TypeAlias = Annotated[int, Meta(ge=1, le=1_000_000)]
_AtOnce: TypeAlias = Annotated[int, Meta(ge=1, le=1_000)]
_Seconds: TypeAlias = Annotated[float, Meta(ge=0.1, le=_DAY_S)]
_Chars: TypeAlias = Annotated[int, Meta(ge=10, le=_MB)]
_Kept: TypeAlias = Annotated[int, Meta(ge=60, le=365 * _DAY_S)]


class Limits(Record, frozen=True, kw_only=True):
    """What one request, run or sandbox may use.  Documented in docs/reference/limits.md."""

    source_bytes: _Bytes = 1 * _MB
    """Of the program; a larger one is refused before it is read."""
    arguments_bytes: _Bytes = 1 * _MB
    """Of the request's ``args``, and of the arguments of one call."""
    result_bytes: _Bytes = 10 * _MB
    """Of one call's result, and of the program's own."""
    answer_bytes: _Bytes = 100_000
    """Of the JSON of a result in an MCP answer; of a larger one it holds the first characters."""
    nesting: Annotated[int, Meta(ge=1, le=200)] = 200
    """Levels of arrays and objects in one value; decoders of MCP messages take no more."""
    calls_per_run: _Number = 10_000
    """The run ends at the next call; split the work into several runs."""
    concurrent_calls: _AtOnce = 64
    """Per run; further calls wait their turn in the broker."""
    concurrent_runs: _AtOnce = 16
    """Requests that run at the same time in one process; further ones wait, up to their timeout."""
    runs_per_user: _AtOnce = 16
    """Of those, for the same user or API key; lower it where one shall leave places to others."""
    nested_runs: _AtOnce = 4
    """Runs of nested capabilities at the same time, per level; further ones wait their turn."""
    capability_depth: Annotated[int, Meta(ge=0, le=32)] = 8
    """Levels of capabilities that call capabilities."""
    request_bytes: _Bytes = 4 * _MB
    """Of one HTTP request."""
    timers_per_run: _Number = 10_000
    """``setTimeout`` and ``setInterval``; as for calls."""
    records_per_run: Annotated[int, Meta(ge=10, le=10_000_000)] = 200_000
    """In the log: calls, decisions, timers.  A decision in a loop is told 1,000 times at most."""
    call_timeout_s: _Seconds = 60.0
    """Of one call; ``callTimeoutS`` in mcp.json sets it for a server."""
    connect_timeout_s: _Seconds = 30.0
    """Of connecting to a server; ``connectTimeoutS`` in mcp.json sets it for a server."""
    max_timeout_ms: Annotated[int, Meta(ge=1, le=7 * _DAY_S * 1_000)] = 3_600_000
    """The longest ``timeout`` that a request may ask for."""
    heap_mb: Annotated[int, Meta(ge=16, le=4_000)] = 256
    """V8 heap of one sandbox, which dies when it needs more."""
    data_mb: Annotated[int, Meta(ge=1_000, le=64_000)] = 1_500
    """RLIMIT_DATA of one sandbox; ArrayBuffers count here.  Less than about 1,000 does not boot."""
    cpu_s: Annotated[int, Meta(ge=1, le=_DAY_S)] = 60
    """Processor time of one sandbox, which is killed when it is used up."""
    output_bytes: _Bytes = 1 * _MB
    """stdout and stderr of one sandbox together; it is killed when it writes more."""
    result_ttl_s: _Kept = 3_600
    """How long the whole results of a run, and its log, are kept after it ended."""
    waiting_ttl_s: _Kept = 86_400
    """How long a run waits for an answer (paused, approval, in doubt) before it expires."""
    lease_ttl_s: Annotated[float, Meta(ge=1.0, le=600.0)] = 6.0
    """A process that says nothing for so long counts as dead, and another one takes its runs."""
    results_bytes_per_run: _Bytes = 100 * _MB
    """Of all results of one run together; the run ends at the next call."""
    events_per_run: _Number = 10_000
    """Kept for watchers that come late; the oldest are dropped first."""
    traces_kept: Annotated[int, Meta(ge=1, le=100_000_000)] = 100_000
    """`pml gc` deletes the oldest beyond."""
    trace_age_days: Annotated[int, Meta(ge=1, le=36_500)] = 365
    """`pml gc` deletes older ones."""
    preview_chars: _Chars = 240
    """Of each result in an answer; ``pml trace RUN --task CALL`` shows the whole."""
    message_chars: _Chars = 10_000
    """Of an error or a warning, and of an intent."""
    warnings_per_run: _Number = 100
    """Further ones are counted."""
    trace_value_bytes: _Bytes = 10_000
    """Larger values are cut out of traces (ST-5); the whole stays in the task results."""
