"""OpenTelemetry spans of runs and of calls to tools (OP-3), by the GenAI and MCP conventions.

Names and attributes are those of github.com/open-telemetry/semantic-conventions-genai
(docs/gen-ai/gen-ai-agent-spans.md and mcp.md, in development in 2026): ``invoke_workflow`` for a
run, ``execute_tool`` with the ``mcp.*`` attributes for a call.  The MCP SDK adds the spans of
the messages themselves, and hands the trace on in ``_meta`` of what is sent to servers.

Only names, numbers and codes are attributes: no argument, no result, no text of an error (ST-5).
Without the OpenTelemetry SDK, or without an exporter (`pml.serve.tracing`), nothing is recorded.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from opentelemetry.trace import Span, SpanKind, StatusCode, get_tracer

from pml.domain.response import ExecuteResponse
from pml.domain.run import Failed, Outcome, Run

_tracer = get_tracer("pml")
_TRANSPORTS = {"stdio": "pipe", "http": "tcp"}
"""As the conventions call them."""


@contextmanager
def run_span(run: Run) -> Iterator[Callable[[ExecuteResponse], None]]:
    """The span of a run as long as this process sees to it; to be told how that ended."""
    attributes: dict[str, str | bool | int] = {
        "gen_ai.operation.name": "invoke_workflow",
        "pml.run.id": run.id,
        "pml.run.dry": run.dry_run,
        "pml.user.id": run.user_id,
    }
    if run.capability_id is not None:
        attributes["gen_ai.workflow.name"] = run.capability_id
    if run.parent_run_id is not None:
        attributes["pml.run.parent_id"] = run.parent_run_id
    with _span("invoke_workflow pml", attributes) as span:

        def ended(response: ExecuteResponse) -> None:
            span.set_attribute("pml.run.state", response.status)
            span.set_attribute("pml.run.calls", len(response.tasks))
            if response.error is not None:
                _failed(span, response.error.code)

        yield ended


@contextmanager
def call_span(
    server: str, tool: str, *, transport: str, protocol: str | None
) -> Iterator[Callable[[Outcome], None]]:
    """The span of one attempt to call a tool; to be told the outcome.

    An exception that passes through is the outcome too: its class is all that is kept of it.
    """
    attributes: dict[str, str | bool | int] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": tool,
        "mcp.method.name": "tools/call",
        "network.transport": _TRANSPORTS[transport],
        "pml.server.name": server,
    }
    if protocol is not None:
        attributes["mcp.protocol.version"] = protocol
    with _span(f"execute_tool {tool}", attributes) as span:

        def ended(outcome: Outcome) -> None:
            if isinstance(outcome, Failed):
                _failed(span, outcome.code)

        yield ended


@contextmanager
def _span(name: str, attributes: dict[str, str | bool | int]) -> Iterator[Span]:
    with _tracer.start_as_current_span(
        name,
        kind=SpanKind.INTERNAL,
        attributes=attributes,
        record_exception=False,  # its text is not ours
        set_status_on_exception=False,
    ) as span:
        try:
            yield span
        except BaseException as exc:
            _failed(span, type(exc).__qualname__)
            raise


def _failed(span: Span, code: str) -> None:
    span.set_attribute("error.type", code)
    span.set_status(StatusCode.ERROR)
