"""One call of the synchronous client: attempts over a pool of connections until there is an answer."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException

from urllib3 import BaseHTTPResponse, Timeout
from urllib3.exceptions import HTTPError

from kvs_client import forks
from kvs_client.answers import Answer, error_of
from kvs_client.configuration import Configuration
from kvs_client.credentials import CredentialSource
from kvs_client.errors import KvsError, Unavailable, closed
from kvs_client.options import Options, positive
from kvs_client.pool import open_pool
from kvs_client.retries import RateLimitGate, RetrySchedule
from kvs_client.signing import Credentials, Signer


class Transport:
    """Makes calls for any number of threads."""

    def __init__(self, configuration: Configuration, options: Options, source: CredentialSource) -> None:
        base = configuration.base
        self._options = options
        self._source = source
        self._signer = Signer(configuration)
        self._token = configuration.token
        self._base = base
        self._gate = RateLimitGate()
        self._is_closed = False
        self._open()
        forks.renew_in_children(self)

    def renew(self) -> None:
        """Replaces the connections and the semaphore, which belong to the process that forked this one."""
        forks.keep_alive(self._pool)
        self._open()

    def _open(self) -> None:
        base, connections = self._base, self._options.connections
        self._pool = open_pool(base.scheme, base.hostname or "", base.port, connections)
        self._slots = threading.Semaphore(connections)

    def call(self, operation: str, body: bytes, deadline_seconds: float | None) -> bytes:
        """Returns the body of an answer of 200; otherwise raises the error of the last attempt."""
        seconds = self._options.deadline_seconds if deadline_seconds is None else deadline_seconds
        positive("deadline_seconds", seconds)
        if self._is_closed:
            raise RuntimeError("the client is closed")
        schedule = RetrySchedule(self._options, self._gate, time.monotonic() + seconds)
        while True:
            credentials = self._credentials(schedule)
            with self._slot(schedule):
                pause = schedule.pause_at_gate(time.monotonic())
                if not pause:
                    result = self._attempt(operation, body, credentials, schedule)
                    if isinstance(result, bytes):
                        return result
                    pause = schedule.pause_after(result, time.monotonic())
            time.sleep(pause)

    def close(self) -> None:
        self._is_closed = True
        self._pool.close()

    def _credentials(self, schedule: RetrySchedule) -> Credentials:
        ready = self._source.ready()
        if ready is not None:
            return ready
        future = self._source.fetch()
        try:
            failure = future.exception(schedule.deadline - time.monotonic())
        except TimeoutError:
            failure = schedule.timeout_error()
        if isinstance(failure, KvsError):
            raise failure.again()
        return future.result()

    @contextmanager
    def _slot(self, schedule: RetrySchedule) -> Iterator[None]:
        if not self._slots.acquire(timeout=max(0.0, schedule.deadline - time.monotonic())):
            raise schedule.timeout_error()
        try:
            yield
        finally:
            self._slots.release()

    def _attempt(
        self, operation: str, body: bytes, credentials: Credentials, schedule: RetrySchedule
    ) -> bytes | KvsError:
        if self._is_closed:
            raise closed()
        now = time.monotonic()
        left = schedule.attempt_deadline(now) - now
        try:
            answer = self._exchange(operation, body, credentials, left)
        except (HTTPError, HTTPException, OSError, ValueError) as error:
            reason = type(error).__name__
        except BaseException as interruption:  # e.g. of a signal handler; its stack would show secrets
            raise interruption.with_traceback(None)  # noqa: B904 - it is the same
        else:
            return error_of(answer, tokens=(self._token, credentials.token)) or answer.body
        if time.monotonic() >= schedule.deadline:
            return schedule.timeout_error()
        return Unavailable("no_answer", reason)

    def _exchange(self, operation: str, body: bytes, credentials: Credentials, seconds: float) -> Answer:
        response = self._pool.urlopen(
            "POST",
            f"{self._base.path}/v1/{operation}",
            body,
            self._signer.fields(operation, body, credentials),
            redirect=False,
            assert_same_host=False,
            timeout=Timeout(total=seconds),
            preload_content=False,
            decode_content=False,
        )
        return _read(response, self._options.answer_bytes)


def _body(response: BaseHTTPResponse, bound: int) -> bytes:
    """Reads to the end, where urllib3 detects missing bytes, or one byte beyond the bound."""
    body = response.read(bound + 1)
    while len(body) <= bound and (part := response.read(bound + 1 - len(body))):
        body += part
    return body


def _read(response: BaseHTTPResponse, bound: int) -> Answer:
    """Reads at most `bound` bytes; a connection that has more to deliver is not reused."""
    declared = response.length_remaining
    try:
        body = b"" if declared is not None and declared > bound else _body(response, bound)
    finally:
        if not response.closed or response.status < 200:
            response.close()
        response.release_conn()
    is_whole = len(body) <= bound and (declared is None or declared <= bound)
    return Answer(response.status, response.headers, body if is_whole else b"", is_whole)
