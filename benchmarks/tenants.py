"""App environments in any number, written into the store as the control plane writes them, and called."""

import asyncio
from collections.abc import Sequence

import uvloop
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from msgspec import Struct

from backends import open_backend
from backends.clock import SystemClock
from backends.errors import BackendUnavailable
from backends.interface import RecordStore
from backends.settings import RedisSettings, StoreSettings
from benchmarks.exchange import VALUE, Exchange
from benchmarks.processes import Unmeasurable
from benchmarks.signed import ACCESS_KEY_ID, REGION, SECRET
from gateway.directory.records import AppRecord, TableRecord, TokenRecord, app_name, encode, token_name
from gateway.directory.tokens import digest_of, new_token
from gateway.domain.model import Environment

_AT_ONCE = 128
_APPS_PER_ORG = 10
_LEAST_REQUESTS = 1024
_ATTEMPTS = 30
_PAUSE_SECONDS = 1.0


class TenantCall(Struct, frozen=True):
    """What each tenant sends, and the answer that it must get."""

    operation: str
    body: bytes
    answer: bytes


GET_MISSING = TenantCall("get", b'{"key":"user:1"}', b'{"found":false,"expiresAt":null}')
PUT = TenantCall("put", b'{"key":"user:2","value":%b}' % VALUE, b'{"ok":true}')
GET_FOUND = TenantCall("get", b'{"key":"user:2"}', b'{"found":true,"value":%b,"expiresAt":null}' % VALUE)


def make_tenants(redis_port: int, count: int, *, first: int = 0) -> list[str]:
    """So many apps with one table each, from number `first` on; returns the tables' tokens."""
    return make_tenants_in(RedisSettings(url=f"redis://127.0.0.1:{redis_port}/0"), count, first=first)


def make_tenants_in(store: StoreSettings, count: int, *, first: int = 0) -> list[str]:
    """The same in any store."""
    tokens = [new_token() for _ in range(count)]
    uvloop.run(_write(store, tokens, first))
    return tokens


async def _write(store: StoreSettings, tokens: Sequence[str], first: int) -> None:
    backend = await open_backend(store, SystemClock())
    await write_tenants(backend.records, tokens, first=first)
    await backend.close()


async def write_tenants(records: RecordStore, tokens: Sequence[str], *, first: int = 0) -> None:
    """An app environment with one table for each token, ten to an organization."""
    for start in range(0, len(tokens), _AT_ONCE):
        step = range(start, min(start + _AT_ONCE, len(tokens)))
        await asyncio.gather(*(_write_one(records, first + each, tokens[each]) for each in step))


def environment_of(number: int) -> Environment:
    """Of the app with this number."""
    return Environment(f"org{number // _APPS_PER_ORG}", f"app{number}", "production")


def place_of(number: int) -> str:
    """Its path in the control plane."""
    environment = environment_of(number)
    return f"/v1/orgs/{environment.org}/apps/{environment.app}"


async def _write_one(records: RecordStore, number: int, token: str) -> None:
    environment = environment_of(number)
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
    await write_record(records, token_name(sha256), encode(TokenRecord(environment)))
    await write_record(records, app_name(environment), encode(app))


async def write_record(records: RecordStore, name: str, document: bytes) -> None:
    """A new record, however long the store makes others wait."""
    for _ in range(_ATTEMPTS):
        try:
            await records.swap(name, document, None)
        except BackendUnavailable:
            await asyncio.sleep(_PAUSE_SECONDS)
        else:
            return
    raise Unmeasurable("the store takes no records")


def exchanges_of(
    tokens: Sequence[str], port: int, call: TenantCall = GET_MISSING, least: int = _LEAST_REQUESTS
) -> list[Exchange]:
    """The same call by each tenant, some times over if they are few."""
    head, body = signed_head(port, call), call.body
    times = -(-least // len(tokens))
    return [
        Exchange(b"%b%b\r\n\r\n%b" % (head, token.encode(), body), call.answer) for token in tokens
    ] * times


def signed_fields(port: int, call: TenantCall) -> dict[str, str]:
    """All fields but the token's, which is not signed, so that one signature serves all."""
    url = f"http://127.0.0.1:{port}/v1/{call.operation}"
    request = AWSRequest("POST", url, data=call.body, headers={"Host": f"127.0.0.1:{port}"})
    SigV4Auth(Credentials(ACCESS_KEY_ID, SECRET), "execute-api", REGION).add_auth(request)
    return {**dict(request.headers.items()), "Content-Type": "application/json"}


def signed_head(port: int, call: TenantCall = GET_MISSING) -> bytes:
    """The head of a call up to its token, which ends it."""
    fields = "".join(f"{name}: {value}\r\n" for name, value in signed_fields(port, call).items())
    return (
        f"POST /v1/{call.operation} HTTP/1.1\r\n{fields}Content-Length: {len(call.body)}\r\n"
        "X-KVS-Authorization: Bearer "
    ).encode()
