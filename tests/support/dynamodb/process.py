"""A DynamoDB engine in a process of its own."""

import abc
import enum
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Self

from botocore.exceptions import EndpointConnectionError, HTTPClientError

from tests.support.dynamodb.observer import Observer
from tests.support.redis.observer import HOST, wait_for
from tests.support.redis.ports import free_port


class EngineProcess(abc.ABC):
    """Listens on loopback only and keeps its tables in memory; `close` leaves nothing behind.

    One process may serve any number of tests: a table name of its own keeps them apart.
    """

    name: ClassVar[str]
    differences: ClassVar[Mapping[enum.Enum, str]] = {}
    """Where it is known not to do what DynamoDB does, with the reason."""
    seconds_to_start = 30.0

    def __init__(self) -> None:
        self.port = 0
        self._folder = tempfile.TemporaryDirectory(prefix="kvs-dynamodb-", ignore_cleanup_errors=True)
        self.directory = Path(self._folder.name)
        self._process: subprocess.Popen[bytes] | None = None
        self._has_answered = False

    @classmethod
    def missing(cls) -> str | None:
        """Why it cannot be run here, if that is so."""
        return None

    @abc.abstractmethod
    def command(self) -> Sequence[str]:
        """What listens on `self.port`; it runs in `self.directory`."""

    def environment(self) -> Mapping[str, str]:
        """All of it: an engine sees nothing of the environment the tests run in."""
        return {"HOME": str(self.directory), "TMPDIR": str(self.directory)}

    @property
    def endpoint_url(self) -> str:
        return f"http://{HOST}:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None, "not running"
        return self._process.pid

    @property
    def log(self) -> str:
        return (self.directory / "log").read_text()

    def start(self) -> None:
        """Returns when the engine answers."""
        self._launch()
        wait_for(self._is_ready, f"{self.name} on port {self.port} does not answer", self.seconds_to_start)

    def stop(self) -> None:
        """The kernel goes on to accept connections and bytes, but nobody answers."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """With it go all tables."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
            self.observer.close()

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

    def _launch(self) -> None:
        assert self._process is None, "already running"
        self.port = self.port or free_port()
        self.observer = Observer(self.endpoint_url)
        with (self.directory / "log").open("wb") as log:
            self._process = subprocess.Popen(
                self.command(),
                cwd=self.directory,
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def _is_ready(self) -> bool:
        """Whether this very process answers: it ends at once where another one took the port before it."""
        assert self._process is not None
        if self._process.poll() is not None:
            self._look_into_the_early_end()
        try:
            self.observer.client.list_tables()
        except (EndpointConnectionError, HTTPClientError):
            return False
        self._has_answered = True
        return True

    def _look_into_the_early_end(self) -> None:
        log = self.log
        self.kill()
        if self._has_answered or "ddress already in use" not in log:
            raise RuntimeError(f"{self.name} has ended:\n{log}")
        self.port = 0
        self._launch()

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None, "not running"
        self._process.send_signal(number)
