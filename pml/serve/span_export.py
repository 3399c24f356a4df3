"""Sends spans out; what leaves is looked through for secrets, whoever made the span (ST-5).

Our own spans hold none, but the MCP SDK puts texts of errors into its own, and what a server
says of an error may repeat what it was sent.
"""

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import Status

from pml.domain.limits import Limits
from pml.domain.sanitising import preview, redact

_TIMEOUT_S = 5.0
"""Of one delivery; PML does not end before the last one."""


def start(env: Mapping[str, str]) -> TracerProvider:
    """Make spans from now on, and send them to the endpoint that ``env`` names."""
    service = {
        "service.name": env.get("OTEL_SERVICE_NAME") or "pml",
        "service.version": version("pml"),
    }
    provider = TracerProvider(resource=Resource.create(service), shutdown_on_exit=False)
    exporter = OTLPSpanExporter(timeout=_TIMEOUT_S)
    provider.add_span_processor(BatchSpanProcessor(RedactingExporter(exporter, Limits())))
    trace.set_tracer_provider(provider)
    return provider


class RedactingExporter(SpanExporter):
    """Hands spans on without secrets, with texts of a bounded length."""

    def __init__(self, inner: SpanExporter, limits: Limits) -> None:
        self._inner = inner
        self._chars = limits.message_chars

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """See `SpanExporter.export`."""
        return self._inner.export([self._redacted(span) for span in spans])

    def shutdown(self) -> None:
        """See `SpanExporter.shutdown`."""
        self._inner.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """See `SpanExporter.force_flush`."""
        return self._inner.force_flush(timeout_millis)

    def _redacted(self, span: ReadableSpan) -> ReadableSpan:
        said = span.status.description
        return ReadableSpan(
            name=preview(span.name, self._chars),
            context=span.get_span_context(),
            parent=span.parent,
            resource=span.resource,
            attributes=self._attributes(span.attributes),
            events=[
                Event(preview(e.name, self._chars), self._attributes(e.attributes), e.timestamp)
                for e in span.events
            ],
            links=span.links,
            kind=span.kind,
            status=Status(span.status.status_code, said and preview(said, self._chars)),
            start_time=span.start_time,
            end_time=span.end_time,
            instrumentation_scope=span.instrumentation_scope,
        )

    def _attributes(self, attributes: Mapping[str, Any] | None) -> dict[str, Any]:
        return {
            name: preview(value, self._chars) if isinstance(value, str) else value
            for name, value in redact(dict(attributes or {})).items()
        }
