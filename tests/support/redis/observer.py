"""The tests' view of a server, without the gateway's client."""

import contextlib
import socket
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO

from tests.support.ports import HOST
from tests.support.redis.resp import ErrorReply, Part, encode, read
from tests.support.stopwatch import PATIENCE_SECONDS


@dataclass(frozen=True)
class Observer:
    port: int
    login: tuple[str, ...] = ()
    tls: ssl.SSLContext | None = None
    seconds: float = PATIENCE_SECONDS

    def command(self, *parts: Part) -> Any:
        """Returns the reply, strings as bytes. Raises ErrorReply for an error reply."""
        with self.session() as ask:
            return ask(*parts)

    @contextlib.contextmanager
    def session(self) -> Iterator[Callable[..., Any]]:
        """Yields `command` over one connection, for commands such as MULTI and WAIT that belong to one."""
        with self._connected() as connection, connection.makefile("rb") as replies:
            ask = partial(_ask, connection, replies)
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


def _ask(connection: socket.socket, replies: BinaryIO, *parts: Part) -> Any:
    connection.sendall(encode(*parts))
    try:
        reply = read(replies)
    except EOFError:
        raise ConnectionResetError("the server closed the connection") from None
    if isinstance(reply, ErrorReply):
        raise reply
    return reply
