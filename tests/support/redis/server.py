"""One redis-server process."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from tests.support.ports import HOST
from tests.support.redis.binary import server_binary
from tests.support.redis.observer import Observer, Part
from tests.support.servers import ServerProcess

Directive = str | int | Sequence[str]

# With diskless synchronization a replica in step may get no writes for up to a second.
REPLICATION: Mapping[str, Directive] = {"repl_diskless_sync": "no"}


class RedisServer(ServerProcess):
    """A server without persistence unless directives configure it.

    Directives are those of redis.conf, with underscores for dashes; a sequence repeats one.
    """

    name = "redis-server"
    arguments: tuple[str, ...] = ()

    def __init__(self, **directives: Directive) -> None:
        super().__init__(tempfile.TemporaryDirectory(prefix="kvs-redis-"))
        self.directives = {name.replace("_", "-"): value for name, value in directives.items()}

    @property
    def url(self) -> str:
        login = "".join(f":{password}@" for password in self._login)
        return f"redis://{login}{HOST}:{self.port}/0"

    def command(self, *parts: Part) -> Any:
        """Runs a command over a new connection."""
        return self._observer().command(*parts)

    def session(self) -> AbstractContextManager[Callable[..., Any]]:
        return self._observer().session()

    def write_to_replicas(self, replicas: int, *parts: Part) -> None:
        """Runs a write and waits until `replicas` replicas have it."""
        with self.session() as ask:
            ask(*parts)
            assert ask("WAIT", replicas, 5_000) == replicas

    @property
    def _login(self) -> tuple[str, ...]:
        password = self.directives.get("requirepass")
        return () if password is None else (str(password),)

    def _observer(self) -> Observer:
        return Observer(self.port, self._login)

    def _configuration(self) -> dict[str, Directive]:
        return {
            "bind": HOST,
            "port": self.port,
            "dir": f'"{self.directory}"',
            "save": '""',
            **self.directives,
        }

    def _invocation(self) -> Sequence[str]:
        return [server_binary(), str(self.directory / "redis.conf"), *self.arguments]

    def _take_port(self) -> None:
        """Also writes the configuration: only here, because a server may rewrite it."""
        super()._take_port()
        self._write_configuration()

    def _write_configuration(self) -> None:
        lines = []
        for name, value in self._configuration().items():
            values = [value] if isinstance(value, str | int) else value
            lines += [f"{name} {each}\n" for each in values]
        (self.directory / "redis.conf").write_text("".join(lines))

    def _answers(self) -> bool:
        """Whether this process answers and has loaded its data."""
        try:
            info = self.command("INFO")
        except ConnectionError:
            return False
        return f"process_id:{self.pid}\r\n".encode() in info and b"loading:1\r\n" not in info


def is_in_step(replica: RedisServer) -> bool:
    """Whether a replica has loaded its master's data and follows it."""
    role, *details = role_of(replica)
    return role == b"slave" and details[2] == b"connected"


def is_replica(server: RedisServer) -> bool:
    return bool(role_of(server)[0] == b"slave")


def is_master(server: RedisServer) -> bool:
    return bool(role_of(server)[0] == b"master")


def role_of(server: RedisServer) -> Sequence[Any]:
    """Returns the reply to ROLE; no role from a server that is becoming a replica and resets its clients."""
    try:
        return list(server.command("ROLE"))
    except ConnectionResetError:
        return [b""]
