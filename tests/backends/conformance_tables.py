"""The rules for what tables hold: operations with their charges, conditions, lists, counters, counts."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from secrets import token_hex

import pytest

from backends.backend import Backend
from backends.errors import NotBegun
from backends.interface import Keyspace
from backends.tables import (
    ABSENT,
    ANY,
    LARGEST_INTEGER,
    PRESENT,
    AddToEntry,
    Budget,
    Charges,
    Condition,
    DeleteEntry,
    Done,
    EntryOperation,
    EntryResult,
    GetEntry,
    ListEntries,
    NoEntry,
    NoRoom,
    NotInteger,
    Page,
    PutEntry,
    Refused,
    Removed,
    Revision,
    Revisions,
    StoredEntry,
    Sum,
    Table,
    TouchEntry,
    Unmet,
    Written,
)
from tests.backends.conformance_base import Conformance, Opened
from tests.backends.conformance_entries import HOUR_MS, LARGEST_VALUE, ODD_KEYS

MIB = 2**20
OTHER = Condition(revision="another-revision------")


@dataclass
class Hand:
    """Executes operations on one table, each on the next replica in turn."""

    opened: Opened
    table: Table
    revisions: Revisions
    turns: int = 0

    def replica(self) -> Backend:
        self.turns += 1
        return self.opened.replicas[self.turns % len(self.opened.replicas)]

    async def do(self, operation: EntryOperation, table: Table | None = None) -> EntryResult:
        tables = self.replica().tables
        return await tables.execute(table or self.table, operation, self.opened.wall_ms())

    def put_of(self, key: str, value: bytes = b"1", in_ms: int | None = None, condition=ANY) -> PutEntry:
        expires_at_ms = None if in_ms is None else self.opened.wall_ms() + in_ms
        return PutEntry(key, StoredEntry(value, expires_at_ms, self.revisions.next()), condition)

    async def put(
        self, key: str, value: bytes = b"1", in_ms: int | None = None, condition=ANY, table=None
    ) -> EntryResult:
        return await self.do(self.put_of(key, value, in_ms, condition), table)

    async def get(self, key: str, table: Table | None = None) -> EntryResult:
        return await self.do(GetEntry(key), table)

    async def delete(self, key: str, condition=ANY) -> EntryResult:
        return await self.do(DeleteEntry(key, condition))

    async def touch(self, key: str, in_ms: int | None, condition=ANY) -> EntryResult:
        expires_at_ms = None if in_ms is None else self.opened.wall_ms() + in_ms
        return await self.do(TouchEntry(key, expires_at_ms, self.revisions.next(), condition))

    async def add(self, key: str, by: int = 1, in_ms: int | None = None) -> EntryResult:
        expires_at_ms = None if in_ms is None else self.opened.wall_ms() + in_ms
        return await self.do(AddToEntry(key, by, expires_at_ms, self.revisions.next()))

    async def pages(self, prefix: str = "", limit: int = 1000, *, has_values: bool = False) -> list[Page]:
        pages, after = [], ""
        while after is not None:
            page = await self.do(ListEntries(prefix, after, limit, has_values, MIB))
            assert isinstance(page, Page)
            pages.append(page)
            after = page.after
        return pages

    async def keys(self, prefix: str = "", limit: int = 1000) -> list[str]:
        return [key for page in await self.pages(prefix, limit) for key, _ in page.entries]

    async def counted(self, table: Table | None = None) -> tuple[int, int]:
        count = await self.replica().tables.count(table or self.table, self.opened.wall_ms())
        return count.entries, count.bytes


def revision_of(result: EntryResult) -> Revision:
    assert isinstance(result, StoredEntry | Written | Sum)
    return result.revision


class TableConformance(Conformance):
    counts_exactly = True
    """Whether the storage limit and counts are exact at any moment."""

    @pytest.fixture
    async def tables(self, opened) -> AsyncIterator[tuple[Table, Table]]:
        """Two tables of one app environment, dropped afterwards."""
        home = f"acme/{token_hex(8)}/production"
        pair = tuple(Table(home, Keyspace(f"t2_{token_hex(16)}")) for _ in range(2))
        yield pair
        await opened.replicas[0].tables.drop(pair)
        assert await opened.left_over() == 0

    @pytest.fixture
    def hand(self, opened, tables) -> Hand:
        return Hand(opened, tables[0], Revisions())

    # ---- Entries

    async def test_an_entry_is_returned_as_put(self, hand):
        put = hand.put_of("k", b'{"a":1}', HOUR_MS)
        assert await hand.do(put) == Written(put.entry.revision)
        assert await hand.get("k") == put.entry
        assert await hand.get("other") == NoEntry()

    @pytest.mark.parametrize("key", ODD_KEYS)
    async def test_any_key_is_kept_unchanged_by_every_operation(self, hand, key):
        await hand.put(key, b"7")
        assert isinstance(await hand.add(key), Sum)
        assert isinstance(await hand.touch(key, HOUR_MS), Written)
        assert await hand.keys(key) == [key]
        await hand.delete(key)
        assert await hand.get(key) == NoEntry()

    async def test_the_largest_value_is_returned_byte_for_byte(self, hand):
        await hand.put("k", LARGEST_VALUE)
        assert (await hand.get("k")).value == LARGEST_VALUE

    async def test_tables_of_one_app_do_not_share_entries(self, hand, tables):
        await hand.put("k", b"1")
        await hand.put("k", b"2", table=tables[1])
        await hand.delete("k")
        assert await hand.get("k") == NoEntry()
        assert (await hand.get("k", tables[1])).value == b"2"

    async def test_an_expired_entry_is_missing_for_every_operation(self, opened, hand):
        for key in ("get", "if_absent", "if_present", "touch", "add"):
            await hand.put(key, b"41", 500)
        await opened.pass_time(1500)
        assert await hand.get("get") == NoEntry()
        assert isinstance(await hand.put("if_absent", condition=ABSENT), Written)
        assert await hand.put("if_present", condition=PRESENT) == Unmet(None)
        assert await hand.touch("touch", None) == NoEntry()
        assert (await hand.add("add")).value == 1
        assert await hand.keys() == ["add", "if_absent"]

    async def test_a_put_without_expiry_clears_an_earlier_one(self, opened, hand):
        await hand.put("k", b"1", 500)
        await hand.put("k", b"2")
        await opened.pass_time(1500)
        assert (await hand.get("k")).value == b"2"

    # ---- Conditions

    async def test_if_absent_puts_only_without_an_entry(self, hand):
        first = await hand.put("k", condition=ABSENT)
        assert await hand.put("k", condition=ABSENT) == Unmet(revision_of(first))
        await hand.delete("k")
        assert isinstance(await hand.put("k", condition=ABSENT), Written)

    async def test_if_present_writes_only_with_an_entry(self, hand):
        assert await hand.put("k", condition=PRESENT) == Unmet(None)
        assert await hand.delete("k", PRESENT) == Unmet(None)
        assert await hand.touch("k", None, PRESENT) == Unmet(None)
        await hand.put("k")
        assert isinstance(await hand.put("k", condition=PRESENT), Written)
        assert isinstance(await hand.touch("k", None, PRESENT), Written)
        assert await hand.delete("k", PRESENT) == Removed()

    async def test_a_revision_admits_one_write(self, hand):
        revision = revision_of(await hand.put("k", b"1"))
        second = await hand.put("k", b"2", condition=Condition(revision=revision))
        assert await hand.put("k", b"3", condition=Condition(revision=revision)) == Unmet(revision_of(second))
        assert (await hand.get("k")).value == b"2"

    async def test_another_revision_changes_nothing(self, hand):
        put = hand.put_of("k", b"1")
        await hand.do(put)
        unmet = Unmet(put.entry.revision)
        assert await hand.put("k", b"2", condition=OTHER) == unmet
        assert await hand.delete("k", OTHER) == unmet
        assert await hand.touch("k", HOUR_MS, OTHER) == unmet
        assert await hand.put("nobody", condition=OTHER) == Unmet(None)
        assert await hand.get("k") == put.entry

    async def test_the_same_value_put_again_has_another_revision(self, hand):
        revisions = {revision_of(await hand.put("k", b"1")) for _ in range(3)}
        await hand.delete("k")
        revisions.add(revision_of(await hand.put("k", b"1")))
        assert len(revisions) == 4

    async def test_of_racing_writers_with_one_revision_exactly_one_wins(self, hand):
        revision = revision_of(await hand.put("k"))
        rivals = [hand.put("k", b"%d" % n, condition=Condition(revision=revision)) for n in range(20)]
        results = await asyncio.gather(*rivals)
        assert [type(each) for each in results].count(Written) == 1

    async def test_of_racing_first_writers_exactly_one_wins(self, hand):
        results = await asyncio.gather(*(hand.put("k", b"%d" % n, condition=ABSENT) for n in range(20)))
        assert [type(each) for each in results].count(Written) == 1

    # ---- Touch

    async def test_a_touch_changes_expiry_and_revision_but_not_the_value(self, opened, hand):
        before = revision_of(await hand.put("k", b"1", HOUR_MS))
        expires_at_ms = opened.wall_ms() + 2 * HOUR_MS
        touch = TouchEntry("k", expires_at_ms, hand.revisions.next())
        assert await hand.do(touch) == Written(touch.revision)
        assert await hand.get("k") == StoredEntry(b"1", expires_at_ms, touch.revision)
        assert touch.revision != before

    async def test_a_touch_can_remove_the_expiry(self, opened, hand):
        await hand.put("k", b"1", 500)
        await hand.touch("k", None)
        await opened.pass_time(1500)
        assert (await hand.get("k")).expires_at_ms is None

    async def test_a_touch_of_nothing_creates_nothing(self, hand):
        assert await hand.touch("k", HOUR_MS) == NoEntry()
        assert await hand.keys() == []

    # ---- Counters

    async def test_a_counter_begins_at_zero_with_the_expiry(self, opened, hand):
        expires_at_ms = opened.wall_ms() + HOUR_MS
        add = AddToEntry("k", 5, expires_at_ms, hand.revisions.next())
        assert await hand.do(add) == Sum(5, expires_at_ms, add.revision)
        assert await hand.get("k") == StoredEntry(b"5", expires_at_ms, add.revision)

    async def test_a_counter_keeps_its_expiry(self, opened, hand):
        first = await hand.add("k", 1, HOUR_MS)
        await hand.add("k", -3, 2 * HOUR_MS)
        found = await hand.get("k")
        assert (found.value, found.expires_at_ms) == (b"-2", first.expires_at_ms)

    @pytest.mark.parametrize(
        "value",
        [
            b"1.0",
            b"1e2",
            b'"1"',
            b"null",
            b"true",
            b"[1]",
            b"01",
            b"+1",
            b"- 1",
            b"",
            b"9007199254740992",
            b"-9007199254740992",
            b"1" * 5000,
        ],
    )
    async def test_only_an_integer_in_range_can_be_added_to(self, hand, value):
        put = hand.put_of("k", value)
        await hand.do(put)
        assert await hand.add("k") == NotInteger()
        assert await hand.get("k") == put.entry

    @pytest.mark.parametrize(
        ("start", "by"), [(LARGEST_INTEGER, 1), (-LARGEST_INTEGER, -1), (2, LARGEST_INTEGER)]
    )
    async def test_a_sum_out_of_range_changes_nothing(self, hand, start, by):
        await hand.add("k", start)
        before = await hand.get("k")
        assert await hand.add("k", by) == NotInteger()
        assert await hand.get("k") == before

    @pytest.mark.parametrize(
        ("start", "by", "total"),
        [
            (LARGEST_INTEGER - 1, 1, LARGEST_INTEGER),
            (-LARGEST_INTEGER, LARGEST_INTEGER, 0),
            (LARGEST_INTEGER, -LARGEST_INTEGER, 0),
            (0, 0, 0),
            (-5, 5, 0),
            (4_503_599_627_370_497, 4_503_599_627_370_494, LARGEST_INTEGER),
        ],
    )
    async def test_sums_are_exact_to_the_last_digit(self, hand, start, by, total):
        await hand.add("k", start)
        assert (await hand.add("k", by)).value == total
        assert (await hand.get("k")).value == b"%d" % total

    async def test_an_integer_may_have_spaces_around_it_and_a_negative_zero(self, hand):
        for value, total in ((b" 41 ", 42), (b"\n41\t", 42), (b"-0", 1)):
            await hand.put("k", value)
            assert (await hand.add("k")).value == total

    async def test_forty_increments_at_once_all_count(self, hand):
        sums = await asyncio.gather(*(hand.add("k") for _ in range(40)))
        assert sorted(each.value for each in sums) == list(range(1, 41))

    # ---- Lists

    async def test_a_list_is_ordered_by_the_bytes_of_the_keys(self, hand):
        for key in ODD_KEYS:
            await hand.put(key)
        in_order = sorted(ODD_KEYS, key=str.encode)
        assert await hand.keys() == in_order
        assert await hand.keys(limit=1) == in_order
        assert await hand.keys("a") == [key for key in in_order if key.startswith("a")]

    async def test_a_page_ends_at_the_limit_and_the_last_one_says_so(self, hand):
        for number in range(7):
            await hand.put(f"k{number}")
        pages = await hand.pages(limit=3)
        assert [len(page.entries) for page in pages] == [3, 3, 1]
        assert [page.after for page in pages] == ["k2", "k5", None]
        assert [len(page.entries) for page in await hand.pages(limit=7)] == [7]

    async def test_a_list_shows_expiry_revision_and_on_request_the_value(self, hand):
        put = hand.put_of("k", b'{"a":1}', HOUR_MS)
        await hand.do(put)
        (page,) = await hand.pages(has_values=True)
        assert page.entries == (("k", put.entry),)
        (page,) = await hand.pages()
        assert page.entries == (("k", StoredEntry(b"", put.entry.expires_at_ms, put.entry.revision)),)

    async def test_a_page_of_large_values_ends_early(self, hand):
        for number in range(5):
            await hand.put(f"k{number}", b"x" * 60_000)
        page = await hand.do(ListEntries("", "", 1000, True, 100_000))
        assert [key for key, _ in page.entries] == ["k0", "k1"]
        page = await hand.do(ListEntries("", page.after, 1000, True, 100_000))
        assert [key for key, _ in page.entries] == ["k2", "k3"]

    async def test_a_page_behind_the_prefix_is_empty(self, hand):
        for key in ("a", "b1", "b2", "c"):
            await hand.put(key)
        assert await hand.do(ListEntries("b", "b2", 10, False, MIB)) == Page((), None)
        assert await hand.do(ListEntries("b", "bz", 10, False, MIB)) == Page((), None)

    async def test_stable_keys_are_listed_exactly_once_beside_changes(self, hand):
        stable = sorted(f"s{number:03}" for number in range(60))
        for key in stable:
            await hand.put(key)

        async def churn() -> None:
            for number in range(60):
                await hand.put(f"s{number:03}~")
                await hand.delete(f"s{(number * 7) % 60:03}~")

        listed, _ = await asyncio.gather(hand.keys(limit=7), churn())
        assert [key for key in listed if not key.endswith("~")] == stable
        assert listed == sorted(set(listed))

    # ---- Charges

    async def test_a_step_charges_and_executes(self, opened, hand):
        charges = Charges((Budget(token_hex(8), 5), Budget(hand.table.home, 3)), self.window_ms)
        put = hand.put_of("k")
        done = await hand.replica().charged.step(charges, hand.table, [put], opened.wall_ms())
        assert isinstance(done, Done)
        assert done.results == (Written(put.entry.revision),)
        assert [each.remaining for each in done.charges] == [4, 2]
        assert await hand.get("k") == put.entry

    async def test_a_refused_step_touches_no_entry_and_charges_nothing(self, opened, hand):
        narrow, wide = Budget(token_hex(8), 5), Budget(hand.table.home, 2)
        charges = Charges((narrow, wide), self.window_ms)
        for number in range(2):
            await hand.replica().charged.step(
                charges, hand.table, [hand.put_of("k", b"%d" % number)], opened.wall_ms()
            )
        refused = await hand.replica().charged.step(
            charges, hand.table, [hand.put_of("k", b"9")], opened.wall_ms()
        )
        assert isinstance(refused, Refused)
        assert refused.budget == wide
        assert 0 < refused.charge.closes_in_ms <= self.window_ms
        assert (await hand.get("k")).value == b"1"
        rest = Charges((narrow,), self.window_ms)
        done = await hand.replica().charged.step(rest, hand.table, [], opened.wall_ms())
        assert done.charges[0].remaining == 2

    async def test_a_step_without_operations_only_charges(self, opened, hand):
        charges = Charges((Budget(hand.table.home, 3),), self.window_ms)
        done = await hand.replica().charged.step(charges, hand.table, [], opened.wall_ms())
        assert (done.results, done.charges[0].remaining) == ((), 2)

    async def test_exactly_the_limit_passes_however_many_race(self, opened, hand):
        charges = Charges((Budget(hand.table.home, 10),), self.window_ms)
        add = [AddToEntry("k", 1, None, hand.revisions.next()) for _ in range(40)]
        steps = await asyncio.gather(
            *(hand.replica().charged.step(charges, hand.table, [each], opened.wall_ms()) for each in add)
        )
        assert [type(each) for each in steps].count(Done) == 10
        assert (await hand.get("k")).value == b"10"

    async def test_a_batch_is_charged_whole_or_not_at_all(self, opened, hand):
        budget = Budget(hand.table.home, 10)
        batch = Charges((budget,), self.window_ms, 6)
        puts = [hand.put_of(f"k{number}") for number in range(6)]
        assert isinstance(await hand.replica().charged.step(batch, hand.table, puts, opened.wall_ms()), Done)
        refused = await hand.replica().charged.step(batch, hand.table, puts, opened.wall_ms())
        assert isinstance(refused, Refused)
        assert refused.charge.remaining == 4
        single = Charges((budget,), self.window_ms)
        done = await hand.replica().charged.step(single, hand.table, [], opened.wall_ms())
        assert done.charges[0].remaining == 3

    async def test_operations_of_a_batch_are_done_in_order_each_by_itself(self, opened, hand):
        charges = Charges((Budget(hand.table.home, 10),), self.window_ms, 5)
        put = hand.put_of("k", b"1")
        batch = [
            GetEntry("k"),
            put,
            hand.put_of("k", b"2", condition=ABSENT),
            GetEntry("k"),
            DeleteEntry("k"),
        ]
        done = await hand.replica().charged.step(charges, hand.table, batch, opened.wall_ms())
        assert done.results == (
            NoEntry(), Written(put.entry.revision), Unmet(put.entry.revision), put.entry, Removed(),
        )  # fmt: skip

    # ---- Counts and the storage limit

    async def test_entries_and_bytes_are_counted_through_every_change(self, opened, hand):
        if not self.counts_exactly:
            return
        assert await hand.counted() == (0, 0)
        await hand.put("ab", b"123")
        await hand.put("\u00e9", b"12", 500)
        assert await hand.counted() == (2, 5 + 4)
        await hand.put("ab", b"1")
        assert await hand.counted() == (2, 3 + 4)
        await hand.add("n", 99)
        await hand.add("n", 1)
        await hand.touch("ab", HOUR_MS)
        assert await hand.counted() == (3, 3 + 4 + 4)
        await opened.pass_time(1500)
        assert await hand.counted() == (2, 3 + 4)
        await hand.delete("ab")
        await hand.delete("nobody")
        assert await hand.counted() == (1, 4)

    async def test_the_storage_limit_is_shared_by_the_tables_of_an_app(self, opened, hand, tables):
        if not self.counts_exactly:
            return
        first, second = (Table(each.home, each.keyspace, 20) for each in tables)
        assert isinstance(await hand.put("a", b"x" * 9, table=first), Written)
        assert isinstance(await hand.put("b", b"x" * 9, table=second), Written)
        assert await hand.put("c", b"", table=first) == NoRoom()
        assert await hand.get("c", first) == NoEntry()
        assert isinstance(await hand.put("a", b"x" * 8, table=first), Written)
        assert isinstance(await hand.put("c", b"", table=second), Written)
        assert await hand.counted(second) == (2, 11)

    async def test_a_replacement_with_no_more_bytes_fits_even_beyond_the_limit(self, hand, tables):
        if not self.counts_exactly:
            return
        await hand.put("a", b"x" * 99)
        narrow = Table(tables[0].home, tables[0].keyspace, 50)
        assert isinstance(await hand.put("a", b"y" * 99, table=narrow), Written)
        assert await hand.put("a", b"y" * 100, table=narrow) == NoRoom()
        assert await hand.put("b", b"", table=narrow) == NoRoom()

    async def test_what_expired_makes_room(self, opened, hand, tables):
        if not self.counts_exactly:
            return
        first, second = (Table(each.home, each.keyspace, 100) for each in tables)
        for number in range(9):
            await hand.put(f"a{number}", b"x" * 8, 500, table=first)
        assert await hand.put("b", b"x" * 50, table=second) == NoRoom()
        await opened.pass_time(1500)
        assert isinstance(await hand.put("b", b"x" * 50, table=second), Written)

    async def test_what_expired_is_not_replaced_beyond_the_limit(self, opened, hand, tables):
        if not self.counts_exactly:
            return
        await hand.put("a", b"x" * 99)
        await hand.put("b", b"x" * 9, 500)
        await opened.pass_time(1500)
        narrow = Table(tables[0].home, tables[0].keyspace, 50)
        assert await hand.put("b", b"x" * 9, table=narrow) == NoRoom()
        assert await hand.keys() == ["a"]

    async def test_an_attempt_that_ends_while_room_is_made_writes_nothing(self, opened, hand, tables):
        limited = Table(tables[0].home, tables[0].keyspace, 100)
        for number in range(9):
            await hand.put(f"a{number}", b"x" * 8, 500, table=limited)
        await opened.pass_time(1500)
        put, charges = hand.put_of("b", b"x" * 95), Charges((Budget(limited.home, 1),), 60_000)
        charged = hand.replica().charged
        with pytest.raises(NotBegun):
            await charged.step(charges, limited, [put], opened.wall_ms(), may_begin=lambda: False)
        assert await hand.get("b") == NoEntry()

    async def test_a_condition_is_judged_before_the_storage_limit(self, hand, tables):
        narrow = Table(tables[0].home, tables[0].keyspace, 5)
        assert await hand.put("k", b"x" * 50, condition=PRESENT, table=narrow) == Unmet(None)

    async def test_racing_puts_never_pass_the_storage_limit(self, hand, tables):
        if not self.counts_exactly:
            return
        narrow = Table(tables[0].home, tables[0].keyspace, 50)
        results = await asyncio.gather(*(hand.put(f"k{n:02}", b"x" * 7, table=narrow) for n in range(20)))
        assert [type(each) for each in results].count(Written) == 5
        assert await hand.counted() == (5, 50)

    # ---- Dropping

    async def test_a_dropped_table_is_empty_and_others_are_not(self, hand, tables):
        for number in range(300):
            await hand.put(f"k{number}", b"1", HOUR_MS)
        await hand.put("k", table=tables[1])
        await hand.replica().tables.drop(tables[:1])
        assert await hand.keys() == []
        assert isinstance(await hand.get("k", tables[1]), StoredEntry)
        if self.counts_exactly:
            assert await hand.counted() == (0, 0)
            assert await hand.counted(tables[1]) == (1, 2)
