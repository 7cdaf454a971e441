"""The memory store removes closed windows."""

from backends.memory.backend import MemoryWindowCounter


async def test_closed_windows_are_removed_when_another_opens(clock):
    counter = MemoryWindowCounter(now_ms=clock.monotonic_ms)
    for number in range(1000):
        await counter.charge(f"bucket{number}", 1, 60_000)
    clock.advance(60_000)
    await counter.charge("another", 1, 60_000)
    assert list(counter._windows) == ["another"]
    assert len(counter._closing) == 1


async def test_open_windows_stay_when_others_are_removed(clock):
    counter = MemoryWindowCounter(now_ms=clock.monotonic_ms)
    await counter.charge("early", 1, 60_000)
    clock.advance(30_000)
    await counter.charge("late", 1, 60_000)
    clock.advance(30_000)
    await counter.charge("another", 1, 60_000)
    assert not (await counter.charge("late", 1, 60_000)).admitted


async def test_a_wall_clock_step_neither_opens_nor_prolongs_a_window(clock):
    counter = MemoryWindowCounter(now_ms=clock.monotonic_ms)
    await counter.charge("bucket", 1, 60_000)
    clock.jump_wall(3_600_000)
    assert not (await counter.charge("bucket", 1, 60_000)).admitted
    clock.jump_wall(-7_200_000)
    clock.advance(60_000)
    assert (await counter.charge("bucket", 1, 60_000)).admitted
