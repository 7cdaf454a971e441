"""Whether what traces need, and nothing else does, is installed."""

from importlib.util import find_spec

_MODULES = ("opentelemetry.sdk.trace", "opentelemetry.exporter.otlp.proto.http.trace_exporter", "requests")


def is_installed() -> bool:
    """Whether the extra `otel` is there."""
    try:
        return all(find_spec(module) is not None for module in _MODULES)
    except ModuleNotFoundError:  # a package above it
        return False
