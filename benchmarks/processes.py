"""A server on its own core, from the moment it answers until it is stopped by its process id."""

import os
import shutil
import subprocess
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from socket import create_connection, create_server
from tempfile import TemporaryFile
from time import monotonic, sleep
from typing import IO
from urllib.request import urlopen

SERVER_CORE, GENERATOR_CORE = 0, 1

_PATIENCE_SECONDS = 10.0


@contextmanager
def running(command: Sequence[str], core: int, is_ready: Callable[[], bool]) -> Iterator[None]:
    """What it writes to standard error is shown if it does not become ready."""
    with TemporaryFile() as errors:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors, preexec_fn=pin(core))
        try:
            _await_ready(process, is_ready, errors)
            yield
        finally:
            process.kill()
            process.wait()


def _await_ready(process: subprocess.Popen[bytes], is_ready: Callable[[], bool], errors: IO[bytes]) -> None:
    given_up = monotonic() + _PATIENCE_SECONDS
    while not is_ready():
        if process.poll() is not None or monotonic() > given_up:
            errors.seek(0)
            raise SystemExit(f"did not become ready: {process.args!r}\n{errors.read().decode()}")
        sleep(0.01)


def find_program(name: str) -> str | None:
    """On PATH, or where `make test` puts a Redis for a machine that has none."""
    return shutil.which(name) or shutil.which(name, path=sysconfig.get_path("scripts"))


def answers_http(url: str) -> bool:
    """Whether a GET is answered 200."""
    try:
        with urlopen(url, timeout=1) as answer:
            return bool(answer.status == 200)
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
