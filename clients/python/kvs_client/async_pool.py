"""Connections of the asynchronous client to one address."""

import asyncio
import ssl
from urllib.parse import SplitResult

from kvs_client.answers import Answer
from kvs_client.async_connection import Connection

_KEPT_SECONDS = 60
"""Less than the 75 s after which the gateway closes an idle connection."""
_NEXT_ADDRESS_SECONDS = 0.25
"""Wait before the next address of a name is tried as well (RFC 8305)."""


class AsyncPool:
    """Reuses idle connections that are silent, the last used one first. The caller bounds their number."""

    def __init__(self, base: SplitResult) -> None:
        self._host = base.hostname or ""
        self._port = base.port or (443 if base.scheme == "https" else 80)
        self._tls = ssl.create_default_context() if base.scheme == "https" else None
        self._idle: list[Connection] = []
        self._all: set[Connection] = set()
        self._sweep: asyncio.TimerHandle | None = None
        self._is_closed = False

    async def exchange(self, request: bytes, bound: int) -> Answer:
        """Sends a request on an idle connection or a new one; a cancelled call closes its connection."""
        connection = self._silent() or await self._opened()
        is_kept = False
        try:
            answer, is_kept = await connection.exchange(request, bound)
            return answer
        finally:
            if is_kept and not self._is_closed:
                self._keep(connection)
            else:
                self._drop(connection)

    async def close(self) -> None:
        """Closes all connections; exchanges in progress fail."""
        self._is_closed = True
        if self._sweep is not None:
            self._sweep.cancel()
        closing = list(self._all)
        for each in closing:
            self._drop(each)
        if closing:
            await asyncio.wait([each.lost for each in closing])

    def _silent(self) -> Connection | None:
        oldest = asyncio.get_running_loop().time() - _KEPT_SECONDS
        while self._idle:
            connection = self._idle.pop()
            if connection.idle_since > oldest and connection.is_silent():
                return connection
            self._drop(connection)
        return None

    async def _opened(self) -> Connection:
        is_address = ":" in self._host or self._host.rpartition(".")[2].isdigit()
        _, connection = await asyncio.get_running_loop().create_connection(
            Connection,
            self._host,
            self._port,
            ssl=self._tls,
            happy_eyeballs_delay=None if is_address else _NEXT_ADDRESS_SECONDS,
        )
        self._all.add(connection)
        if self._is_closed:
            self._drop(connection)
        return connection

    def _keep(self, connection: Connection) -> None:
        loop = asyncio.get_running_loop()
        connection.idle_since = loop.time()
        self._idle.append(connection)
        if self._sweep is None:
            self._sweep = loop.call_later(_KEPT_SECONDS, self._close_old)

    def _drop(self, connection: Connection) -> None:
        self._all.discard(connection)
        connection.abort()

    def _close_old(self) -> None:
        """Closes connections that nobody used for this time, even if no call follows."""
        loop = asyncio.get_running_loop()
        oldest = loop.time() - _KEPT_SECONDS
        for each in [each for each in self._idle if each.idle_since <= oldest]:
            self._idle.remove(each)
            self._drop(each)
        self._sweep = None
        if self._idle:
            left = self._idle[0].idle_since - oldest
            self._sweep = loop.call_later(left, self._close_old)
