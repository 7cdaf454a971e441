"""Finished spans to a receiver: OTLP over HTTP, from a thread of its own, with a count of what was lost.

OpenTelemetry's own classes batch, encode, send and repeat. What is added here is what they leave out: they
drop spans without a count when their queue is full, take a redirection for success, log what they send and
where to, use the proxies of the environment, and wait 30 s at the end for a receiver that hangs (D117).

Everything that OpenTelemetry would read from `OTEL_*` and that the configuration says, too, is set here.
"""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from threading import Thread
from typing import Any

from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from requests import RequestException, Response, Session

from gateway import __version__
from gateway.config.settings import TracingSettings
from gateway.observability.logs import LogThrottle

log = logging.getLogger("kvs.tracing")

WAITING_SPANS = 2048
_BATCH_SPANS = 128  # small, because encoding a batch competes with the event loop for the interpreter
_DELAY_MS = 1000
_EXPORT_SECONDS = 2.0
_CLOSE_SECONDS = 2.0
_SILENT_SECONDS = 10.0


class Export:
    """Makes a tracer whose finished spans are delivered in the background."""

    def __init__(self, settings: TracingSettings) -> None:
        self._delivery = _Delivery(settings)
        self._queue = _Queue(self._delivery)
        resource = Resource.create({"service.name": settings.service_name, "service.version": __version__})
        self._provider = TracerProvider(ALWAYS_ON, resource, shutdown_on_exit=False)
        self._provider.add_span_processor(self._queue)
        self.tracer = self._provider.get_tracer("kvs-gateway", __version__)

    @property
    def lost(self) -> int:
        """Spans that were finished and will not arrive."""
        return self._queue.refused + self._delivery.lost

    async def close(self) -> None:
        """Deliver what is finished, for two seconds at most; what is left then is given up."""
        loop = asyncio.get_running_loop()
        is_closed = asyncio.Event()

        def close() -> None:
            self._provider.shutdown()
            with suppress(RuntimeError):  # nobody waits any more
                loop.call_soon_threadsafe(is_closed.set)

        # a daemon, unlike the threads of an executor: the process may end before it
        Thread(target=close, name="traces", daemon=True).start()
        try:
            async with asyncio.timeout(_CLOSE_SECONDS):
                await is_closed.wait()
        except TimeoutError:
            self._delivery.give_up()
            log.warning("not all traces were delivered", extra={"fields": {"spans": self._queue.waiting}})


class _Queue(BatchSpanProcessor):
    """Bounds what waits, what is being delivered included: a span is refused here or settled by the delivery.

    Spans end on the event loop, deliveries in one thread: each counter has one writer, so none needs a lock.
    """

    def __init__(self, delivery: "_Delivery") -> None:
        super().__init__(
            delivery,
            max_queue_size=WAITING_SPANS,
            schedule_delay_millis=_DELAY_MS,
            max_export_batch_size=_BATCH_SPANS,
            export_timeout_millis=_EXPORT_SECONDS * 1000,
        )
        self._delivery = delivery
        self._taken = 0
        self.refused = 0

    @property
    def waiting(self) -> int:
        """Spans that were taken and of which nothing is known yet."""
        return self._taken - self._delivery.settled

    def on_end(self, span: ReadableSpan) -> None:
        if self.waiting >= WAITING_SPANS:
            self.refused += 1
            self._delivery.log_loss("too many spans at once")
            return
        self._taken += 1
        super().on_end(span)


class _Delivery(SpanExporter):
    """OpenTelemetry's exporter, its failures counted. Its own logger is off: it quotes what it meets."""

    def __init__(self, settings: TracingSettings) -> None:
        self._session = _Session()
        self._exporter = OTLPSpanExporter(
            endpoint=settings.endpoint,
            headers=settings.headers,
            timeout=_EXPORT_SECONDS,
            compression=Compression.NoCompression,
            session=self._session,
        )
        self._loss_lines = LogThrottle(1, _SILENT_SECONDS)
        self._is_given_up = False
        self.settled = 0
        self.lost = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = SpanExportResult.FAILURE if self._is_given_up else self._exporter.export(spans)
        if result is SpanExportResult.FAILURE:
            self.lost += len(spans)
            self.log_loss(self._session.outcome)
        self.settled += len(spans)
        return result

    def give_up(self) -> None:
        """Send nothing more, and end any wait between two attempts."""
        self._is_given_up = True
        self._exporter.shutdown()

    def shutdown(self) -> None:
        if not self._is_given_up:
            self._exporter.shutdown()

    def log_loss(self, reason: str) -> None:
        """One line, but not per batch; none at the very end, when standard error may be gone."""
        if not self._is_given_up and self._loss_lines.admits():
            log.warning("traces are lost", extra={"fields": {"reason": reason}})


class _Session(Session):
    """Asks neither proxies nor password files of the environment; remembers how the last request ended."""

    def __init__(self) -> None:
        super().__init__()
        self.trust_env = False
        self.outcome = "not sent"

    def request(self, *args: Any, **kwargs: Any) -> Response:
        """A redirection delivers nothing, so it is a failure, too."""
        try:
            response = super().request(*args, **kwargs)
        except RequestException as error:
            self.outcome = type(error).__name__
            raise
        self.outcome = f"status {response.status_code}"
        if response.is_redirect:
            raise RequestException
        return response
