"""Where spans go (OP-3): to the OTLP endpoint that the environment names, else nowhere.

The variables are OpenTelemetry's own: ``OTEL_EXPORTER_OTLP_ENDPOINT`` or
``OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`` switch it on, ``OTEL_SDK_DISABLED=true`` or
``OTEL_TRACES_EXPORTER=none`` off, ``OTEL_SERVICE_NAME`` names the service.  A program that has set
up OpenTelemetry itself keeps its own.

A trace that comes with a request goes on to the servers in any case.  Baggage does not, unless
``OTEL_PROPAGATORS`` asks for it: what a client packs there is not meant for servers that it does
not know of.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from opentelemetry import propagate, trace
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from pml.errors import ConfigError

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")


@contextmanager
def tracing(env: Mapping[str, str]) -> Iterator[None]:
    """Export spans until the block ends; then what is left has been sent, or given up.

    Raises:
        ConfigError: an endpoint is named and the extra ``otel`` is not installed.
    """
    if not env.get("OTEL_PROPAGATORS"):
        propagate.set_global_textmap(TraceContextTextMapPropagator())
    endpoint = _endpoint(env)
    if endpoint is None or not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        yield
        return
    try:
        from pml.serve.span_export import start  # noqa: PLC0415  # an extra, and slow to import
    except ImportError as exc:
        message = "is set, but OpenTelemetry's SDK is missing: pip install 'pml[otel]', or unset it"
        raise ConfigError(endpoint, message) from exc
    provider = start(env)
    try:
        yield
    finally:
        provider.shutdown()


def _endpoint(env: Mapping[str, str]) -> str | None:
    """The variable that names where spans go; None where they go nowhere."""
    off = env.get("OTEL_SDK_DISABLED", "").lower() == "true"
    if off or env.get("OTEL_TRACES_EXPORTER", "otlp") == "none":
        return None
    return next((name for name in _ENDPOINTS if env.get(name)), None)
