"""The servers under test, each on its own core: how it is started, what it is sent and must answer."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path

from msgspec import Struct

from benchmarks import gateways, redis
from benchmarks.bare import BODY
from benchmarks.exchange import Exchange
from benchmarks.gateways import ON_MEMORY, on_redis
from benchmarks.peers import daprd, nginx, webdis
from benchmarks.processes import SERVER_CORE, Server, accepts, answers_http, find_program, free_port, running
from benchmarks.signed import signed_exchanges


class Features(Struct, frozen=True):
    """Work of a server per request besides storing."""

    signature: str = "no"
    token: str = "no"
    limiter: str = "no"
    metering: str = "no"


_GATEWAY = Features("Signature V4", "of one table", "exact, over all replicas", "per table and operation")
_NGINX = Features(limiter="per address, in this process")
_DAPRD = Features(token="one for all", limiter="per address, in this process", metering="per app")


class Subject(Struct, frozen=True):
    """A server; `lacking` says why it cannot be measured here. Some are left out of quick runs."""

    name: str
    start: Callable[[], AbstractContextManager[Server]]
    exchanges: Callable[[int, str], list[Exchange]]
    features: Features = Features()
    lacking: str | None = None
    only_if_whole: bool = False


def subjects(folder: Path, redis_port: int) -> list[Subject]:
    """The first is what the others are compared with."""
    bare = Subject("bare aiohttp", gateways.bare, _bare_exchanges)
    return [bare, *_gateways(folder, redis_port), *_peers(folder, redis_port)]


def _gateways(folder: Path, redis_port: int) -> list[Subject]:
    return [
        Subject(
            "gateway on memory",
            partial(gateways.running_gateway, folder, ON_MEMORY),
            signed_exchanges,
            _GATEWAY,
        ),
        Subject(
            "gateway on Redis",
            partial(gateways.running_gateway, folder, on_redis(redis_port)),
            signed_exchanges,
            _GATEWAY,
            _lacking(redis.PROGRAM),
        ),
        Subject(
            "gateway on DynamoDB (answers at once)",
            partial(gateways.on_canned_dynamodb, folder),
            signed_exchanges,
            _GATEWAY,
            only_if_whole=True,
        ),
        Subject(
            "gateway on DynamoDB (emulator)",
            partial(gateways.on_emulated_dynamodb, folder),
            signed_exchanges,
            _GATEWAY,
            only_if_whole=True,
        ),
    ]


def _peers(folder: Path, redis_port: int) -> list[Subject]:
    lacking = partial(_lacking, redis.PROGRAM)
    return [
        Subject(
            "webdis on the same Redis",
            partial(_webdis, folder, redis_port),
            webdis.exchanges,
            lacking=lacking(webdis.PROGRAM),
            only_if_whole=True,
        ),
        Subject(
            "nginx with limit_req, webdis",
            partial(_nginx, folder, redis_port),
            webdis.exchanges,
            _NGINX,
            lacking(webdis.PROGRAM, nginx.PROGRAM),
            only_if_whole=True,
        ),
        Subject(
            "daprd on the same Redis",
            partial(_daprd, folder, redis_port),
            daprd.exchanges,
            _DAPRD,
            lacking() or (None if daprd.find() else "daprd could not be built (needs Go and a module proxy)"),
            only_if_whole=True,
        ),
    ]


def _lacking(*programs: str) -> str | None:
    missing = [program for program in programs if find_program(program) is None]
    return f"{' and '.join(missing)} not installed" if missing else None


def _bare_exchanges(port: int, operation: str) -> list[Exchange]:
    return [Exchange(signed.request, BODY) for signed in signed_exchanges(port, operation)]


@contextmanager
def _webdis(folder: Path, redis_port: int) -> Iterator[Server]:
    port = free_port()
    config = folder / "webdis.json"
    config.write_text(webdis.config(port, redis_port, folder))
    command = [find_program(webdis.PROGRAM) or webdis.PROGRAM, str(config)]
    with running(command, SERVER_CORE, lambda: answers_http(f"http://127.0.0.1:{port}/PING")) as process:
        yield Server(port, (process,))


@contextmanager
def _nginx(folder: Path, redis_port: int) -> Iterator[Server]:
    """Both on the one core that a server under test has."""
    with _webdis(folder, redis_port) as behind:
        port = free_port()
        config = folder / "nginx.conf"
        config.write_text(nginx.config(port, behind.port, folder))
        program = find_program(nginx.PROGRAM) or nginx.PROGRAM
        command = [program, "-p", str(folder), "-c", str(config), "-e", "stderr"]
        with running(command, SERVER_CORE, lambda: accepts(port)) as process:
            yield Server(port, (process, *behind.processes))


@contextmanager
def _daprd(folder: Path, redis_port: int) -> Iterator[Server]:
    port = free_port()
    command = daprd.command(daprd.find() or "daprd", port, redis_port, folder)
    health = f"http://127.0.0.1:{port}/v1.0/healthz/outbound"
    with running(
        command, SERVER_CORE, lambda: answers_http(health), environ=daprd.environ(), patience_seconds=30
    ) as process:
        yield Server(port, (process,))
