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
    """One listening socket and its connections. `certificate` is None where there is no TLS."""

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
        """Where it is reached; the port is the real one where 0 was configured."""
        scheme = "http" if self.certificate is None else "https"
        host, port = self._sockets.sockets[0].getsockname()[:2]
        return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"

    @property
    def connection_count(self) -> int:
        """How many connections are open."""
        return len(self._service.connections)

    async def stop_listening(self, ends_at: float) -> None:
        """No new connections. Idle ones are closed; requests on their way may arrive for a moment.

        Connections that wait to be accepted are taken: the kernel would reset them. Where replicas share the
        port, handshakes that have begun may end first, and new ones are left to the others.
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
        """Let what is being written leave, then close every connection."""
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
    """Listen. A TLS handshake has as long as a request's head. Raises OSError."""
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
    """Makes what serves a connection."""
    if certificate is None:
        return partial(Connection, service)
    return partial(Handshake, service, certificate.context)


def _accept_waiting(listening: socket.socket) -> list[socket.socket]:
    """Close a listening socket; returns the connections that nobody has accepted yet.

    No more than its queue holds: new clients refill it meanwhile.
    """
    waiting: list[socket.socket] = []
    with listening, suppress(OSError):
        listening.settimeout(0)
        while len(waiting) <= _BACKLOG:
            waiting.append(listening.accept()[0])
    return waiting


async def _until(condition: Callable[[], bool], ends_at: float) -> bool:
    """Wait for a condition; False if it did not come true in time."""
    loop = asyncio.get_running_loop()
    while not condition():
        if loop.time() >= ends_at:
            return False
        await asyncio.sleep(_POLL_SECONDS)
    return True
