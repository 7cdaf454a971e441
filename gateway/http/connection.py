"""One connection: aiohttp's parser and flow control, our own loop, deadlines and bounds.

Measured on aiohttp 3.14: a head or a silent new connection has no deadline, a
handler is not told that the body it waits for is malformed, what the parser
refuses is answered in plain text and logged with a traceback, and a closed
connection waits without end for a client that does not read.
"""

import asyncio
import logging
from typing import TYPE_CHECKING, Any, cast

from aiohttp import StreamReader, web
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import EMPTY_PAYLOAD
from aiohttp.web_protocol import ERROR, RequestHandler, _ErrInfo

from gateway.domain.errors import BadRequest, InternalError, Overloaded, Refusal, RequestTimeout
from gateway.http.framing import Framing
from gateway.http.messages import HttpRequest, HttpResponse
from gateway.http.outgoing import is_taken
from gateway.observability.logs import forget_task, name_request_of, report_fault

if TYPE_CHECKING:
    from gateway.http.server import EdgeServer

log = logging.getLogger("kvs.edge")

_LINGER_SECONDS = 1.0
"""How long a connection that is closed early still reads, so that its answer is not lost to a reset."""


class EdgeProtocol(RequestHandler):
    """One connection. `body` is that of the request being served, `peer` the address of the other end."""

    __slots__ = (
        "__weakref__",
        "_cut_off",
        "_deadline",
        "_framing",
        "_gone",
        "_is_broken",
        "_server",
        "_wire",
        "body",
        "peer",
    )

    def __init__(self, server: "EdgeServer", *, loop: asyncio.AbstractEventLoop, **options: Any) -> None:
        super().__init__(server, loop=loop, **options)
        self._server = server
        self._framing = Framing()
        self._deadline: asyncio.TimerHandle | None = None
        self._is_broken = False
        self._cut_off: asyncio.TimerHandle | None = None
        self._wire: asyncio.Transport | None = None
        self._gone: asyncio.Future[None] | None = None
        self.body: StreamReader = EMPTY_PAYLOAD
        self.peer = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._wire = cast(asyncio.Transport, transport)
        name = transport.get_extra_info("peername")
        self.peer = str(name[0]) if name else ""
        super().connection_made(transport)
        if self._server.is_full():
            self._refuse_connection(Overloaded(), lingers=not self._server.is_crammed())
        else:
            self._expect_head()

    def data_received(self, data: bytes) -> None:
        heads_before = self._request_count
        super().data_received(data)
        if self._request_count != heads_before:
            self._take_heads()
            return
        last_body = self._messages[-1][1] if self._messages else self.body
        if self._framing.is_too_long(len(data), self._request_count, last_body):
            self._break_off(last_body)
        elif self._deadline is None and self._is_waiting() and not self._close:
            self._expect_head()

    def resume_reading(self, resume_parser: bool = True) -> None:  # noqa: FBT001, FBT002 - aiohttp's signature
        """aiohttp: go on if reading was paused. It is called at the end of every body, paused or not."""
        if resume_parser or self._reading_paused:
            super().resume_reading(resume_parser)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._stop_deadline()
        if self._cut_off is not None:
            self._cut_off.cancel()
        self._is_broken = exc is not None
        self._wire = None
        self._stop_lingering()
        super().connection_lost(exc)

    async def shutdown(self, timeout: float | None = 15.0) -> None:  # noqa: ASYNC109 - the signature is aiohttp's
        """Let what is being handled finish, then close."""
        self._stop_lingering()
        await super().shutdown(timeout)

    async def start(self) -> None:
        """Serve the connection's requests one after the other; what is unread at the end has a deadline, too.

        In place of aiohttp's own loop, which starts a task and prepares a writer for each request.
        """
        task = cast("asyncio.Task[None]", asyncio.current_task())
        name_request_of(task, self._request_id)
        try:
            while not self._force_close:
                if not self._messages:
                    self._waiter = self._loop.create_future()
                    try:
                        await self._waiter
                    finally:
                        self._waiter = None
                if not await self._serve(self._messages.popleft(), task):
                    break
                self._expect_next()
                if self._messages:
                    await asyncio.sleep(0)  # perhaps nothing has suspended: others get their turn
            if not self._force_close and self.transport is not None:
                self.transport.close()
        except asyncio.CancelledError:
            self.force_close()
            raise
        except Exception as fault:
            report_fault(log, fault)
            self.force_close()
        finally:
            forget_task(task)
            if self._wire is not None and self._wire.get_write_buffer_size():
                self._cut_off = self._loop.call_later(self._server.settings.write_seconds, self._wire.abort)

    async def _serve(
        self, arrived: tuple[RawRequestMessage | _ErrInfo, StreamReader], task: "asyncio.Task[None]"
    ) -> bool:
        """Answer a request, or what is none; whether the connection is good for another."""
        message, body = arrived
        self.body = body
        has_arrived = body.is_eof()
        if has_arrived:
            self._free_slot()
        self._request_in_progress = True
        try:
            if isinstance(message, _ErrInfo) or message.path is None:  # CONNECT to nothing
                request = HttpRequest(ERROR, body, self, task)
                response: HttpResponse = self._server.refuse_connection(BadRequest())
            else:
                request = HttpRequest(message, body, self, task)
                self._current_request = request  # type: ignore[assignment]  # it offers what is asked of one
                try:
                    response = await self._server.handler(request)
                except Exception as fault:
                    report_fault(log, fault)
                    response = self._server.refuse_connection(InternalError(), request.id)
                finally:
                    self._current_request = None
            self._keepalive = response.keep_alive and (has_arrived or body.is_eof())
            rest = self._decline_upgrade(request, response) if self._upgraded else response.send(self)
            if rest is not None:
                await rest
        except ConnectionError:  # the client was gone before its answer
            return False
        finally:
            self._request_in_progress = False
            self.body = EMPTY_PAYLOAD  # an idle connection keeps nothing
            if self._handler_waiter is not None:
                self._handler_waiter.set_result(None)
        if not self._keepalive or self._close:
            return False
        if not has_arrived:
            self._free_slot()
            self.data_received(b"")  # the parser may have stopped while this one held its slot
        return True

    async def _decline_upgrade(self, request: HttpRequest, response: HttpResponse) -> None:
        """Send the response; what came after the request has to be parsed. Raises ConnectionError."""
        _, is_lost = await self.finish_response(cast(Any, request), cast(Any, response), None)
        if is_lost:
            raise ConnectionResetError

    def _free_slot(self) -> None:
        """Let the parser go on. It counts requests whose body has ended: told earlier, it miscounts."""
        if self._parser is not None:
            self._parser.message_consumed()
        if self._buffer_paused and len(self._messages) <= self._msg_queue_resume_size:
            self._resume_reading_if_drained()

    def _request_id(self) -> str | None:
        """That of the request being served."""
        request = cast("HttpRequest | None", self._current_request)
        return None if request is None else request.id

    def _expect_next(self) -> None:
        """Start the time for which an idle connection is kept."""
        closes_at = self._loop.time() + self._keepalive_timeout
        self._next_keepalive_close_time = closes_at
        if self._keepalive_handle is None:
            self._keepalive_handle = self._loop.call_at(closes_at, self._process_keepalive)

    def _process_keepalive(self) -> None:
        """aiohttp: perhaps it was idle for too long. A head that has begun has a deadline of its own."""
        if self._deadline is None:
            super()._process_keepalive()
        else:
            self._keepalive_handle = None

    async def drain(self) -> None:
        """Wait until the client has read enough to be written to again."""
        await self._drain_helper()

    async def linger(self) -> bool:
        """After the last answer: drop what still comes, until the client closes or a second is over.

        Returns whether the client was still there.
        """
        self._close = True
        wire = self._wire
        if wire is None or wire.is_closing() or self._force_close:
            return False
        if wire.can_write_eof():
            wire.write_eof()
        if not wire.is_reading():
            wire.resume_reading()
        self._gone = self._loop.create_future()
        await asyncio.wait((self._gone,), timeout=_LINGER_SECONDS)
        return True

    async def was_read(self, seconds: float) -> bool:
        """Whether the client takes everything in that time; closing before that, it breaks the connection."""
        wire = self._wire
        return (wire is None or await is_taken(wire, seconds)) and not self._is_broken

    def _stop_lingering(self) -> None:
        if self._gone is not None and not self._gone.done():
            self._gone.set_result(None)

    @property
    def has_next(self) -> bool:
        """Whether another request is there already."""
        return bool(self._messages)

    @property
    def expects_head(self) -> bool:
        """Whether the deadline of a head is running."""
        return self._deadline is not None

    def close_if_idle(self) -> None:
        """Close unless a request is being read, handled or answered."""
        if self._is_waiting():
            self.force_close()

    def _take_heads(self) -> None:
        """At least one head is whole, or the parser has given up."""
        self._framing.restart(self._request_count)
        self._stop_deadline()
        if isinstance(self._messages[-1][0], _ErrInfo):
            self._fail_last_body()

    def _fail_last_body(self) -> None:
        """The parser has given up: if it was inside of a body, let the body's reader know."""
        body = self._messages[-2][1] if len(self._messages) > 1 else self.body
        if not body.is_eof():
            body.set_exception(web.RequestPayloadError())
            body.feed_eof()

    def _break_off(self, body: StreamReader) -> None:
        """Take no more of what has become too long: a head, or what frames a body."""
        if not body.is_eof():
            body.set_exception(web.RequestPayloadError())
        elif not (self._request_in_progress or self._messages or self._close):
            self._refuse_connection(BadRequest())
        self._close = True

    def _is_waiting(self) -> bool:
        return self._waiter is not None and not self._waiter.done()

    def _expect_head(self) -> None:
        self._deadline = self._loop.call_later(self._server.settings.head_seconds, self._head_is_late)

    def _stop_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _head_is_late(self) -> None:
        self._refuse_connection(RequestTimeout())

    def _refuse_connection(self, refusal: Refusal, *, lingers: bool = True) -> None:
        self._stop_deadline()
        transport = self.transport
        if transport is None:
            return
        transport.write(self._server.refuse_connection(refusal).wire)
        self._close = True
        if not lingers:
            self.force_close()
            return
        self._loop.call_later(_LINGER_SECONDS, self.force_close)
        if transport.can_write_eof():
            transport.write_eof()
