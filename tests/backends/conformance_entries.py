"""The rules for every entry store."""

import asyncio
from collections.abc import AsyncIterator
from secrets import token_hex
from urllib.parse import quote

import pytest

from backends.interface import Entry, EntryStore, Keyspace
from tests.backends.conformance_base import Conformance
from tests.support.purging import purge

HOUR_MS = 3_600_000
LARGEST_VALUE = bytes(range(256)) * 256
ODD_KEYS = [
    "a", "user:1", "/a/b/../c", "a\x00b", "\x00", "{tag}", "*", "a b\n", "e\u0301", "\u00e9", "\u0665",
    "\U0001f600", "\uffff", "a" * 512, "\U0001f600" * 128,
]  # fmt: skip


class EntryStoreConformance(Conformance):
    @pytest.fixture
    async def keyspaces(self, opened, store) -> AsyncIterator[tuple[Keyspace, Keyspace]]:
        """Two tables, emptied afterwards."""
        pair = Keyspace(f"tbl_{token_hex(16)}"), Keyspace(f"tbl_{token_hex(16)}")
        yield pair
        for keyspace in pair:
            await purge(store.entries, keyspace)
        assert await opened.left_over() == 0

    @pytest.fixture
    def table(self, keyspaces) -> Keyspace:
        return keyspaces[0]

    @pytest.fixture
    def entries(self, store) -> EntryStore:
        return store.entries

    async def test_a_missing_key_is_none(self, entries, table):
        assert await entries.get(table, "nobody") is None

    async def test_every_replica_reads_what_one_has_put(self, opened, entries, table):
        await entries.put(table, "k", Entry(b'{"a":1}', None))
        for replica in opened.replicas:
            assert await replica.entries.get(table, "k") == Entry(b'{"a":1}', None)

    @pytest.mark.parametrize("later_ms", [60_001, 60_999, HOUR_MS, 365 * 24 * HOUR_MS])
    async def test_an_expiry_is_kept_to_the_millisecond(self, opened, entries, table, later_ms):
        entry = Entry(b"1", opened.wall_ms() + later_ms)
        await entries.put(table, "k", entry)
        assert await entries.get(table, "k") == entry

    async def test_an_expired_entry_is_missing_or_unchanged(self, opened, entries, table):
        entry = Entry(b"1", opened.wall_ms() + 500)
        await entries.put(table, "k", entry)
        await opened.pass_time(1500)
        assert await entries.get(table, "k") in (None, entry)

    async def test_an_expired_entry_can_be_put_again(self, opened, entries, table):
        await entries.put(table, "k", Entry(b"1", opened.wall_ms() + 500))
        await opened.pass_time(1500)
        await entries.put(table, "k", Entry(b"2", None))
        assert await entries.get(table, "k") == Entry(b"2", None)

    async def test_a_put_replaces_value_and_expiry_together(self, opened, entries, table):
        await entries.put(table, "k", Entry(b"old", opened.wall_ms() + HOUR_MS))
        new = Entry(b"new", opened.wall_ms() + 2 * HOUR_MS)
        await entries.put(table, "k", new)
        assert await entries.get(table, "k") == new

    async def test_a_put_without_expiry_clears_an_earlier_one(self, opened, entries, table):
        await entries.put(table, "k", Entry(b"old", opened.wall_ms() + 500))
        await entries.put(table, "k", Entry(b"new", None))
        await opened.pass_time(1500)
        assert await entries.get(table, "k") == Entry(b"new", None)

    async def test_a_put_with_expiry_adds_one_to_an_entry_without(self, opened, entries, table):
        await entries.put(table, "k", Entry(b"old", None))
        new = Entry(b"old", opened.wall_ms() + HOUR_MS)
        await entries.put(table, "k", new)
        assert await entries.get(table, "k") == new

    async def test_a_deleted_entry_is_missing(self, entries, table):
        await entries.put(table, "k", Entry(b"1", None))
        await entries.delete(table, "k")
        assert await entries.get(table, "k") is None

    async def test_deleting_a_missing_entry_succeeds(self, entries, table):
        await entries.delete(table, "nobody")

    async def test_deleting_leaves_other_keys_alone(self, entries, table):
        await entries.put(table, "k", Entry(b"1", None))
        await entries.put(table, "k2", Entry(b"2", None))
        await entries.delete(table, "k")
        assert await entries.get(table, "k2") == Entry(b"2", None)

    async def test_the_same_key_in_two_keyspaces_does_not_conflict(self, entries, keyspaces):
        for number, keyspace in enumerate(keyspaces):
            await entries.put(keyspace, "k", Entry(b"%d" % number, None))
        await entries.delete(keyspaces[0], "k")
        assert await entries.get(keyspaces[0], "k") is None
        assert await entries.get(keyspaces[1], "k") == Entry(b"1", None)

    @pytest.mark.parametrize("key", ODD_KEYS, ids=lambda key: quote(key[:9]))
    async def test_any_key_is_kept_unchanged(self, entries, table, key):
        await entries.put(table, key, Entry(b"1", None))
        assert await entries.get(table, key) == Entry(b"1", None)
        await entries.delete(table, key)
        assert await entries.get(table, key) is None

    async def test_keys_that_look_alike_are_different_entries(self, entries, table):
        for key in ODD_KEYS:
            await entries.put(table, key, Entry(ascii(key).encode(), None))
        found = [await entries.get(table, key) for key in ODD_KEYS]
        assert found == [Entry(ascii(key).encode(), None) for key in ODD_KEYS]

    @pytest.mark.parametrize("value", [b"null", b'"\xc3\xa9"', b"\x00\xff", LARGEST_VALUE], ids=len)
    async def test_a_value_is_returned_byte_for_byte(self, entries, table, value):
        await entries.put(table, "k", Entry(value, None))
        assert await entries.get(table, "k") == Entry(value, None)

    async def test_a_purge_empties_the_keyspace(self, opened, entries, table):
        for number in range(1200):
            await entries.put(table, f"k{number}", Entry(b"1", opened.wall_ms() + HOUR_MS + number))
        await purge(entries, table)
        assert [await entries.get(table, f"k{number}") for number in range(1200)] == [None] * 1200

    async def test_a_purge_leaves_other_keyspaces_alone(self, entries, keyspaces):
        for keyspace in keyspaces:
            await entries.put(keyspace, "k", Entry(b"1", None))
        await purge(entries, keyspaces[0])
        assert await entries.get(keyspaces[1], "k") == Entry(b"1", None)

    async def test_a_purge_of_many_keyspaces_empties_them_and_no_others(self, entries, keyspaces):
        doomed = [Keyspace(f"tbl_{token_hex(16)}") for _ in range(5)]
        for keyspace in (*keyspaces, *doomed):
            for number in range(30):
                await entries.put(keyspace, f"k{number}", Entry(b"1", None))
        steps = await purge(entries, *doomed, Keyspace("tbl_empty"))
        assert sum(step.deleted for step in steps) == 150
        for keyspace in doomed:
            assert [await entries.get(keyspace, f"k{number}") for number in range(30)] == [None] * 30
        for keyspace in keyspaces:
            assert await entries.get(keyspace, "k29") == Entry(b"1", None)

    async def test_a_purge_takes_bounded_steps_that_report_their_cost(self, entries, table):
        for number in range(1200):
            await entries.put(table, f"k{number}", Entry(b"1", None))
        steps = await purge(entries, table)
        assert len(steps) > 1
        assert sum(step.deleted for step in steps) == 1200
        for step in steps:
            assert step.deleted < step.commands <= 1000
        assert sum(step.scanned for step in steps) >= 1200

    async def test_another_replica_continues_a_purge(self, opened, entries, table):
        for number in range(1200):
            await entries.put(table, f"k{number}", Entry(b"1", None))
        cursor, steps = None, 0
        while steps == 0 or cursor is not None:
            replica = opened.replicas[steps % len(opened.replicas)]
            cursor = (await replica.entries.purge([table], cursor)).cursor
            steps += 1
        assert [await entries.get(table, f"k{number}") for number in range(1200)] == [None] * 1200

    @pytest.mark.parametrize(
        "cursor",
        ["", "0", "more", "7", "partition 99", "a/0//0", "a/9//7", "////", "\u0665", "9" * 9999, "a/1//\xe9"],
        ids=lambda cursor: quote(cursor[:9]),
    )
    async def test_a_foreign_cursor_restarts_a_purge(self, entries, table, cursor):
        await entries.put(table, "k", Entry(b"1", None))
        while (cursor := (await entries.purge([table], cursor)).cursor) is not None:
            pass
        assert await entries.get(table, "k") is None

    async def test_a_purge_may_be_repeated(self, entries, table):
        await entries.put(table, "k", Entry(b"1", None))
        for _ in range(2):
            await purge(entries, table)
        assert await entries.get(table, "k") is None

    async def test_concurrent_puts_leave_one_whole_entry(self, opened, table):
        later_ms = opened.wall_ms() + HOUR_MS
        rivals = [Entry(b"%02d" % number * 2000, later_ms + number) for number in range(40)]
        puts = [
            opened.replicas[number % len(opened.replicas)].entries.put(table, "k", entry)
            for number, entry in enumerate(rivals)
        ]
        await asyncio.gather(*puts)
        assert await opened.replicas[0].entries.get(table, "k") in rivals
