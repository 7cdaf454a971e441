"""A server on its own core, from the moment it answers until it is stopped by its process id."""

import os
import shutil
import subprocess
import sysconfig
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from socket import create_connection, create_server
from tempfile import TemporaryFile
from time import monotonic, sleep
from typing import IO
from urllib.request import urlopen

import psutil
from msgspec import Struct

SERVER_CORE, GENERATOR_CORE = 0, 1
PATIENCE_SECONDS = 15.0

PEERS = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kvs-gateway-bench"
"""Where peers are put that the machine does not have: building one takes minutes, and is needed once."""


class Unmeasurable(Exception):
    """A figure cannot be measured here; the message gives the reason."""


class Server(Struct, frozen=True):
    """Where it listens, and its processes: of several that serve together, all count."""

    port: int
    processes: tuple[psutil.Process, ...]

    def cpu_seconds(self) -> float:
        """User and system time since the start."""
        times = [process.cpu_times() for process in self.processes]
        return float(sum(each.user + each.system for each in times))

    def resident_bytes(self) -> int:
        """Memory held now."""
        return int(sum(process.memory_info().rss for process in self.processes))


@contextmanager
def running(
    command: Sequence[str],
    core: int,
    is_ready: Callable[[], bool],
    *,
    environ: Mapping[str, str] | None = None,
    patience_seconds: float = PATIENCE_SECONDS,
) -> Iterator[psutil.Process]:
    """Raises Unmeasurable, with its last words on standard error, if it does not become ready."""
    with TemporaryFile() as errors:
        process = subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            preexec_fn=pin(core),
            env={**os.environ, **(environ or {})},
        )
        try:
            _await_ready(process, is_ready, errors, monotonic() + patience_seconds)
            yield psutil.Process(process.pid)
        finally:
            process.kill()
            process.wait()


def _await_ready(
    process: subprocess.Popen[bytes], is_ready: Callable[[], bool], errors: IO[bytes], given_up: float
) -> None:
    while not is_ready():
        if process.poll() is not None or monotonic() > given_up:
            errors.seek(0)
            output = errors.read().decode(errors="replace").strip().splitlines()
            name = Path(str(process.args[0])).name if isinstance(process.args, list) else "it"
            raise Unmeasurable(f"{name} did not become ready: {output[-1] if output else 'no output'}")
        sleep(0.01)


def find_program(name: str) -> str | None:
    """On PATH, where `make test` puts a Redis for a machine without one, or where `make bench` puts peers."""
    places = (None, sysconfig.get_path("scripts"), str(PEERS))
    return next((found for place in places if (found := shutil.which(name, path=place))), None)


def answers_http(url: str) -> bool:
    """Whether a GET succeeds."""
    try:
        with urlopen(url, timeout=1) as answer:
            return bool(200 <= answer.status < 300)
    except OSError:
        return False


def accepts(port: int) -> bool:
    """Whether somebody listens."""
    try:
        with create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False


def answers_ping(port: int) -> bool:
    """Whether a Redis serves its clients."""
    try:
        with create_connection(("127.0.0.1", port), timeout=1) as redis:
            redis.sendall(b"PING\r\n")
            return redis.recv(64) == b"+PONG\r\n"
    except OSError:
        return False


def pin(core: int) -> Callable[[], None]:
    """To be called in the child, before it becomes the command."""
    cores = sorted(os.sched_getaffinity(0))
    return lambda: os.sched_setaffinity(0, {cores[core % len(cores)]})


def free_port() -> int:
    """One that nobody listens on."""
    with create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
