"""The conformance suite on two replicas of one DynamoDB table, for every engine."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import ClassVar
from uuid import uuid4

import pytest

from backends import DynamoSettings, open_backend, sockets
from backends.backend import Backend
from backends.clock import Clock, SystemClock
from backends.dynamodb import backend as dynamodb_backend
from backends.dynamodb import client
from backends.dynamodb.store_time import StoreTime
from tests.backends.conformance import SharedStoreConformance
from tests.backends.conformance_base import Opened
from tests.support.clock import YEAR_2100_MS, FakeClock
from tests.support.dynamodb import ENVIRONMENT, REGION, EngineProcess
from tests.support.stores import first_answer


@contextmanager
def suited_to_engines() -> Iterator[None]:
    """Credentials where AWS SDKs look first, and the patience that engines in one slow process need."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, value)
        patch.setattr(client, "ATTEMPT_SECONDS", 20.0)
        patch.setattr(client, "CALL_SECONDS", 30.0)
        patch.setattr(sockets, "UNACKNOWLEDGED_SECONDS", 30.0)  # a full backlog delays handshakes
        yield


class _TimeOf(StoreTime):
    """Knows DynamoDB's time to the millisecond: it is that of the replica's clock."""

    def note(self, *_) -> None:
        """Nothing is to be learned."""

    def now_ms(self) -> int:
        return self._wall_ms()


@contextmanager
def on_the_time_of(clock: Clock | None) -> Iterator[None]:
    """Stores that are opened meanwhile take the time that a test moves for DynamoDB's."""
    with pytest.MonkeyPatch.context() as patch:
        if isinstance(clock, FakeClock):
            patch.setattr(dynamodb_backend, "StoreTime", _TimeOf)
        yield


@asynccontextmanager
async def opened_dynamodb(
    endpoint_url: str, table: str, clock: Clock | None = None, **settings
) -> AsyncIterator[Backend]:
    """A replica's store, once it answers."""
    settings = {"create_table": True, **settings}
    chosen = DynamoSettings(table=table, region=REGION, endpoint_url=endpoint_url, **settings)
    with on_the_time_of(clock):
        backend = await open_backend(chosen, clock or SystemClock())
    try:
        await first_answer(backend)
        yield backend
    finally:
        await backend.close()


class DynamoConformance(SharedStoreConformance):
    """A class of tests sets `engine` for the time that it runs; all share a table, as replicas do."""

    counts_exactly = False
    engine: ClassVar[EngineProcess]
    table: ClassVar[str]

    @asynccontextmanager
    async def open_store(self) -> AsyncIterator[Opened]:
        clock = FakeClock(YEAR_2100_MS)
        here = (self.engine.endpoint_url, self.table, clock)
        async with opened_dynamodb(*here) as one, opened_dynamodb(*here) as other:
            yield Opened((one, other), clock.wall_ms, _advancing(clock), self._left_over)

    async def intrude(self, opened: Opened) -> None:
        for sort_key in ("foreign", "7", "9" * 20, "9" * 21, "\u0663" * 20):
            foreign = {"pk": {"S": "c"}, "sk": {"S": sort_key}, "m": {"N": "1"}}
            await asyncio.to_thread(self.engine.observer.client.put_item, TableName=self.table, Item=foreign)

    async def _left_over(self) -> int:
        """Entries and records; counters and announcements leave by themselves."""
        items = await asyncio.to_thread(self.engine.observer.scan, self.table)
        return sum(item["pk"]["S"][0] in "er" for item in items)


def _advancing(clock: FakeClock):
    async def pass_time(ms: int) -> None:
        clock.advance(ms)

    return pass_time


def new_table() -> str:
    """A name that nobody has used."""
    return f"kvs-{uuid4().hex}"
