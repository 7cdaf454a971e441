"""One redis-server process."""

import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Self

from tests.support.redis.binary import server_binary
from tests.support.redis.observer import HOST, Observer, Part, wait_for
from tests.support.redis.ports import free_port

Directive = str | int | Sequence[str]

# Where replicas are synchronized without a disk, a replica that is in step gets no writes for up to a second.
REPLICATION: Mapping[str, Directive] = {"repl_diskless_sync": "no"}


class RedisServer:
    """Keeps its port and directory over `kill` and `start`; without persistence unless directives say so.

    Directives are those of redis.conf, with underscores for dashes; a sequence repeats one.
    """

    arguments: tuple[str, ...] = ()

    def __init__(self, **directives: Directive) -> None:
        self.port = 0
        self.directives = {name.replace("_", "-"): value for name, value in directives.items()}
        self._folder = tempfile.TemporaryDirectory(prefix="kvs-redis-")
        self.directory = Path(self._folder.name)
        self._process: subprocess.Popen[bytes] | None = None
        self._has_answered = False
        self._is_stopped = False

    @property
    def url(self) -> str:
        login = "".join(f":{password}@" for password in self._login)
        return f"redis://{login}{HOST}:{self.port}/0"

    @property
    def pid(self) -> int:
        assert self._process is not None, "not running"
        return self._process.pid

    @property
    def running(self) -> bool:
        """Neither killed nor stopped."""
        return self._process is not None and not self._is_stopped

    @property
    def log(self) -> str:
        return (self.directory / "log").read_text()

    def command(self, *parts: Part) -> Any:
        """Over a connection of its own."""
        return self._observer().command(*parts)

    def session(self) -> AbstractContextManager[Callable[..., Any]]:
        return self._observer().session()

    def write_to_replicas(self, replicas: int, *parts: Part) -> None:
        """A command that counts as done when so many replicas have it."""
        with self.session() as ask:
            ask(*parts)
            assert ask("WAIT", replicas, 5_000) == replicas

    def start(self) -> None:
        """Returns when the server has loaded its data and answers."""
        self.launch()
        self.wait_until_ready()

    def launch(self) -> None:
        """Start the process and return at once; the first time on a free port, then on the same again.

        A server may have rewritten its configuration, so it is written the first time only.
        """
        assert self._process is None, "already running"
        if not self.port:
            self.port = free_port()
            self._write_configuration()
        with (self.directory / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [server_binary(), str(self.directory / "redis.conf"), *self.arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def wait_until_ready(self) -> None:
        wait_for(self._is_ready, f"redis-server on port {self.port} does not answer")
        self._has_answered = True

    def kill(self) -> None:
        """SIGKILL, which ends a stopped process too."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
            self._is_stopped = False

    def stop(self) -> None:
        """The kernel goes on to accept connections and bytes, but nobody answers."""
        self._signal(signal.SIGSTOP)
        self._is_stopped = True

    def resume(self) -> None:
        self._signal(signal.SIGCONT)
        self._is_stopped = False

    def close(self) -> None:
        self.kill()
        self._folder.cleanup()

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

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

    def _write_configuration(self) -> None:
        lines = []
        for name, value in self._configuration().items():
            values = [value] if isinstance(value, str | int) else value
            lines += [f"{name} {each}\n" for each in values]
        (self.directory / "redis.conf").write_text("".join(lines))

    def _is_ready(self) -> bool:
        """Whether this very process answers: another one may have been quicker to take the port."""
        self._look_for_an_early_end()
        try:
            info = self.command("INFO")
        except ConnectionError:
            return False
        return f"process_id:{self.pid}\r\n".encode() in info and b"loading:1\r\n" not in info

    def _look_for_an_early_end(self) -> None:
        assert self._process is not None
        if self._process.poll() is None:
            return
        self._process = None
        if self._has_answered or "Address already in use" not in self.log:
            raise RuntimeError(f"redis-server has ended:\n{self.log}")
        self.port = 0
        self.launch()

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None, "not running"
        self._process.send_signal(number)


def is_in_step(replica: RedisServer) -> bool:
    """Whether it has loaded its master's data and follows it."""
    role, *_, link, _offset = replica.command("ROLE")
    return role == b"slave" and link == b"connected"
