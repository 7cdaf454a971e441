"""The servers under test, each on its own core: how it is started, what it is sent and must answer."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from msgspec import Struct

from benchmarks import redis, webdis
from benchmarks.bare import BODY
from benchmarks.exchange import Exchange
from benchmarks.processes import SERVER_CORE, answers_http, find_program, free_port, running
from benchmarks.signed import gateway_config, signed_exchanges


class Subject(Struct, frozen=True):
    """A server; `lacking` says why it cannot be measured here."""

    name: str
    start: Callable[[], AbstractContextManager[int]]
    exchanges: Callable[[int, str], list[Exchange]]
    lacking: str | None = None


def subjects(folder: Path, redis_port: int) -> list[Subject]:
    """The first is what the others are compared with."""
    on_redis = {"kind": "redis", "url": f"redis://127.0.0.1:{redis_port}/0"}
    return [
        Subject("bare aiohttp", _bare, _bare_exchanges),
        Subject("gateway on memory", partial(_gateway, folder, {"kind": "memory"}), signed_exchanges),
        Subject(
            "gateway on Redis", partial(_gateway, folder, on_redis), signed_exchanges, _lacking(redis.PROGRAM)
        ),
        Subject(
            "webdis on the same Redis",
            partial(_webdis, folder, redis_port),
            webdis.exchanges,
            _lacking(redis.PROGRAM, webdis.PROGRAM),
        ),
    ]


def _lacking(*programs: str) -> str | None:
    missing = [program for program in programs if find_program(program) is None]
    return f"{' and '.join(missing)} not installed" if missing else None


@contextmanager
def _bare() -> Iterator[int]:
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.bare", str(port)]
    with running(command, SERVER_CORE, lambda: answers_http(f"http://127.0.0.1:{port}/")):
        yield port


def _bare_exchanges(port: int, operation: str) -> list[Exchange]:
    return [Exchange(signed.request, BODY) for signed in signed_exchanges(port, operation)]


@contextmanager
def _gateway(folder: Path, store: dict[str, Any]) -> Iterator[int]:
    port, ops_port = free_port(), free_port()
    config = folder / "gateway.yaml"
    config.write_text(yaml.safe_dump(gateway_config(port, ops_port, store)))
    command = [sys.executable, "-m", "gateway", "serve", "--config", str(config)]
    with running(command, SERVER_CORE, lambda: answers_http(f"http://127.0.0.1:{ops_port}/readyz")):
        yield port


@contextmanager
def _webdis(folder: Path, redis_port: int) -> Iterator[int]:
    port = free_port()
    config = folder / "webdis.json"
    config.write_text(webdis.config(port, redis_port, folder))
    with running(
        [webdis.PROGRAM, str(config)], SERVER_CORE, lambda: answers_http(f"http://127.0.0.1:{port}/PING")
    ):
        yield port
