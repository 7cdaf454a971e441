"""A server in a process of its own, which is killed, stopped and started again where it was."""

import abc
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

from tests.support.evidence import note_fault
from tests.support.ports import free_port
from tests.support.stopwatch import PATIENCE_SECONDS


def wait_for(condition: Callable[[], object], what: str, seconds: float = PATIENCE_SECONDS) -> None:
    """Polls for a condition that no event signals."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(0.01)


def process_exists(pid: int) -> bool:
    """Zombies count: their parent has not waited for them."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


class ServerProcess(abc.ABC):
    """Keeps its port and `folder` over `kill` and `start`; `close` leaves nothing behind."""

    name: str
    seconds_to_start = PATIENCE_SECONDS

    def __init__(self, folder: TemporaryDirectory[str]) -> None:
        self.port = 0
        self._folder = folder
        self.directory = Path(folder.name)
        self._process: subprocess.Popen[bytes] | None = None
        self._has_answered = False
        self._is_stopped = False
        self._is_closing = False

    @abc.abstractmethod
    def _invocation(self) -> Sequence[str]:
        """Command of the server that listens on `self.port`; it runs in `self.directory`."""

    @abc.abstractmethod
    def _answers(self) -> bool:
        """Whether the server is there, and is this one."""

    def _environment(self) -> Mapping[str, str] | None:
        """Environment of the server; None for that of the tests."""
        return None

    def _take_port(self) -> None:
        self.port = free_port()

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

    def start(self) -> None:
        """Returns when the server answers."""
        self.launch()
        self.wait_until_ready()

    def launch(self) -> None:
        """Start the process and return at once; the first time on a free port, then on the same again."""
        assert self._process is None, "already running"
        if not self.port:
            self._take_port()
        with (self.directory / "log").open("wb") as log:
            self._process = subprocess.Popen(
                self._invocation(),
                cwd=self.directory,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def wait_until_ready(self) -> None:
        wait_for(self._is_ready, f"{self.name} on port {self.port} does not answer", self.seconds_to_start)
        self._has_answered = True

    def kill(self) -> None:
        """Sends SIGKILL, which also ends a stopped process."""
        if self._process is not None:
            if not self._is_closing:
                note_fault(f"{self.name} killed")
            self._process.kill()
            self._process.wait()
            self._process = None
            self._is_stopped = False

    def stop(self) -> None:
        """The kernel goes on to accept connections and bytes, but nobody answers."""
        note_fault(f"{self.name} stopped")
        self._signal(signal.SIGSTOP)
        self._is_stopped = True

    def resume(self) -> None:
        self._signal(signal.SIGCONT)
        self._is_stopped = False

    def close(self) -> None:
        self._is_closing = True
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

    def _is_ready(self) -> bool:
        """Another one may have been quicker to take the port: then this one has ended, and takes another."""
        assert self._process is not None
        if self._process.poll() is not None:
            self._look_into_the_early_end()
        return self._answers()

    def _look_into_the_early_end(self) -> None:
        log = self.log
        self.kill()
        if self._has_answered or "ddress already in use" not in log:
            raise RuntimeError(f"{self.name} has ended:\n{log}")
        self.port = 0
        self.launch()

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None, "not running"
        self._process.send_signal(number)
