"""The Redis that gateway and webdis share. It keeps nothing on disk."""

from collections.abc import Iterator
from contextlib import contextmanager

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
