"""The Redis that gateway and webdis share. It keeps nothing on disk."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from socket import create_connection

from benchmarks.processes import GENERATOR_CORE, answers_ping, find_program, free_port, running

PROGRAM = "redis-server"

_PATIENCE_SECONDS = 60.0
_IN_SCRIPTS = {
    "getex",
    "pttl",
    "incr",
    "pexpire",
    "hget",
    "hset",
    "hlen",
    "xadd",
    "zadd",
    "zrangebylex",
    "zcard",
}
"""Commands that the gateway's scripts call. Redis counts them with those of its clients."""

_FILL = """
for number = ARGV[1], ARGV[2] do
    redis.call('SET', string.format('kvs:e:tbl_foreign_%024d:key', number), 'value')
end
"""
"""Names like those of entries of other tables, so that a walk has to look at each."""

_FILLED_AT_ONCE = 50_000


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
    told = _ask(port, "INFO", "memory")
    return int(told.partition(b"used_memory:")[2].partition(b"\r")[0])


def sent_commands(port: int) -> Counter[str]:
    """How often clients have sent each command since the start, this question left out."""
    lines = _ask(port, "INFO", "commandstats").decode().splitlines()
    stats = (line.removeprefix("cmdstat_").partition(":calls=") for line in lines if ":calls=" in line)
    calls = {name: int(rest.partition(",")[0]) for name, _, rest in stats}
    return Counter({name: count for name, count in calls.items() if name not in _IN_SCRIPTS})


def fill(port: int, keys: int) -> None:
    """So many entries of tables that nobody has."""
    for first in range(0, keys, _FILLED_AT_ONCE):
        _ask(port, "EVAL", _FILL, "0", str(first), str(min(first + _FILLED_AT_ONCE, keys) - 1))


def _ask(port: int, *words: str) -> bytes:
    """One command on a connection of its own; the reply as it came."""
    request = b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%b\r\n" % (len(w), w.encode()) for w in words)
    with (
        create_connection(("127.0.0.1", port), timeout=_PATIENCE_SECONDS) as redis,
        redis.makefile("rb") as reply,
    ):
        redis.sendall(request)
        first = reply.readline()
        length = int(first[1:]) if first.startswith(b"$") else -1
        return first if length < 0 else reply.read(length)
