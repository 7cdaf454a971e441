"""The memory store holds at most `max_bytes` and collects expired entries."""

import gc
import tracemalloc
from time import thread_time

import pytest

from backends.errors import StoreFull
from backends.interface import Entry, Keyspace
from backends.memory.entries import MemoryEntryStore
from tests.support.clock import FakeClock
from tests.support.purging import purge

TABLE = Keyspace("tbl_a")
OTHER_TABLE = Keyspace("tbl_b")
YEAR_MS = 365 * 24 * 3_600_000


def new_store(clock: FakeClock, max_bytes: int = 2**40) -> MemoryEntryStore:
    return MemoryEntryStore(max_bytes=max_bytes, now_ms=clock.wall_ms)


async def fill(store: MemoryEntryStore, entry: Entry, value_bytes: int = 1000) -> int:
    """Puts entries until there is no room; returns their number."""
    for number in range(10_000):
        try:
            await store.put(TABLE, f"k{number:04d}", Entry(b"x" * value_bytes, entry.expires_at_ms))
        except StoreFull:
            return number
    raise AssertionError("the store never fills")


@pytest.fixture
def full(clock) -> MemoryEntryStore:
    """A store with room for 100,000 bytes."""
    return new_store(clock, 100_000)


async def test_a_store_never_holds_more_than_max_bytes(clock, full):
    held = await fill(full, Entry(b"", None))
    assert 90_000 < full.used_bytes <= 100_000
    assert held * 1000 < 100_000


async def test_a_refused_put_evicts_nothing(clock, full):
    held = await fill(full, Entry(b"", clock.wall_ms() + 60_000))
    for number in range(held):
        assert await full.get(TABLE, f"k{number:04d}") is not None


async def test_a_refused_put_leaves_no_trace(clock, full):
    await fill(full, Entry(b"", None))
    used_bytes = full.used_bytes
    with pytest.raises(StoreFull):
        await full.put(OTHER_TABLE, "new", Entry(b"x" * 1000, clock.wall_ms() + 60_000))
    assert await full.get(OTHER_TABLE, "new") is None
    assert full.used_bytes == used_bytes


async def test_a_refused_replacement_leaves_the_old_value_and_expiry(clock, full):
    old = Entry(b"x" * 1000, clock.wall_ms() + 60_000)
    await fill(full, old)
    with pytest.raises(StoreFull):
        await full.put(TABLE, "k0000", Entry(b"y" * 3000, None))
    assert await full.get(TABLE, "k0000") == old


async def test_a_full_store_still_replaces_a_value_by_one_of_the_same_size(clock, full):
    await fill(full, Entry(b"", None))
    await full.put(TABLE, "k0000", Entry(b"y" * 1000, None))
    assert await full.get(TABLE, "k0000") == Entry(b"y" * 1000, None)


async def test_a_replacement_needs_only_the_difference(clock):
    store = new_store(clock, 100_000)
    await store.put(TABLE, "k", Entry(b"x" * 90_000, None))
    await store.put(TABLE, "k", Entry(b"y" * 95_000, None))
    assert len((await store.get(TABLE, "k")).value) == 95_000


async def test_a_full_store_accepts_again_after_a_delete(clock, full):
    await fill(full, Entry(b"", None))
    await full.delete(TABLE, "k0000")
    await full.put(TABLE, "new", Entry(b"x" * 1000, None))
    assert await full.get(TABLE, "new") is not None


async def test_a_full_store_accepts_again_after_a_purge(clock, full):
    await fill(full, Entry(b"", clock.wall_ms() + 60_000))
    await purge(full, TABLE)
    assert full.used_bytes == 0
    assert await fill(full, Entry(b"", None)) > 0


async def test_a_full_store_accepts_as_much_again_after_its_entries_expired(clock, full):
    held = await fill(full, Entry(b"", clock.wall_ms() + 60_000))
    clock.advance(61_000)
    assert await fill(full, Entry(b"", clock.wall_ms() + 60_000)) == held


async def test_one_large_value_takes_the_room_of_many_expired_entries(clock, full):
    await fill(full, Entry(b"", clock.wall_ms() + 60_000))
    clock.advance(61_000)
    await full.put(OTHER_TABLE, "large", Entry(b"x" * 90_000, None))
    assert await full.get(OTHER_TABLE, "large") is not None


async def test_entries_without_expiry_are_never_evicted(clock, full):
    held = await fill(full, Entry(b"", None))
    clock.advance(YEAR_MS)
    with pytest.raises(StoreFull):
        await full.put(OTHER_TABLE, "new", Entry(b"x" * 1000, None))
    assert [await full.get(TABLE, f"k{number:04d}") for number in range(held)].count(None) == 0


async def test_a_value_larger_than_the_store_is_refused(clock, full):
    with pytest.raises(StoreFull):
        await full.put(TABLE, "k", Entry(b"x" * 100_000, None))
    assert full.used_bytes == 0


async def test_puts_collect_expired_entries_that_nobody_reads(clock):
    store = new_store(clock)
    for number in range(1000):
        await store.put(TABLE, f"old{number}", Entry(b"1", clock.wall_ms() + 60_000 + number))
    clock.advance(62_000)
    for number in range(500):
        await store.put(OTHER_TABLE, f"new{number}", Entry(b"1", None))
    assert [await store.get(TABLE, f"old{number}") for number in range(1000)] == [None] * 1000


async def test_a_collecting_put_visits_expired_entries_only(clock):
    """A full scan of this many entries for each of these puts would take minutes."""
    store = new_store(clock)
    for number in range(50_000):
        await store.put(TABLE, f"k{number}", Entry(b"1", clock.wall_ms() + YEAR_MS + number * 1000))
    await store.put(TABLE, "due", Entry(b"1", clock.wall_ms() + 60_000))
    clock.advance(62_000)
    began = thread_time()
    for number in range(20_000):
        await store.put(OTHER_TABLE, f"k{number}", Entry(b"1", None))
    assert thread_time() - began < 5
    assert await store.get(TABLE, "due") is None
    assert await store.get(TABLE, "k0") is not None


@pytest.mark.parametrize("expires_in_ms", [60_000, 60_001, 60_500, 60_999])
async def test_an_entry_is_kept_until_it_expires(clock, expires_in_ms):
    store = new_store(clock)
    entry = Entry(b"1", clock.wall_ms() + expires_in_ms)
    await store.put(TABLE, "k", entry)
    clock.advance(expires_in_ms - 1)
    await store.put(OTHER_TABLE, "k", Entry(b"1", None))
    assert await store.get(TABLE, "k") == entry


async def test_an_extended_entry_is_not_collected_at_its_first_expiry(clock):
    store = new_store(clock)
    await store.put(TABLE, "k", Entry(b"1", clock.wall_ms() + 60_000))
    await store.put(TABLE, "k", Entry(b"2", clock.wall_ms() + 120_000))
    clock.advance(62_000)
    await store.put(OTHER_TABLE, "k", Entry(b"1", None))
    assert (await store.get(TABLE, "k")).value == b"2"


@pytest.mark.parametrize("step_ms", [0, 1000], ids=["one second", "a second each"])
async def test_overwriting_one_key_for_ever_does_not_grow_memory(clock, step_ms):
    store = new_store(clock)
    tracemalloc.start()
    try:
        for number in range(20_000):
            await store.put(TABLE, "k", Entry(b"1", clock.wall_ms() + YEAR_MS + number * step_ms))
        held_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held_bytes < 200_000


async def test_a_purge_of_many_entries_takes_small_steps(clock):
    store = new_store(clock)
    for number in range(5000):
        await store.put(TABLE, f"k{number}", Entry(b"1", None))
    steps = await purge(store, TABLE)
    assert len(steps) >= 5


KEYS = {
    "short": lambda number: f"{number}",
    "latin": lambda number: f"\u00e9{number}",
    "astral": lambda number: f"\U0001f600{number}",
    "long": lambda number: f"{number:x<512}",
    "long with one astral character": lambda number: f"\U0001f600{number:x<508}",
}


@pytest.mark.parametrize("seconds_apart", [None, 0, 1], ids=["no expiry", "one second", "a second each"])
@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS.keys())
async def test_the_estimate_is_never_below_the_memory_in_use(clock, key, seconds_apart):
    """6,000 entries include the resizes of a dict (5,461) and a set (4,915), where an entry costs most."""
    store = new_store(clock)
    gc.collect()
    tracemalloc.start()
    try:
        for number in range(6_000):
            later_ms = None if seconds_apart is None else clock.wall_ms() + 1000 * seconds_apart * number
            await store.put(TABLE, key(number), Entry(b"%d" % number, later_ms and later_ms + 60_000))
            if number >= 1000 and number % 50 == 0:
                assert tracemalloc.get_traced_memory()[0] <= store.used_bytes
    finally:
        tracemalloc.stop()
