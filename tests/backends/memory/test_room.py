"""The memory store holds at most `max_bytes`, collects expired entries, and takes small steps."""

import asyncio
import gc
import tracemalloc
from time import thread_time

import pytest

from backends.errors import StoreFull
from backends.interface import Keyspace
from backends.memory.holdings import REMOVED_AT_ONCE
from backends.memory.tables import MemoryTables
from backends.tables import (
    FAILED,
    DeleteEntry,
    GetEntry,
    ListEntries,
    NoEntry,
    NoRoom,
    PutEntry,
    Removed,
    Revision,
    StoredEntry,
    Table,
    Written,
)
from tests.support.clock import FakeClock

TABLE = Table("acme/shop/production", Keyspace("t2_a"))
OTHER_TABLE = Table("acme/shop/production", Keyspace("t2_b"))
YEAR_MS = 365 * 24 * 3_600_000
REVISION = Revision("r" * 22)


class Store:
    """Tables on a clock that the test moves."""

    def __init__(self, clock: FakeClock, max_bytes: int = 2**40) -> None:
        self.tables = MemoryTables(lambda _: (), max_bytes=max_bytes)
        self._clock = clock

    def after_ms(self, ms: int | None) -> int | None:
        return None if ms is None else self._clock.wall_ms() + ms

    async def put(self, key: str, value: bytes = b"1", in_ms: int | None = None, table=TABLE) -> object:
        put = PutEntry(key, StoredEntry(value, self.after_ms(in_ms), REVISION))
        return await self.tables.execute(table, put, self._clock.wall_ms())

    async def get(self, key: str, table=TABLE) -> StoredEntry | None:
        found = await self.tables.execute(table, GetEntry(key), self._clock.wall_ms())
        return None if found == NoEntry() else found

    async def fill(self, in_ms: int | None = None) -> int:
        """Puts entries of 1,000 bytes until there is no room; returns their number."""
        for number in range(10_000):
            try:
                await self.put(f"k{number:04d}", b"x" * 1000, in_ms)
            except StoreFull:
                return number
        raise AssertionError("the store never fills")


@pytest.fixture
def store(clock) -> Store:
    return Store(clock)


@pytest.fixture
def full(clock) -> Store:
    """A store with room for 100,000 bytes."""
    return Store(clock, 100_000)


async def test_a_store_never_holds_more_than_max_bytes(full):
    held = await full.fill()
    assert 90_000 < full.tables.used_bytes <= 100_000
    assert held * 1000 < 100_000


async def test_a_refused_put_evicts_nothing(full):
    held = await full.fill(60_000)
    for number in range(held):
        assert await full.get(f"k{number:04d}") is not None


async def test_a_refused_put_leaves_no_trace(full):
    await full.fill()
    used_bytes = full.tables.used_bytes
    with pytest.raises(StoreFull):
        await full.put("new", b"x" * 1000, 60_000, OTHER_TABLE)
    assert await full.get("new", OTHER_TABLE) is None
    assert full.tables.used_bytes == used_bytes


async def test_a_refused_replacement_leaves_the_old_value_and_expiry(full):
    await full.fill(60_000)
    old = await full.get("k0000")
    with pytest.raises(StoreFull):
        await full.put("k0000", b"y" * 5000)
    assert await full.get("k0000") == old


async def test_a_full_store_still_replaces_a_value_by_one_of_the_same_size(full):
    await full.fill()
    await full.put("k0000", b"y" * 1000)
    assert (await full.get("k0000")).value == b"y" * 1000


async def test_a_replacement_needs_only_the_difference(full):
    await full.put("k", b"x" * 90_000)
    await full.put("k", b"y" * 95_000)
    assert len((await full.get("k")).value) == 95_000


async def test_a_full_store_accepts_again_after_a_delete(full, clock):
    await full.fill()
    await full.tables.execute(TABLE, DeleteEntry("k0000"), clock.wall_ms())
    await full.put("new", b"x" * 1000)
    assert await full.get("new") is not None


async def test_a_full_store_accepts_again_after_a_drop(full):
    await full.fill(60_000)
    await full.tables.drop([TABLE])
    assert full.tables.used_bytes == 0
    assert await full.fill() > 0


async def test_a_full_store_accepts_as_much_again_after_its_entries_expired(full, clock):
    held = await full.fill(60_000)
    clock.advance(61_000)
    assert await full.fill(60_000) == held


async def test_one_large_value_takes_the_room_of_many_expired_entries(full, clock):
    await full.fill(60_000)
    clock.advance(61_000)
    await full.put("large", b"x" * 90_000, table=OTHER_TABLE)
    assert await full.get("large", OTHER_TABLE) is not None


async def test_entries_without_expiry_are_never_evicted(full, clock):
    held = await full.fill()
    clock.advance(YEAR_MS)
    with pytest.raises(StoreFull):
        await full.put("new", b"x" * 1000, table=OTHER_TABLE)
    assert [await full.get(f"k{number:04d}") for number in range(held)].count(None) == 0


async def test_a_value_larger_than_the_store_is_refused(full):
    with pytest.raises(StoreFull):
        await full.put("k", b"x" * 100_000)
    assert full.tables.used_bytes == 0


async def test_writes_collect_expired_entries_that_nobody_reads(store, clock):
    for number in range(1000):
        await store.put(f"old{number}", in_ms=60_000 + number)
    clock.advance(62_000)
    used_bytes = store.tables.used_bytes
    for _ in range(250):
        await store.put("new", table=OTHER_TABLE)
    assert store.tables.used_bytes < used_bytes / 900


async def test_a_collecting_put_visits_expired_entries_only(store, clock):
    """A full scan of this many entries for each of these puts would take minutes."""
    for number in range(50_000):
        await store.put(f"k{number}", in_ms=YEAR_MS + number * 1000)
    await store.put("due", in_ms=60_000)
    clock.advance(62_000)
    began = thread_time()
    for number in range(20_000):
        await store.put(f"k{number}", table=OTHER_TABLE)
    assert thread_time() - began < 5
    assert await store.get("due") is None
    assert await store.get("k0") is not None


@pytest.mark.parametrize("expires_in_ms", [60_000, 60_001, 60_063, 60_064, 60_999])
async def test_an_entry_is_there_until_the_millisecond_in_which_it_expires(store, clock, expires_in_ms):
    await store.put("k", in_ms=expires_in_ms)
    clock.advance(expires_in_ms - 1)
    await store.put("k", table=OTHER_TABLE)
    assert await store.get("k") is not None
    assert (await store.tables.count(TABLE, clock.wall_ms())).entries == 1
    clock.advance(1)
    assert await store.get("k") is None
    assert (await store.tables.count(TABLE, clock.wall_ms())).entries == 0


async def test_an_extended_entry_is_not_collected_at_its_first_expiry(store, clock):
    await store.put("k", in_ms=60_000)
    await store.put("k", b"2", 120_000)
    clock.advance(62_000)
    await store.put("k", table=OTHER_TABLE)
    assert (await store.get("k")).value == b"2"


@pytest.mark.parametrize("step_ms", [0, 1000], ids=["one second", "a second each"])
async def test_overwriting_one_key_for_ever_does_not_grow_memory(store, step_ms):
    tracemalloc.start()
    try:
        for number in range(20_000):
            await store.put("k", in_ms=YEAR_MS + number * step_ms)
        held_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held_bytes < 200_000


# ---- Steps


async def turns_of(tables: MemoryTables, work) -> tuple[int, int]:
    """Returns the turns of the event loop that some work takes, and the most memory that one gave back."""
    task = asyncio.create_task(work)
    turns = most = 0
    while not task.done():
        before = tables.used_bytes
        await asyncio.sleep(0)
        turns += 1
        most = max(most, before - tables.used_bytes)
    await task
    return turns, most


@pytest.mark.parametrize("in_ms", [None, 60_000])
async def test_a_drop_takes_small_steps(store, in_ms):
    for number in range(5000):
        await store.put(f"k{number}", in_ms=in_ms)
    used_bytes = store.tables.used_bytes
    turns, most = await turns_of(store.tables, store.tables.drop([TABLE]))
    assert turns >= 5000 // REMOVED_AT_ONCE
    assert most <= used_bytes * REMOVED_AT_ONCE / 5000 * 1.1
    assert store.tables.used_bytes == 0


async def test_entries_put_beside_a_drop_of_another_table_stay(store):
    for number in range(2000):
        await store.put(f"k{number}")
        await store.put(f"k{number}", in_ms=60_000, table=OTHER_TABLE)
    await asyncio.gather(store.tables.drop([TABLE]), store.put("new", table=OTHER_TABLE))
    assert await store.get("k1") is None
    assert (await store.tables.count(OTHER_TABLE, 0)).entries == 2001


async def test_a_put_beyond_the_storage_limit_collects_in_small_steps(store, clock):
    for number in range(5000):
        await store.put(f"k{number:04}", in_ms=60_000)
    clock.advance(61_000)
    limited = Table(TABLE.home, TABLE.keyspace, 20)
    used_bytes = store.tables.used_bytes
    turns, most = await turns_of(store.tables, store.put("new", b"x" * 15, table=limited))
    assert await store.get("new") is not None
    assert turns >= 5000 // REMOVED_AT_ONCE
    assert most <= used_bytes * REMOVED_AT_ONCE / 5000 * 1.1


async def test_an_expired_predecessor_gives_no_right_to_its_bytes(store, clock):
    await store.put("a", b"x" * 50)
    await store.put("b", b"x" * 50, 60_000)
    clock.advance(60_000)
    limited = Table(TABLE.home, TABLE.keyspace, 40)
    assert await store.put("b", b"y" * 10, table=limited) == NoRoom()
    assert isinstance(await store.put("a", b"y" * 50, table=limited), Written)


async def test_a_page_passes_over_expired_entries_a_thousand_at_a_time(store, clock):
    for number in range(2500):
        await store.put(f"k{number:04}", in_ms=60_000)
    await store.put("live")
    clock.advance(61_000)
    after, listed, pages = "", [], 0
    while after is not None:
        listing = ListEntries("", after, 10, has_values=False, page_bytes=1000)
        page = await store.tables.execute(TABLE, listing, clock.wall_ms())
        listed += [key for key, _ in page.entries]
        after, pages = page.after, pages + 1
    assert listed == ["live"]
    assert pages == 3


KEYS = {
    "short": lambda number: f"{number}",
    "latin": lambda number: f"\u00e9{number}",
    "astral": lambda number: f"\U0001f600{number}",
    "long": lambda number: f"{number:x<512}",
    "long with one astral character": lambda number: f"\U0001f600{number:x<508}",
}


@pytest.mark.parametrize("ms_apart", [None, 0, 64], ids=["no expiry", "one moment", "a span each"])
@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS.keys())
async def test_the_estimate_is_never_below_the_memory_in_use(store, key, ms_apart):
    """6,000 entries include the resizes of a dict (5,461) and a set (4,915), where an entry costs most."""
    gc.collect()
    tracemalloc.start()
    try:
        for number in range(6_000):
            in_ms = None if ms_apart is None else 60_000 + ms_apart * number
            put = PutEntry(key(number), StoredEntry(b"%d" % number, store.after_ms(in_ms), f"{number:22}"))
            await store.tables.execute(TABLE, put, 0)
            if number >= 1000 and number % 50 == 0:
                assert tracemalloc.get_traced_memory()[0] <= store.tables.used_bytes
    finally:
        tracemalloc.stop()


async def test_a_batch_goes_on_behind_an_operation_without_room(full, clock):
    await full.fill()
    large = PutEntry("k0000", StoredEntry(b"x" * 9000, None, REVISION))
    batch = [GetEntry("none"), large, DeleteEntry("k0001"), DeleteEntry("k0002")]
    done = await full.tables.step(None, TABLE, batch, clock.wall_ms())
    assert done.results == (NoEntry(), FAILED, Removed(), Removed())
    with pytest.raises(StoreFull):
        await full.tables.step(None, TABLE, [large], clock.wall_ms())
