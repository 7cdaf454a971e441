"""Replies of faulty stores: entries, records, counters, and topology."""

from contextlib import suppress
from typing import Any

from backends.dynamodb.client import Client
from backends.dynamodb.counters import DynamoWindowCounter
from backends.dynamodb.failures import ConditionFailed, failure_of, is_dynamodb_output
from backends.dynamodb.records import DynamoRecordStore
from backends.dynamodb.tables import DynamoTables
from backends.dynamodb.transport import HttpReply
from backends.errors import BackendError
from backends.interface import Charge, Keyspace, Record, RecordStore, WindowCounter
from backends.redis.counters import RedisWindowCounter
from backends.redis.records.store import RedisRecordStore
from backends.redis.tables.store import RedisTables
from backends.redis.topology.discovery import find_view, named_master, shares_of
from backends.redis.wire.commands import SLOTS, Keys
from backends.redis.wire.replies import Redirected, error_of_command
from backends.redis.wire.resp import ErrorReply, NotResp, ReplyReader
from backends.redis.wire.url import Address
from backends.tables import (
    ABSENT,
    AddToEntry,
    EntryOperation,
    GetEntry,
    ListEntries,
    PutEntry,
    Revision,
    StoredEntry,
    Table,
    TableStore,
    TouchEntry,
)
from gateway.directory.grants import binding_of
from gateway.directory.records import AppRecord, decode
from tests.fuzz.targets.coroutines import result_of
from tests.support.clock import FakeClock

CLOCK = FakeClock()
TABLE = Table("o/a/e", Keyspace("t2_t"))
REVISION = Revision("r" * 22)
GET: EntryOperation = GetEntry("k")
WRITES: tuple[EntryOperation, ...] = (
    PutEntry("k", StoredEntry(b"1", None, REVISION), ABSENT),
    TouchEntry("k", None, REVISION),
    AddToEntry("k", 1, None, REVISION),
)
LIST: EntryOperation = ListEntries("", "", 10, has_values=True, page_bytes=1000)
NODE = Address("10.0.0.1", 6379)
KEYS = Keys("kvs")
HOUR_MS = 3_600_000


class CannedReplies:
    """Replies of a server in turn; then it is silent. In place of a topology, and of a connection."""

    def __init__(self, data: bytes) -> None:
        self._replies: list[Any] = []
        with suppress(NotResp):  # ends a connection
            for reply in ReplyReader().feed(data):
                self._replies.append(reply)
        self._next = iter(self._replies)

    async def send(self, *_: object) -> Any:
        """Returns the next reply, as a connection does. Raises an error reply as it is."""
        reply = next(self._next, None)
        if isinstance(reply, ErrorReply):
            raise reply
        return reply

    async def call(self, _key: bytes, command: bytes) -> Any:
        """Returns the next reply, as a topology does. Raises the error that an error reply means."""
        try:
            return await self.send(command)
        except ErrorReply as reply:
            raise error_of_command(reply, NODE.host) from None

    def end(self, _: str) -> None:
        """Ends, as a connection does."""


def redis(data: bytes) -> None:
    """Replies of Redis, in RESP: their values, or a `BackendError`."""
    for reply in CannedReplies(data)._replies:
        if isinstance(reply, ErrorReply):
            error = error_of_command(reply, NODE.host)
            if isinstance(error, Redirected):
                assert 0 <= error.slot < SLOTS
                assert 0 < error.address.port < 65536
    for operation in (GET, *WRITES, LIST):
        result_of(use_redis(data, operation))
    check_records(RedisRecordStore(CannedReplies(data), KEYS))
    check_page(RedisRecordStore(CannedReplies(data), KEYS))
    check_feed(RedisRecordStore(CannedReplies(data), KEYS))
    check_counters(RedisWindowCounter(CannedReplies(data), KEYS))


def redis_discovery(data: bytes) -> None:
    """Replies of sentinels and of nodes of a cluster: whole addresses, or a `BackendError`."""

    async def ask() -> None:
        async def connect(_: Address) -> Any:
            return CannedReplies(data)

        with suppress(BackendError):
            check_address(named_master(await CannedReplies(data).call(b"", b"")))
        with suppress(BackendError):
            for share in shares_of([await find_view([NODE], connect)]):
                assert 0 <= share.first <= share.last < SLOTS
                check_address(share.master)

    result_of(ask())


class CannedOutputs(Client):
    """A client of DynamoDB that gets the same answer to each call."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    async def call(self, *_: object) -> bytes:
        if not is_dynamodb_output(self._data):
            raise BackendError("no answer")
        return self._data


def dynamodb(data: bytes) -> None:
    """Bodies of DynamoDB's responses: their values, or a `BackendError`."""
    client = CannedOutputs(data)
    for operation in (GET, *WRITES):
        tables = DynamoTables(client, "kvs", CLOCK.monotonic_ms, strong_reads=True)
        result_of(use(tables, operation))
    check_records(DynamoRecordStore(client, "kvs", CLOCK.wall_ms, CLOCK.monotonic_ms))
    check_page(DynamoRecordStore(client, "kvs", CLOCK.wall_ms, CLOCK.monotonic_ms))
    check_feed(DynamoRecordStore(client, "kvs", CLOCK.wall_ms, CLOCK.monotonic_ms))
    check_counters(DynamoWindowCounter(client, "kvs", CLOCK.wall_ms))
    with suppress(ConditionFailed):
        failure_of(HttpReply(400, None, data))


async def use_redis(data: bytes, operation: EntryOperation) -> None:
    tables = RedisTables(CannedReplies(data), "kvs")
    try:
        await use(tables, operation)
    finally:
        await tables.close()


async def use(tables: TableStore | RedisTables, operation: EntryOperation) -> None:
    with suppress(BackendError):
        await tables.execute(TABLE, operation, CLOCK.wall_ms())


def check_records(records: RecordStore) -> None:
    with suppress(BackendError):
        record = result_of(records.read("app/o/a/e"))
        if record is not None:
            binding_of(decode("app/o/a/e", record, AppRecord), "0" * 64, 600, None)


def check_page(records: RecordStore) -> None:
    with suppress(BackendError):
        for name, record in result_of(records.page("app/", after="", limit=10)):
            assert isinstance(name, str)
            assert isinstance(record, Record)


def check_feed(records: RecordStore) -> None:
    with suppress(BackendError):
        position = None
        for _ in range(3):
            position = result_of(records.changes(position)).position


def check_counters(counters: WindowCounter) -> None:
    with suppress(BackendError):
        charge = result_of(counters.charge("o/a/e", 600, 60_000))
        assert isinstance(charge, Charge)
        assert charge.closes_in_ms >= 1


def check_address(address: Address) -> None:
    assert address.host
    assert 0 < address.port < 65536
