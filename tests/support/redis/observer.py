"""The tests' own view of a server, with nothing of the gateway's client."""

import contextlib
import socket
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import hiredis

from tests.support.ports import HOST
from tests.support.stopwatch import PATIENCE_SECONDS

Part = str | bytes | int


@dataclass(frozen=True)
class Observer:
    port: int
    login: tuple[str, ...] = ()
    tls: ssl.SSLContext | None = None
    seconds: float = PATIENCE_SECONDS

    def command(self, *parts: Part) -> Any:
        """The reply as it came, strings as bytes; an error reply is raised as `hiredis.ReplyError`."""
        with self.session() as ask:
            return ask(*parts)

    @contextlib.contextmanager
    def session(self) -> Iterator[Callable[..., Any]]:
        """`command` over one connection, for what belongs to a connection, as MULTI and WAIT do."""
        with self._connected() as connection:
            ask = partial(_ask, connection, hiredis.Reader())
            if self.login:
                ask("AUTH", *self.login)
            yield ask

    @contextlib.contextmanager
    def _connected(self) -> Iterator[socket.socket]:
        with socket.create_connection((HOST, self.port), timeout=self.seconds) as plain:
            if self.tls is None:
                yield plain
            else:
                with self.tls.wrap_socket(plain, server_hostname=HOST) as secured:
                    yield secured


def _ask(connection: socket.socket, reader: hiredis.Reader, *parts: Part) -> Any:
    connection.sendall(hiredis.pack_command(parts))
    while (reply := reader.gets()) is False:
        received = connection.recv(65_536)
        if not received:
            raise ConnectionResetError("the server closed the connection")
        reader.feed(received)
    if isinstance(reply, hiredis.ReplyError):
        raise reply
    return reply
