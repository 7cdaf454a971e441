"""Exports finished spans by OTLP over HTTP from a thread of its own, and counts lost ones.

OpenTelemetry's own classes batch, encode, send and retry. By themselves they drop spans without a count when
their queue is full, take a redirection for success, log payload and address, use the proxies of the
environment, and wait 30 s at the end for a receiver that hangs (D117). This module corrects that.

Every setting that the configuration has in common with `OTEL_*` is set here.
"""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from threading import Semaphore, Thread
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
        """Finished spans that will not arrive."""
        return self._queue.refused + self._delivery.lost

    async def close(self) -> None:
        """Delivers finished spans for at most two seconds, and gives up the rest."""
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
            log.warning("not all traces were delivered")


class _Queue(BatchSpanProcessor):
    """Bounds the spans that wait or are being sent; OpenTelemetry drops those beyond its bound uncounted."""

    def __init__(self, delivery: "_Delivery") -> None:
        super().__init__(
            delivery,
            max_queue_size=WAITING_SPANS,
            schedule_delay_millis=_DELAY_MS,
            max_export_batch_size=_BATCH_SPANS,
            export_timeout_millis=_EXPORT_SECONDS * 1000,
        )
        self._delivery = delivery
        self.refused = 0

    def on_end(self, span: ReadableSpan) -> None:
        if self._delivery.room.acquire(blocking=False):
            super().on_end(span)
        else:
            self.refused += 1
            self._delivery.log_loss("too many spans at once")


class _Delivery(SpanExporter):
    """OpenTelemetry's exporter with a count of failures. Its own logger is off: it quotes what it sends."""

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
        self.room = Semaphore(WAITING_SPANS)
        self.lost = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = SpanExportResult.FAILURE if self._is_given_up else self._exporter.export(spans)
        if result is SpanExportResult.FAILURE:
            self.lost += len(spans)
            self.log_loss(self._session.outcome)
        self.room.release(len(spans))
        return result

    def give_up(self) -> None:
        """Sends nothing more, and ends any wait between two attempts."""
        self._is_given_up = True
        self._exporter.shutdown()

    def shutdown(self) -> None:
        if not self._is_given_up:
            self._exporter.shutdown()

    def log_loss(self, reason: str) -> None:
        """Logs one line per ten seconds; none at the very end, when standard error may be gone."""
        if not self._is_given_up and self._loss_lines.admits():
            log.warning("traces are lost", extra={"fields": {"reason": reason}})


class _Session(Session):
    """Uses neither proxies nor password files of the environment; keeps the outcome of the last request."""

    def __init__(self) -> None:
        super().__init__()
        self.trust_env = False
        self.outcome = "not sent"

    def request(self, *args: Any, **kwargs: Any) -> Response:
        """Raises RequestException also for a redirection, which delivers nothing."""
        try:
            response = super().request(*args, **kwargs)
        except RequestException as error:
            self.outcome = type(error).__name__
            raise
        self.outcome = f"status {response.status_code}"
        if response.is_redirect:
            raise RequestException
        return response
