"""A real Prometheus for tests, and promtool."""

from tests.support.prometheus.binary import program_or_skip
from tests.support.prometheus.server import PrometheusServer

__all__ = ["PrometheusServer", "program_or_skip"]
