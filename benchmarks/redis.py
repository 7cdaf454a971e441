"""The Redis that gateway and webdis share. It keeps nothing on disk."""

from collections.abc import Iterator
from contextlib import contextmanager
from socket import create_connection

from benchmarks.processes import GENERATOR_CORE, answers_ping, find_program, free_port, running

PROGRAM = "redis-server"


@contextmanager
def running_redis() -> Iterator[int]:
    """Its port; where Redis is not installed, nobody listens on it."""
    port = free_port()
    program = find_program(PROGRAM)
    if program is None:
        yield port
        return
    settings = {"bind": "127.0.0.1", "port": str(port), "save": "", "appendonly": "no"}
    command = [program] + [part for name, value in settings.items() for part in (f"--{name}", value)]
    with running(command, GENERATOR_CORE, lambda: answers_ping(port)):
        yield port


def used_bytes(port: int) -> int:
    """Memory in use, by its own account."""
    with create_connection(("127.0.0.1", port), timeout=5) as redis:
        redis.sendall(b"INFO memory\r\n")
        told = redis.recv(65_536)
    return int(told.partition(b"used_memory:")[2].partition(b"\r")[0])
