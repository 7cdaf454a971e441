"""Index, expiries and sizes agree with the entries, after any operations and any fault."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backends.effects import effect_of, is_live
from backends.errors import BackendError
from backends.interface import Keyspace
from backends.tables import (
    ABSENT,
    ANY,
    PRESENT,
    AddToEntry,
    Budget,
    Charges,
    Condition,
    DeleteEntry,
    Done,
    GetEntry,
    ListEntries,
    PutEntry,
    Revisions,
    StoredEntry,
    Table,
    TouchEntry,
)
from tests.backends.redis.conformance import opened_redis
from tests.support.link import Link
from tests.support.outcomes import outcomes
from tests.support.redis import RedisServer
from tests.support.redis.recount import recount

TABLE = Table("acme/blog/production", Keyspace("t2_" + "0" * 32))
CHARGES = Charges((Budget("of-table", 10**6), Budget(TABLE.home, 10**6)), 60_000)
REVISIONS = Revisions()
NOW_MS = 1_800_000_000_000


def put_of(key: str, value: bytes = b"1", expires_at_ms: int | None = None) -> PutEntry:
    return PutEntry(key, StoredEntry(value, expires_at_ms, REVISIONS.next()))


async def do(store, *operations, now_ms: int = NOW_MS, table: Table = TABLE):
    done = await store.charged.step(CHARGES, table, operations, now_ms)
    assert isinstance(done, Done)
    return done.results


KEYS = st.sampled_from(["a", "b", "\u00e9", "c" * 40])
IN_MS = st.none() | st.integers(1, 40)
CONDITIONS = st.sampled_from([ANY, ABSENT, PRESENT, "live", Condition(revision="another-revision------")])
VALUES = st.sampled_from([b"1", b"-7", b"x" * 100, b""])
CHANGES = st.one_of(
    st.tuples(st.just("put"), KEYS, CONDITIONS, IN_MS, VALUES),
    st.tuples(st.just("delete"), KEYS, CONDITIONS),
    st.tuples(st.just("touch"), KEYS, CONDITIONS, IN_MS),
    st.tuples(st.just("add"), KEYS, st.integers(-5, 5), IN_MS),
    st.tuples(st.just("wait"), st.integers(1, 30)),
)


class Model:
    """A table as `effects.py` computes it, on a clock of its own."""

    def __init__(self) -> None:
        self.now_ms = NOW_MS
        self.stored: dict[str, StoredEntry] = {}

    def live(self, key: str) -> StoredEntry | None:
        entry = self.stored.get(key)
        return entry if is_live(entry, self.now_ms) else None

    def operation(self, change):
        name, key, *rest = change
        at = [None if each is None else self.now_ms + each for each in rest[1:2]]
        if name == "add":
            return AddToEntry(key, rest[0], at[0], REVISIONS.next())
        live = self.live(key)
        condition = rest[0] if rest[0] != "live" else Condition(revision=live.revision if live else "none")
        if name == "delete":
            return DeleteEntry(key, condition)
        if name == "touch":
            return TouchEntry(key, at[0], REVISIONS.next(), condition)
        return PutEntry(key, StoredEntry(rest[2], at[0], REVISIONS.next()), condition)

    def result(self, operation):
        effect = effect_of(operation, self.live(operation.key))
        self.stored.pop(operation.key, None)
        if effect.entry is not None:
            self.stored[operation.key] = effect.entry
        return effect.result


@settings(max_examples=40, deadline=None)
@given(st.lists(CHANGES, max_size=25))
def test_any_operations_have_the_results_of_the_model_and_leave_exact_counts(server, changes):
    async def compare() -> None:
        async with opened_redis(server.url) as store:
            model = Model()
            for change in changes:
                if change[0] == "wait":
                    model.now_ms += change[1]
                    continue
                operation = model.operation(change)
                results = await do(store, operation, now_ms=model.now_ms)
                assert results == (model.result(operation),)
            (page,) = await do(store, ListEntries("", "", 100, True, 2**20), now_ms=model.now_ms)
            live = {key: entry for key in model.stored if (entry := model.live(key)) is not None}
            assert dict(page.entries) == live
            count = await store.tables.count(TABLE, model.now_ms)
            assert (count.entries, count.is_exact) == (len(live), True)

    server.command("FLUSHALL")
    with asyncio.Runner() as runner:
        runner.run(compare())
    recount(server)


async def changed(store, number: int) -> None:
    """Changes an entry in each way, and adds to a counter."""
    key = f"k{number % 7}"
    in_ms = None if number % 2 else NOW_MS + number
    await do(store, put_of(key, b"x" * (number % 50), in_ms))
    await do(store, AddToEntry(f"n{number % 3}", 1, NOW_MS + 10, REVISIONS.next()))
    await do(
        store, DeleteEntry(f"k{(number + 3) % 7}"), TouchEntry(key, None, REVISIONS.next()), GetEntry(key)
    )


async def test_counts_are_exact_after_a_server_was_killed():
    with RedisServer(appendonly="yes", appendfsync="always") as server:
        async with opened_redis(server.url) as store:
            await outcomes([changed(store, number) for number in range(100)])
            calls = [asyncio.ensure_future(changed(store, number)) for number in range(300)]
            await asyncio.sleep(0.01)
            server.kill()
            await asyncio.gather(*calls, return_exceptions=True)
        server.start()
        assert recount(server) > 0


async def test_counts_are_exact_at_maxmemory(server, empty):
    async with opened_redis(server.url) as store:
        await outcomes([changed(store, number) for number in range(50)])
        server.command("CONFIG", "SET", "maxmemory", 1)
        try:
            assert any(
                isinstance(each, BackendError)
                for each in await outcomes([do(store, put_of(f"new{number}")) for number in range(20)])
            )
            for number in range(7):
                await do(store, GetEntry(f"k{number}"), DeleteEntry(f"k{number}"))
            await store.tables.tidy([TABLE], NOW_MS + 10**6)
        finally:
            server.command("CONFIG", "SET", "maxmemory", 0)
        assert (await store.tables.count(TABLE, NOW_MS + 10**6)).entries == 0
    assert recount(server) == 0


async def test_counts_are_exact_after_cuts_at_any_byte_of_the_replies(server, empty):
    async with Link(server.port) as link:
        url = f"redis://127.0.0.1:{link.port}/0"
        async with opened_redis(url) as store:
            for bytes_left in range(0, 120, 6):
                link.replies_left = bytes_left
                await asyncio.gather(
                    *(changed(store, number) for number in range(10)), return_exceptions=True
                )
                link.replies_left = None
    recount(server)


@pytest.mark.parametrize("has_expiries", [False, True])
async def test_a_dropped_table_leaves_nothing(server, empty, has_expiries):
    async with opened_redis(server.url) as store:
        for number in range(50):
            await do(store, put_of(f"k{number}", expires_at_ms=NOW_MS + 10**9 if has_expiries else None))
        for _ in "12":  # it may be repeated
            await store.tables.drop([TABLE])
    names = server.command("KEYS", "*")
    assert [name for name in names if not name.startswith((b"kvs:w:", b"kvs:ping"))] == []
