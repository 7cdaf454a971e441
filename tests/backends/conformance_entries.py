"""The rules for single entries and for dropped tables, without conditions and charges."""

import asyncio
from collections.abc import AsyncIterator
from secrets import token_hex
from urllib.parse import quote

import pytest

from backends.interface import Keyspace
from backends.tables import Table
from tests.backends.conformance_base import Conformance
from tests.support import entries
from tests.support.entries import Entry

HOUR_MS = 3_600_000
LARGEST_VALUE = bytes(range(256)) * 256
ODD_KEYS = [
    "a", "user:1", "/a/b/../c", "a\x00b", "\x00", "{tag}", "*", "a b\n", "e\u0301", "\u00e9", "\u0665",
    "\U0001f600", "\uffff", "a" * 512, "\U0001f600" * 128,
]  # fmt: skip


class EntryConformance(Conformance):
    @pytest.fixture
    async def pair(self, opened, store) -> AsyncIterator[tuple[Table, Table]]:
        """Tables of two app environments, dropped afterwards."""
        pair = tuple(Table(f"acme/{token_hex(8)}/a", Keyspace(f"t2_{token_hex(16)}")) for _ in "12")
        yield pair
        await entries.drop(store, *pair)
        assert await opened.left_over() == 0

    @pytest.fixture
    def table(self, pair) -> Table:
        return pair[0]

    async def test_every_replica_reads_what_one_has_put(self, opened, store, table):
        assert await entries.get(store, table, "k") is None
        await entries.put(store, table, "k", Entry(b'{"a":1}', None))
        for replica in opened.replicas:
            assert await entries.get(replica, table, "k") == Entry(b'{"a":1}', None)

    @pytest.mark.parametrize("later_ms", [60_001, 60_999, HOUR_MS, 365 * 24 * HOUR_MS])
    async def test_an_expiry_is_kept_to_the_millisecond(self, opened, store, table, later_ms):
        now_ms = opened.wall_ms()
        entry = Entry(b"1", now_ms + later_ms)
        await entries.put(store, table, "k", entry, now_ms=now_ms)
        assert await entries.get(store, table, "k", now_ms=now_ms + later_ms - 1) == entry
        assert await entries.get(store, table, "k", now_ms=now_ms + later_ms) is None

    async def test_a_put_replaces_value_and_expiry_together(self, opened, store, table):
        now_ms = opened.wall_ms()
        for entry in (
            Entry(b"old", now_ms + HOUR_MS),
            Entry(b"new", now_ms + 2 * HOUR_MS),
            Entry(b"old", None),
            Entry(b"old", now_ms + HOUR_MS),
        ):
            await entries.put(store, table, "k", entry, now_ms=now_ms)
            assert await entries.get(store, table, "k", now_ms=now_ms) == entry

    async def test_deleting_leaves_other_keys_alone(self, store, table):
        await entries.delete(store, table, "nobody")
        await entries.put(store, table, "k", Entry(b"1", None))
        await entries.put(store, table, "k2", Entry(b"2", None))
        await entries.delete(store, table, "k")
        assert await entries.get(store, table, "k") is None
        assert await entries.get(store, table, "k2") == Entry(b"2", None)

    async def test_the_same_key_in_two_tables_does_not_conflict(self, store, pair):
        for number, table in enumerate(pair):
            await entries.put(store, table, "k", Entry(b"%d" % number, None))
        await entries.delete(store, pair[0], "k")
        assert await entries.get(store, pair[0], "k") is None
        assert await entries.get(store, pair[1], "k") == Entry(b"1", None)

    async def test_keys_that_look_alike_are_different_entries(self, store, table):
        for key in ODD_KEYS:
            await entries.put(store, table, key, Entry(ascii(key).encode(), None))
        found = [await entries.get(store, table, key) for key in ODD_KEYS]
        assert found == [Entry(ascii(key).encode(), None) for key in ODD_KEYS]

    @pytest.mark.parametrize(
        "value", [b"null", b'"\xc3\xa9"', b"\x00\xff", LARGEST_VALUE], ids=lambda value: quote(value[:9])
    )
    async def test_a_value_is_returned_byte_for_byte(self, store, table, value):
        await entries.put(store, table, "k", Entry(value, None))
        assert await entries.get(store, table, "k") == Entry(value, None)

    async def test_concurrent_puts_leave_one_whole_entry(self, opened, table):
        now_ms = opened.wall_ms()
        rivals = [Entry(b"%02d" % number * 2000, now_ms + HOUR_MS + number) for number in range(40)]
        replicas = opened.replicas
        puts = (
            entries.put(replicas[number % len(replicas)], table, "k", entry, now_ms=now_ms)
            for number, entry in enumerate(rivals)
        )
        await asyncio.gather(*puts)
        assert await entries.get(replicas[0], table, "k", now_ms=now_ms) in rivals

    async def test_dropping_many_tables_empties_them_and_no_others(self, opened, store, pair):
        doomed = [Table(table.home, Keyspace(f"t2_{token_hex(16)}")) for table in pair for _ in range(3)]
        later_ms = opened.wall_ms() + HOUR_MS
        for number in range(12):
            for table in (*pair, *doomed):
                await entries.put(store, table, f"k{number}", Entry(b"1", later_ms if number % 2 else None))
        await entries.drop(opened.replicas[-1], *doomed, Table("acme/empty/a", Keyspace("t2_empty")))
        for table in doomed:
            assert [await entries.get(store, table, f"k{number}") for number in range(12)] == [None] * 12
        for table in pair:
            assert await entries.get(store, table, "k10") == Entry(b"1", None)

    async def test_dropping_a_table_again_does_no_harm(self, store, table):
        await entries.put(store, table, "k", Entry(b"1", None))
        for _ in "12":
            await entries.drop(store, table)
            assert await entries.get(store, table, "k") is None
        await entries.put(store, table, "k", Entry(b"2", None))
        assert await entries.get(store, table, "k") == Entry(b"2", None)
