"""One listening socket: opened, closed to new connections, and closed for good."""

import asyncio
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from gateway.config.certificates import ShownCertificate
from gateway.config.settings import DataListener, Listening
from gateway.http.connection import Connection
from gateway.http.handover import leave_port
from gateway.http.handshake import Handshake
from gateway.http.service import Service
from gateway.http.state import KEPT

_BACKLOG = 4096
_POLL_SECONDS = 0.02
_FLUSH_SECONDS = 1.0
_LATE_HEAD_SECONDS = 1.0


class Listener:
    """One listening socket and its connections. `certificate` is None without TLS."""

    def __init__(
        self,
        service: Service,
        sockets: asyncio.Server,
        certificate: ShownCertificate | None,
        *,
        shares_port: bool,
    ) -> None:
        self._service = service
        self._sockets = sockets
        self.certificate = certificate
        self._shares_port = shares_port

    @property
    def url(self) -> str:
        """Base URL; if port 0 was configured, with the port that was given."""
        scheme = "http" if self.certificate is None else "https"
        host, port = self._sockets.sockets[0].getsockname()[:2]
        return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"

    @property
    def connection_count(self) -> int:
        """Number of open connections."""
        return len(self._service.connections)

    async def stop_listening(self, ends_at: float) -> None:
        """Stops accepting. Closes kept connections; requests on their way may arrive for a moment.

        The order loses no request. The sockets are duplicated first, because closing the server closes its
        own. If replicas share the port, handshakes that have begun end, and new ones go to the others. Then
        the backlog is accepted: the kernel would reset those connections. A kept connection may be closed
        without a word, because a client must be ready for that between two requests; one that is new or has
        sent a part of a head is given `_LATE_HEAD_SECONDS`, within the drain.
        """
        sockets = [socket.socket(fileno=os.dup(each.fileno())) for each in self._sockets.sockets]
        if self._shares_port:
            await leave_port(sockets)
        self._sockets.close()
        waiting = [connection for each in sockets for connection in _accept_waiting(each)]
        await self._serve(waiting)
        for connection in list(self._service.connections):
            if connection.state is KEPT:
                connection.close_if_idle()
        moment_ends_at = asyncio.get_running_loop().time() + _LATE_HEAD_SECONDS
        await _until(lambda: not self._service.awaits_heads, min(moment_ends_at, ends_at))

    async def close(self) -> None:
        """Closes every connection, once its last bytes have left or `_FLUSH_SECONDS` are over.

        Each wait is bounded, so a client that does not read holds up no shutdown. Tasks of lost connections
        are cancelled last: they serve requests whose clients are gone.
        """
        self._sockets.close()
        connections = list(self._service.connections)
        for connection in connections:
            connection.close_if_idle()
            connection.stop_lingering()
        ends_at = asyncio.get_running_loop().time() + _FLUSH_SECONDS
        await _until(lambda: not self._service.connections, ends_at)
        for connection in connections:
            connection.abort()
        await _until(lambda: not self._service.connections, ends_at + _FLUSH_SECONDS)
        for task in self._service.unfinished:
            task.cancel()
        await asyncio.gather(*self._service.unfinished, return_exceptions=True)

    async def _serve(self, waiting: list[socket.socket]) -> None:
        loop = asyncio.get_running_loop()
        protocol = _protocol(self._service, self.certificate)
        connections = [loop.connect_accepted_socket(protocol, each) for each in waiting]
        await asyncio.gather(*connections, return_exceptions=True)


async def open_listener(
    where: Listening, service: Service, certificate: ShownCertificate | None = None
) -> Listener:
    """Opens a listener. A TLS handshake has as much time as a request's head. Raises OSError."""
    reuse_port = isinstance(where, DataListener) and where.reuse_port
    sockets = await asyncio.get_running_loop().create_server(
        _protocol(service, certificate),
        where.host,
        where.port,
        backlog=_BACKLOG,
        reuse_port=reuse_port or None,
    )
    return Listener(service, sockets, certificate, shares_port=reuse_port)


def _protocol(service: Service, certificate: ShownCertificate | None) -> Callable[[], asyncio.Protocol]:
    """Returns the factory of protocols for new connections."""
    if certificate is None:
        return partial(Connection, service)
    return partial(Handshake, service, certificate.context)


def _accept_waiting(listening: socket.socket) -> list[socket.socket]:
    """Closes a listening socket, and returns the connections in its backlog.

    At most as many as the backlog holds: new clients refill it meanwhile.
    """
    waiting: list[socket.socket] = []
    with listening, suppress(OSError):
        listening.settimeout(0)
        while len(waiting) <= _BACKLOG:
            waiting.append(listening.accept()[0])
    return waiting


async def _until(condition: Callable[[], bool], ends_at: float) -> bool:
    """Waits for a condition. Returns False if it did not become true in time."""
    loop = asyncio.get_running_loop()
    while not condition():
        if loop.time() >= ends_at:
            return False
        await asyncio.sleep(_POLL_SECONDS)
    return True
