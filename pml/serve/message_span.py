"""The span of a request that does not go through the MCP SDK, which makes its own (OP-3).

Attributes and name are the SDK's, so that a trace does not show which way a request took.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from mcp.shared.exceptions import MCPError
from opentelemetry.context import Context
from opentelemetry.propagate import extract
from opentelemetry.trace import SpanKind, StatusCode, get_current_span, get_tracer

from pml.serve.results import Answer

_tracer = get_tracer("pml")


@contextmanager
def message_span(
    tool: str, request_id: str | int, trace: Mapping[str, Any], *, protocol: str
) -> Iterator[Callable[[Answer], None]]:
    """The span of one ``tools/call``, under the trace that its metadata name."""
    with _tracer.start_as_current_span(
        f"tools/call {tool}",
        context=_context(trace),
        kind=SpanKind.SERVER,
        attributes={
            "mcp.method.name": "tools/call",
            "mcp.protocol.version": protocol,
            "jsonrpc.request.id": str(request_id),
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": tool,
        },
        record_exception=False,
        set_status_on_exception=False,
    ) as span:

        def answered(answer: Answer) -> None:
            if answer.is_error:
                span.set_attribute("error.type", "tool_error")
                span.set_status(StatusCode.ERROR)

        try:
            yield answered
        except MCPError as exc:
            code = str(exc.code)
            span.set_attributes({"error.type": code, "rpc.response.status_code": code})
            span.set_status(StatusCode.ERROR, exc.message)
            raise


def _context(trace: Mapping[str, Any]) -> Context | None:
    """What the client is doing; None where it does not say, or not in the format."""
    try:
        context = extract(trace)
    except (TypeError, ValueError):
        return None
    return context if get_current_span(context).get_span_context().is_valid else None
