"""One call of the asynchronous client: attempts over a pool of connections until there is an answer."""

import asyncio

from kvs_client import forks
from kvs_client.answers import Answer, error_of
from kvs_client.async_pool import AsyncPool
from kvs_client.configuration import Configuration
from kvs_client.credentials import CredentialSource
from kvs_client.errors import KvsError, Unavailable, closed
from kvs_client.options import Options, positive
from kvs_client.retries import RateLimitGate, RetrySchedule
from kvs_client.signing import Credentials, Signer


class AsyncTransport:
    """Makes calls for any number of tasks of one event loop."""

    def __init__(self, configuration: Configuration, options: Options, source: CredentialSource) -> None:
        self._options = options
        self._source = source
        self._signer = Signer(configuration)
        self._token = configuration.token
        self._base = configuration.base
        self._gate = RateLimitGate()
        self._is_closed = False
        self._open()
        forks.renew_in_children(self)

    def renew(self) -> None:
        """Replaces the connections and the semaphore, which belong to the process that forked this one."""
        forks.keep_alive((self._pool, self._slots))
        self._open()

    def _open(self) -> None:
        self._pool = AsyncPool(self._base)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._slots = asyncio.Semaphore(self._options.connections)

    async def call(self, operation: str, body: bytes, deadline_seconds: float | None) -> bytes:
        """Returns the body of an answer of 200; otherwise raises the error of the last attempt."""
        seconds = self._options.deadline_seconds if deadline_seconds is None else deadline_seconds
        positive("deadline_seconds", seconds)
        if self._is_closed:
            raise RuntimeError("the client is closed")
        clock = self._claimed_loop().time
        schedule = RetrySchedule(self._options, self._gate, clock() + seconds)
        while True:
            credentials = self._source.ready() or await self._fetched(schedule)
            await self._take_slot(schedule)
            try:
                pause = schedule.pause_at_gate(clock())
                if not pause:
                    result = await self._attempt(operation, body, credentials, schedule)
                    if isinstance(result, bytes):
                        return result
                    pause = schedule.pause_after(result, clock())
            finally:
                self._slots.release()
            await asyncio.sleep(pause)

    async def close(self) -> None:
        self._is_closed = True
        await self._pool.close()

    async def _fetched(self, schedule: RetrySchedule) -> Credentials:
        future = asyncio.wrap_future(self._source.fetch())
        failure: BaseException | None = None
        try:
            async with asyncio.timeout_at(schedule.deadline):
                return await future
        except TimeoutError:
            failure = schedule.timeout_error()
        except KvsError as error:
            failure = error.again()
        raise failure

    async def _take_slot(self, schedule: RetrySchedule) -> None:
        if not self._slots.locked():
            await self._slots.acquire()
            return
        try:
            async with asyncio.timeout_at(schedule.deadline):
                await self._slots.acquire()
        except TimeoutError:
            pass
        else:
            return
        raise schedule.timeout_error()

    async def _attempt(
        self, operation: str, body: bytes, credentials: Credentials, schedule: RetrySchedule
    ) -> bytes | KvsError:
        if self._is_closed:
            raise closed()
        clock = asyncio.get_running_loop().time
        ends = schedule.attempt_deadline(clock())
        try:
            async with asyncio.timeout_at(ends):
                answer = await self._exchange(operation, body, credentials)
        except (OSError, ValueError) as error:
            reason = type(error).__name__
        except asyncio.CancelledError as cancelled:  # its stack would show secrets
            raise cancelled.with_traceback(None)  # noqa: B904 - it is the same
        else:
            return error_of(answer, tokens=(self._token, credentials.token)) or answer.body
        if clock() >= schedule.deadline:
            return schedule.timeout_error()
        return Unavailable("no_answer", reason)

    async def _exchange(self, operation: str, body: bytes, credentials: Credentials) -> Answer:
        fields = self._signer.fields(operation, body, credentials)
        lines = [f"POST {self._base.path}/v1/{operation} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in fields.items()]
        head = "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""])
        return await self._pool.exchange(head.encode() + body, self._options.answer_bytes)

    def _claimed_loop(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = loop
        if self._loop is not loop:
            raise RuntimeError("this client belongs to another event loop: make one in each")
        return loop
