"""App environments in any number, written into the store as the control plane writes them, and called."""

import asyncio
from collections.abc import Sequence

import uvloop
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from backends import open_backend
from backends.clock import SystemClock
from backends.interface import RecordStore
from backends.settings import RedisSettings
from benchmarks.exchange import Exchange
from benchmarks.signed import ACCESS_KEY_ID, REGION, SECRET
from gateway.directory.records import AppRecord, TableRecord, TokenRecord, app_name, encode, token_name
from gateway.directory.tokens import digest_of, new_token
from gateway.domain.model import Environment

_AT_ONCE = 256
_LEAST_REQUESTS = 1024
BODY = b'{"key":"user:1"}'
MISSING = b'{"found":false,"expiresAt":null}'


def make_tenants(redis_port: int, count: int) -> list[str]:
    """So many apps with one table each; returns the tables' tokens."""
    tokens = [new_token() for _ in range(count)]
    uvloop.run(_write(redis_port, tokens))
    return tokens


async def _write(redis_port: int, tokens: Sequence[str]) -> None:
    backend = await open_backend(RedisSettings(url=f"redis://127.0.0.1:{redis_port}/0"), SystemClock())
    await backend.ping()
    await write_tenants(backend.records, tokens)
    await backend.close()


async def write_tenants(records: RecordStore, tokens: Sequence[str]) -> None:
    """An app environment with one table for each token, ten to an organization."""
    for start in range(0, len(tokens), _AT_ONCE):
        step = range(start, min(start + _AT_ONCE, len(tokens)))
        await asyncio.gather(*(_write_one(records, number, tokens[number]) for number in step))


async def _write_one(records: RecordStore, number: int, token: str) -> None:
    environment = Environment(f"org{number // 10}", f"app{number}", "production")
    sha256 = digest_of(token.encode()).hex()
    now_ms = SystemClock().wall_ms()
    table = TableRecord(
        id=f"tbl_{number:032x}",
        name="t",
        token_sha256=sha256,
        token_last_four=token[-4:],
        created_at_ms=now_ms,
        updated_at_ms=now_ms,
    )
    app = AppRecord(environment, "api", active=True, tables=(table,))
    await records.swap(token_name(sha256), encode(TokenRecord(environment)), None)
    await records.swap(app_name(environment), encode(app), None)


def exchanges_of(tokens: Sequence[str], port: int) -> list[Exchange]:
    """A get by each tenant, of what is not there."""
    head, body = signed_head(port, BODY), BODY
    times = -(-_LEAST_REQUESTS // len(tokens))
    return [Exchange(b"%b%b\r\n\r\n%b" % (head, token.encode(), body), MISSING) for token in tokens] * times


def signed_head(port: int, body: bytes) -> bytes:
    """A get up to its token, which ends it. The token is not signed, so one signature serves all."""
    url = f"http://127.0.0.1:{port}/v1/get"
    request = AWSRequest("POST", url, data=body, headers={"Host": f"127.0.0.1:{port}"})
    SigV4Auth(Credentials(ACCESS_KEY_ID, SECRET), "execute-api", REGION).add_auth(request)
    fields = "".join(f"{name}: {value}\r\n" for name, value in request.headers.items())
    return (
        f"POST /v1/get HTTP/1.1\r\n{fields}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        "X-KVS-Authorization: Bearer "
    ).encode()
