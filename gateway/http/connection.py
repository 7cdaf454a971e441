"""One connection: requests in, responses out, one after the other.

It has aiohttp's parser and is nothing of aiohttp's (D68). Measured on aiohttp 3.14, whose server it
replaces: a head or a silent new connection has no deadline there, a handler is not told that the body it
waits for is malformed, what the parser refuses is answered in plain text and logged with a traceback, a
closed connection waits without end for a client that does not read, and a client that half-closes counts
as gone.
"""

import asyncio
import logging
from sys import intern
from typing import cast

from aiohttp import StreamReader

from gateway.domain.answers import refuse
from gateway.domain.errors import (
    BadRequest,
    BodyTooLarge,
    InternalError,
    Overloaded,
    Refusal,
    RequestTimeout,
    ShuttingDown,
)
from gateway.http.deadline import Deadline
from gateway.http.messages import Request, Response, encode_refusal, encode_response, is_servable
from gateway.http.receiving import FramingTooLong, Malformed, Message, Receiver
from gateway.http.sending import LINGER_SECONDS, Sender, wake
from gateway.http.service import OpenConnection, Service
from gateway.observability.logs import name_server_of, report_exception, unregister

log = logging.getLogger("kvs.edge")

_BREAKING = frozenset({BadRequest.code, RequestTimeout.code, BodyTooLarge.code})
"""After these nobody knows where the next request begins."""

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class Connection(asyncio.Protocol):
    """Serves the requests of one client.

    Parsed messages wait in a queue; a None there stands for what is not HTTP. One task takes them in turn; it
    begins with the first message and ends with the connection. Once `_ends`, what still comes is dropped, and
    the connection is closed when the queue is empty.
    """

    __slots__ = (
        "__weakref__",
        "_awaits_head",
        "_deadline",
        "_ends",
        "_loop",
        "_receiver",
        "_request",
        "_sender",
        "_service",
        "_task",
        "_transport",
        "_waiter",
        "_waits_in",
        "peer",
    )

    _transport: asyncio.Transport
    _sender: Sender
    _waits_in: dict[OpenConnection, None]

    def __init__(self, service: Service) -> None:
        self._service = service
        self._loop = asyncio.get_running_loop()
        self._receiver = Receiver(self._loop, self._parse_on)
        self._deadline = Deadline(self._loop)
        self._task: asyncio.Task[None] | None = None
        self._request: Request | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._awaits_head = True
        self._ends = False
        self.peer = ""
        service.to_connect.add(self)

    # for the listener: `OpenConnection`

    @property
    def awaits_head(self) -> bool:
        return self._awaits_head

    def close_if_idle(self) -> None:
        if not self._is_busy:
            self._close()

    def stop_lingering(self) -> None:
        self._sender.stop_lingering()

    def evict(self) -> None:
        self._ends = True
        self._sender.abort()

    def abort(self) -> None:
        if self._task is not None:
            self._task.cancel()
        self._sender.abort()

    # for the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        service, settings = self._service, self._service.settings
        self._transport = cast(asyncio.Transport, transport)  # uvloop's does not inherit from it
        self._receiver.open(self._transport)
        self._sender = Sender(self._transport, self._deadline, settings.write_seconds)
        name = transport.get_extra_info("peername")
        self.peer = intern(name[0]) if name else ""  # behind a proxy all have the same
        service.to_connect.discard(self)
        self._waits_in = service.limiter.new
        if service.limiter.admits(self):
            self._deadline.set(settings.head_seconds, self._refuse_late_head)
            return
        self._refuse(Overloaded("this replica, or this address, has as many connections as it may"))
        if not service.limiter.lets_linger(self):
            self._close()

    def data_received(self, data: bytes) -> None:
        if self._ends:
            return
        try:
            has_messages = self._receiver.feed(data)
        except Malformed:
            self._ends = has_messages = True
            self._receiver.queue.append(None)
        except FramingTooLong:
            self._ends = True
            if not self._is_busy:
                self._refuse(BadRequest())
            return
        if has_messages:
            self._begin_to_serve()
        elif self._request is not None:
            if self._request.body.is_eof():
                self._waits_in.pop(self, None)
        elif data and not self._awaits_head and not self._is_busy:
            self._awaits_head = True
            self._deadline.set(self._service.settings.head_seconds, self._refuse_late_head)

    def eof_received(self) -> bool:
        """The client sends no more. What it has sent whole is answered (RFC 9112, section 9.6).

        True keeps the other direction open, which TLS cannot do.
        """
        self._ends = True
        self._receiver.end()
        self._sender.client_ended()
        is_tls = self._transport.get_extra_info("ssl_object") is not None
        if self._is_busy and not is_tls:
            return True
        self._close()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._service.limiter.leave(self)
        if self._task is not None:
            self._service.unfinished.add(self._task)
        self._ends = True
        self._receiver.lose()
        self._deadline.close()
        self._sender.lost(exc)
        wake(self._waiter)

    def pause_writing(self) -> None:
        self._sender.pause()

    def resume_writing(self) -> None:
        self._sender.resume()

    # requests

    @property
    def _is_busy(self) -> bool:
        """Whether a request is being read, served or answered, or waits for that."""
        return self._request is not None or bool(self._receiver.queue)

    @property
    def _is_last(self) -> bool:
        """Whether no other request can follow the one that is being served."""
        return (self._ends or self._receiver.has_dropped) and not self._receiver.queue

    def _parse_on(self) -> None:
        """For the receiver, which has room."""
        self.data_received(b"")

    def _begin_to_serve(self) -> None:
        self._awaits_head = False
        self._waits_in.pop(self, None)
        self._deadline.clear()
        if self._task is None:
            self._task = self._loop.create_task(self._serve(), name="connection")
        else:
            wake(self._waiter)

    async def _serve(self) -> None:
        task = cast("asyncio.Task[None]", self._task)
        name_server_of(task, self)
        try:
            queue = self._receiver.queue
            while queue and await self._exchange(queue.pop(0), task):
                if queue:
                    await asyncio.sleep(0)  # perhaps nothing has suspended: others get their turn
                elif not self._ends:
                    self._wait_in(self._service.limiter.kept)
                    self._deadline.set(self._service.settings.idle_seconds, self._close)
                    self._waiter = self._loop.create_future()
                    await self._waiter
        except Exception as error:
            report_exception(log, error)
        finally:
            self._service.unfinished.discard(task)
            unregister(task)
            self._task = self._waiter = self._request = None
            self._wait_in(self._service.limiter.unread)
            self._close()

    async def _exchange(self, message: Message | None, task: "asyncio.Task[None]") -> bool:
        """Send the response to a message; False if the connection is good for no other."""
        if message is None or not is_servable(message[0]):
            self._refuse(BadRequest())
            self._wait_in(self._service.limiter.unread)
            await self._sender.linger()
            return False
        head, body = message
        has_arrived = body.is_eof()
        if has_arrived:
            self._receiver.free()
        else:
            self._wait_in(self._service.limiter.receiving)
        request = self._request = Request(head, body, self.peer, self._invite, task)
        try:
            response = await self._service.handler(request)
        except Exception as error:
            response = self._fail(error)
        closes = response.closes or self._must_close(body, response.answer.code)
        keep_alive = request.keep_alive and not (closes or self._is_last)
        now_seconds = self._service.clock.wall_ms() // 1000
        first, rest = encode_response(request, response.answer, now_seconds, keep_alive=keep_alive)
        self._sender.write(first)
        if rest:
            self._sender.write(rest)
        if self._sender.is_paused:
            self._wait_in(self._service.limiter.unread)
            if not await self._sender.drain():
                return False
        if closes:
            self._ends = True
            self._wait_in(self._service.limiter.unread)
            was_there = await self._sender.linger()
            if response.on_read is not None and was_there and await self._sender.was_read():
                response.on_read()
        self._request = None
        self._waits_in.pop(self, None)
        if keep_alive and not has_arrived:
            self._receiver.free()
        return keep_alive

    def _wait_in(self, group: dict[OpenConnection, None]) -> None:
        """Wait for the client, among others that wait for the same, unless its place is lost."""
        self._waits_in.pop(self, None)
        if self in self._service.limiter.taken:
            self._waits_in = group
            group[self] = None

    def _must_close(self, body: StreamReader, code: str | None) -> bool:
        """What is left of the request's body, or a drain, ends the connection.

        A drain lets pipelined requests that are there be answered first.
        """
        if not body.is_eof() or code in _BREAKING:
            return True
        return self._service.is_draining() and (code == ShuttingDown.code or not self._receiver.queue)

    def _fail(self, error: Exception) -> Response:
        """A handler has no exceptions of its own: this one was not handled."""
        report_exception(log, error)
        self._service.count_refusal(InternalError())
        return Response(refuse(InternalError()), closes=True)

    @property
    def request_id(self) -> str | None:
        """That of the request being served, for the log."""
        return None if self._request is None else self._request.id

    def _invite(self) -> None:
        self._sender.write(_CONTINUE)

    # ends

    def _refuse(self, refusal: Refusal) -> None:
        """Answer what is no request, or cannot be served, and end the connection."""
        self._service.count_refusal(refusal)
        self._ends = True
        now_seconds = self._service.clock.wall_ms() // 1000
        self._sender.write(encode_refusal(refusal, now_seconds))
        self._sender.shut_down()
        self._deadline.set(LINGER_SECONDS, self._close)

    def _refuse_late_head(self) -> None:
        seconds = self._service.settings.head_seconds
        self._refuse(RequestTimeout(f"the head did not arrive in time, at most {seconds:g} s"))

    def _close(self) -> None:
        self._ends = True
        self._sender.close()
