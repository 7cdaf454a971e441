"""One connection: requests in, responses out, one after the other.

It has aiohttp's parser and no other part of aiohttp (D68). Its server, which this module replaces, was
measured at 3.14: a head or a silent new connection has no deadline; a handler that waits for a body does not
learn that the body is malformed; input that the parser refuses is answered in plain text and logged with a
traceback; a connection being closed waits for ever for a client that does not read; and a client that
half-closes counts as gone.
"""

import asyncio
import logging
from math import inf
from sys import intern
from typing import cast

from gateway.domain.answers import refuse
from gateway.domain.errors import (
    NOT_BEGUN,
    BadRequest,
    BodyTooLarge,
    InternalError,
    Overloaded,
    Refusal,
    RequestTimeout,
    ShuttingDown,
)
from gateway.http import state
from gateway.http.admission import Deadline
from gateway.http.cutting import Message
from gateway.http.fence import LATE_SECONDS, LATEST_SECONDS, Backlog, has_left, unread_bytes
from gateway.http.messages import Request, Response, encode_refusal, encode_response
from gateway.http.receiving import FramingTooLong, Receiver
from gateway.http.sending import LINGER_SECONDS, Sender, wake
from gateway.http.service import Service
from gateway.http.state import Event, State, UnknownTransition
from gateway.observability.logs import register, report_exception, unregister

log = logging.getLogger("kvs.edge")

_BREAKING = frozenset({BadRequest.code, RequestTimeout.code, BodyTooLarge.code})
"""Codes of refusals after which it is unknown where the next request begins."""

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class Connection(asyncio.Protocol):
    """Serves the requests of one client. `gateway.http.state` explains its states.

    Parsed messages wait in the receiver's queue. One task takes them in turn; it begins with the first
    message and ends with the connection.
    """

    __slots__ = (
        "__weakref__",
        "_backlog",
        "_deadline",
        "_fence",
        "_is_gone",
        "_is_stale",
        "_loop",
        "_receiver",
        "_request",
        "_sender",
        "_service",
        "_since",
        "_steps",
        "_task",
        "_transport",
        "_waiter",
        "peer",
        "state",
    )

    _transport: asyncio.Transport
    _sender: Sender

    def __init__(self, service: Service) -> None:
        self._service = service
        self._steps = service.limiter.steps
        self._fence = service.fence
        self._since = inf
        self._backlog: Backlog | None = None
        self._is_gone = self._is_stale = False
        self._loop = asyncio.get_running_loop()
        self._receiver = Receiver(self._loop, self._parse_on, self._begin_backlog)
        self._deadline = Deadline(self._loop)
        self._task: asyncio.Task[None] | None = None
        self._request: Request | None = None
        self._waiter: asyncio.Future[None] | None = None
        self.state: State = state.NEW
        self.peer = ""
        service.to_connect.add(self)

    # for the listener: `OpenConnection`

    def close_if_idle(self) -> None:
        if self.state in state.IDLE:
            self._close()

    def stop_lingering(self) -> None:
        if self.state is state.REFUSED:
            self._close()
        self._sender.stop_lingering()

    def evict(self) -> None:
        if self.state < state.BROKEN:
            self._on(state.ABORT)
            self._sender.abort()

    def abort(self) -> None:
        if self._task is not None:
            self._task.cancel()
        self.evict()

    def distrust(self) -> None:
        self._is_stale = self._is_stale or self.state is not state.KEPT or bool(unread_bytes(self._transport))

    # for the request being served: `Client`

    def invite(self) -> None:
        self._sender.write(_CONTINUE)

    def may_write(self) -> bool:
        """Tests whether a write may begin now (`gateway.http.fence`). Each write pays for this.

        While its bytes are young, no standstill can have gone unnoticed since they came.
        """
        age_seconds = self._fence.now() - self._since
        if age_seconds <= LATE_SECONDS:
            return not (self._is_stale or self._is_gone)
        self._fence.check()
        if self._is_stale or self._is_gone:
            return False
        return age_seconds <= LATEST_SECONDS and not has_left(self._transport)

    # for the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        service, settings = self._service, self._service.settings
        self._transport = cast(asyncio.Transport, transport)  # uvloop's does not inherit from it
        self._receiver.open(self._transport)
        self._sender = Sender(self._transport, settings.write_seconds)
        name = transport.get_extra_info("peername")
        self.peer = intern(name[0]) if name else ""  # behind a proxy all have the same
        service.to_connect.discard(self)
        self._is_stale = self._fence.is_from_before(transport)
        if service.limiter.admit(self):
            self._deadline.set(settings.head_seconds, self._refuse_late_head)
            return
        self._refuse(Overloaded("this replica, or your address, has reached its limit of connections"))
        if not service.limiter.may_linger(self):
            self._close()

    def data_received(self, data: bytes) -> None:
        """Feeds bytes, or none (`_parse_on`), to the parser, and acts on the result.

        The task is woken for whole heads alone, so a request costs one task switch and not one per packet. A
        body on the way wakes its reader through its stream; here only the end of the body is noticed, because
        from then on the connection must not be evicted: its client has sent everything.
        """
        if self.state >= state.LINGERING:
            return
        self._since = self._fence.since if self._backlog is None else self._since_in_backlog(len(data))
        try:
            has_messages = self._receiver.feed(data)
        except FramingTooLong:  # requests before it are answered; then it ends without a response
            if self.state in state.IDLE:
                self._refuse(BadRequest())
            elif self.state is state.RECEIVING:
                self._on(state.BODY_ENDED)
            return
        if has_messages:
            self._on(state.MESSAGE)
            self._deadline.clear()
            if self._task is None:
                self._task = self._loop.create_task(self._serve(), name="connection")
            else:
                wake(self._waiter)
        elif self.state is state.RECEIVING:
            request = self._request
            if request is not None and request.body.is_eof():
                self._on(state.BODY_ENDED)
        elif self.state is state.KEPT and data:
            self._on(state.PIECE)
            self._deadline.set(self._service.settings.head_seconds, self._refuse_late_head)

    def eof_received(self) -> bool:
        """Ends the input: the client sends no more. Whole requests are answered (RFC 9112, section 9.6).

        True keeps the other direction open, which TLS cannot do.
        """
        self._receiver.end()
        self._sender.stop_lingering()
        is_tls = self._transport.get_extra_info("ssl_object") is not None
        if self.state in state.BUSY and not is_tls:
            if self.state is state.RECEIVING:
                self._on(state.BODY_ENDED)
            return True
        self._is_gone = True
        self._close()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_gone = True
        self._on(state.LOST if exc is None else state.RESET)
        self._service.limiter.leave(self)
        if self._task is not None:
            self._service.unfinished.add(self._task)
        self._receiver.lose()
        self._deadline.close()
        self._sender.lost()
        wake(self._waiter)

    def pause_writing(self) -> None:
        self._sender.pause()

    def resume_writing(self) -> None:
        self._sender.resume()

    # requests

    def _on(self, event: Event) -> None:
        try:
            self.state, left, joined = self._steps[self.state][event]
        except KeyError:
            raise UnknownTransition(self.state, event) from None
        if left is not None:
            left.pop(self, None)
        if joined is not None:
            joined[self] = None

    def _parse_on(self) -> None:
        """Continues to parse when the receiver has room again. The bytes keep their age."""
        since = self._since
        self.data_received(b"")
        self._since = since

    def _begin_backlog(self) -> None:
        """Begins a backlog, if there is none: the receiver has paused the transport."""
        if self._backlog is None:
            self._backlog = Backlog(self._fence, self._transport)

    def _since_in_backlog(self, size: int) -> float:
        backlog = cast(Backlog, self._backlog)
        since = backlog.take(size)
        if size and backlog.is_over:
            self._backlog = None
        return since

    async def _serve(self) -> None:
        task = cast("asyncio.Task[None]", self._task)
        register(task, self)
        try:
            queue = self._receiver.queue
            while queue and await self._exchange(queue.pop(0), task):
                if queue:
                    await asyncio.sleep(0)  # lets others run, even if nothing has suspended
                elif self._receiver.input is state.OPEN:
                    self._on(state.KEEP)
                    if self._backlog is not None and self._backlog.is_over:
                        self._backlog = None
                    self._deadline.set(self._service.settings.idle_seconds, self._close)
                    self._waiter = self._loop.create_future()
                    await self._waiter
        except Exception as error:
            report_exception(log, error)
        finally:
            self._service.unfinished.discard(task)
            unregister(task)
            self._task = self._waiter = self._request = None
            self._close()

    async def _exchange(self, message: Message | None, task: "asyncio.Task[None]") -> bool:
        """Sends the response to a message. Returns False if the connection cannot serve another.

        Everything may have changed wherever this suspends: the connection may be lost or evicted while the
        handler runs or the client reads. So the state is looked at after each `await`, and nothing is sent to
        a connection that ends. A handler is not cancelled for that: its store may have done the work already.

        A message is freed for the parser as soon as its body has ended: before it is served, so that the next
        ones are parsed meanwhile, or else when its response is written. A response that leaves a part of the
        body unread ends the connection, so such a message is never freed.
        """
        if message is None or self._is_stale:
            return await self._end_unserved()
        receiver = self._receiver
        head, body = message
        has_arrived = body.is_eof()
        if has_arrived:
            receiver.free()
        else:
            self._on(state.AWAIT_BODY)
        request = self._request = Request(head, body, self, task)
        try:
            response = await self._service.handler(request)
        except Exception as error:
            response = self._fail(error)
        if self.state >= state.CLOSING:
            return False
        code = response.answer.code
        closes = (
            response.closes
            or not body.is_eof()
            or code in _BREAKING
            or (receiver.input is state.LAST and request.keep_alive and not receiver.queue)
            or self._is_stale
        )
        if self._service.is_draining() and (code == ShuttingDown.code or not receiver.queue):
            closes = True  # a drain answers pipelined requests that have arrived first
        keep_alive = (
            request.keep_alive and not closes and (receiver.input is state.OPEN or bool(receiver.queue))
        )
        now_seconds = self._service.clock.wall_ms() // 1000
        first, rest = encode_response(request, response.answer, now_seconds, keep_alive=keep_alive)
        self._sender.write(first)
        if rest:
            self._sender.write(rest)
        if self._sender.is_paused and not await self._drain():
            return False
        if closes:
            await self._end_with(response)
            return False
        self._request = None
        if keep_alive and not has_arrived:
            receiver.free()
        return keep_alive

    async def _end_unserved(self) -> bool:
        """Refuses a message that must not be begun, or is not a request, and ends the connection."""
        self._write_refusal(Overloaded(NOT_BEGUN) if self._is_stale else BadRequest())
        await self._linger()
        return False

    def _fail(self, error: Exception) -> Response:
        """Refuses a request whose handler raised an unexpected exception."""
        report_exception(log, error)
        self._service.count_refusal(InternalError())
        return Response(refuse(InternalError()), closes=True)

    @property
    def request_id(self) -> str | None:
        """Request id of the current request, for log lines."""
        return None if self._request is None else self._request.id

    # ends

    async def _drain(self) -> bool:
        """Waits until the client has read enough. Returns False if the connection ends instead."""
        self._on(state.BLOCK)
        if not await self._sender.drain():
            self.evict()
        if self.state is not state.UNREAD:
            return False
        self._on(state.DRAINED)
        return True

    async def _end_with(self, response: Response) -> None:
        was_there = await self._linger()
        if response.on_read is None or not was_there:
            return
        if await self._sender.was_acknowledged() and self.state is not state.BROKEN:
            response.on_read()

    async def _linger(self) -> bool:
        self._on(state.SHUT_DOWN)
        return await self._sender.linger(for_client=self._receiver.input is not state.ENDED)

    def _refuse(self, refusal: Refusal) -> None:
        """Refuses input that is not a request, and ends the connection."""
        self._on(state.REFUSE)
        self._write_refusal(refusal)
        self._sender.shut_down()
        self._deadline.set(LINGER_SECONDS, self._close)

    def _write_refusal(self, refusal: Refusal) -> None:
        self._service.count_refusal(refusal)
        self._sender.write(encode_refusal(refusal, self._service.clock.wall_ms() // 1000))

    def _refuse_late_head(self) -> None:
        seconds = self._service.settings.head_seconds
        self._refuse(RequestTimeout(f"the head did not arrive in time, at most {seconds:g} s"))

    def _close(self) -> None:
        """Closes once everything written has been sent; a client that does not read has `write_seconds`."""
        if self.state >= state.CLOSING:
            return
        self._on(state.CLOSE)
        self._deadline.clear()
        if self._sender.close():
            self._deadline.set(self._service.settings.write_seconds, self.evict)
