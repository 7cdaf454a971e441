"""A receiver of traces: OTLP over HTTP, in a thread, with what it was sent and how it was asked."""

import ssl
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any, Self

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.support.ports import HOST
from tests.support.stopwatch import PATIENCE_SECONDS


class Receiver:
    """Answers each delivery with the next of `statuses`, then 200; not while `gate` is unset."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.bodies: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        self.statuses: list[int] = []
        self.deliveries: list[int] = []
        """The status that each delivery got."""
        self.gate = Event()
        self.gate.set()
        self.is_asked = Event()
        self._server = ThreadingHTTPServer((HOST, 0), self._handler())
        self._server.daemon_threads = True
        self._scheme = "http"
        if tls is not None:
            self._scheme = "https"
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)

    @property
    def url(self) -> str:
        return f"{self._scheme}://{HOST}:{self._server.server_address[1]}/v1/traces"

    @property
    def spans(self) -> list[Span]:
        """Accepted spans in the order of arrival."""
        return [span for part in self._parts() for scope in part.scope_spans for span in scope.spans]

    @property
    def resource(self) -> dict[str, Any]:
        return attributes_of(next(self._parts()).resource)

    def requests(self) -> list[Span]:
        return [span for span in self.spans if span.kind == Span.SPAN_KIND_SERVER]

    def children(self, parent: Span) -> list[Span]:
        """Spans below a span, in the order in which they began."""
        below = [span for span in self.spans if span.parent_span_id == parent.span_id]
        assert {span.trace_id for span in below} <= {parent.trace_id}
        return sorted(below, key=lambda span: span.start_time_unix_nano)

    def _parts(self) -> Iterator[Any]:
        for body, status in zip(self.bodies, self.deliveries, strict=False):
            if status == 200:
                yield from ExportTraceServiceRequest.FromString(body).resource_spans

    def _receive(self, headers: dict[str, str], body: bytes) -> int:
        self.headers.append(headers)
        self.bodies.append(body)
        status = self.statuses.pop(0) if self.statuses else 200
        self.deliveries.append(status)
        self.is_asked.set()
        self.gate.wait(PATIENCE_SECONDS)
        return status

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = receiver._receive({k.lower(): v for k, v in self.headers.items()}, body)
                with suppress(ConnectionError):  # it did not wait
                    self._answer(status)

            def _answer(self, status: int) -> None:
                answer = ExportTraceServiceResponse().SerializeToString()
                self.send_response(status)
                if status == 302:
                    self.send_header("Location", "/elsewhere")
                if status in {429, 503}:
                    self.send_header("Retry-After", "0")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                """Nothing."""

        return Handler

    def __enter__(self) -> Self:
        Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.gate.set()
        self._server.shutdown()
        self._server.server_close()


def attributes_of(holder: Any) -> dict[str, Any]:
    """The attributes of a span or a resource."""
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in holder.attributes}
