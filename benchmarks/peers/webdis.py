"""Configuration of webdis and its requests: its fastest way to do the same two operations."""

import json
from pathlib import Path

from benchmarks.exchange import KEYS, VALUE, Exchange

PROGRAM = "webdis"


def config(port: int, redis_port: int, folder: Path) -> str:
    """One worker thread, because it has one core; two connections to Redis: more made it slower."""
    settings = {
        "http_host": "127.0.0.1",
        "http_port": port,
        "redis_host": "127.0.0.1",
        "redis_port": redis_port,
        "threads": 1,
        "pool_size": 2,
        "daemonize": False,
        "verbosity": 0,
        "logfile": str(folder / "webdis.log"),
        "pidfile": str(folder / "webdis.pid"),
    }
    return json.dumps(settings)


def exchanges(_port: int, operation: str) -> list[Exchange]:
    """A put carries the value as its body; a get asks for the bytes themselves, without JSON around them."""
    if operation == "put":
        head = b"PUT /SET/%b HTTP/1.1\r\nHost: webdis\r\nContent-Length: %d\r\n\r\n%b"
        return [Exchange(head % (key, len(VALUE), VALUE), b'{"SET":[true,"OK"]}') for key in KEYS]
    return [Exchange(b"GET /GET/%b.txt HTTP/1.1\r\nHost: webdis\r\n\r\n" % key, VALUE) for key in KEYS]
