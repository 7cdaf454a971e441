"""The rules for every change feed."""

import asyncio
from secrets import token_hex

import pytest

import backends.dynamodb.feed
import backends.memory.backend
import backends.redis.records.feed
from backends.interface import Changes, RecordStore
from tests.backends.conformance_base import Conformance, Opened

_FEEDS = (backends.memory.backend, backends.redis.records.feed, backends.dynamodb.feed)


class FeedConformance(Conformance):
    @pytest.fixture
    async def names(self, store):
        """Makes names of records; removes the records afterwards."""
        made: list[str] = []

        def name() -> str:
            made.append(f"test/{token_hex(8)}")
            return made[-1]

        yield name
        for each in made:
            record = await store.records.read(each)
            if record is not None:
                await store.records.swap(each, None, record.version)

    async def _here(self, records: RecordStore) -> str:
        return (await records.changes(None)).position

    async def test_without_a_position_the_feed_returns_its_position_and_is_incomplete(self, store):
        changes = await store.records.changes(None)
        assert changes == Changes((), changes.position, is_complete=False)

    async def test_without_a_change_the_feed_returns_no_names_and_the_same_position(self, store):
        here = await self._here(store.records)
        assert await store.records.changes(here) == Changes((), here, is_complete=True)

    async def test_every_replica_reads_creations_changes_and_removals_in_order(self, opened, store, names):
        here = await self._here(store.records)
        one, other = names(), names()
        await store.records.swap(one, b"1", None)
        await store.records.swap(other, b"1", None)
        await store.records.swap(one, b"2", (await store.records.read(one)).version)
        await store.records.swap(one, None, (await store.records.read(one)).version)
        for replica in opened.replicas:
            changes = await replica.records.changes(here)
            assert changes.is_complete
            assert changes.names == (one, other, one, one)

    async def test_a_change_is_returned_once(self, store, names):
        here = await self._here(store.records)
        await store.records.swap(names(), b"1", None)
        there = (await store.records.changes(here)).position
        last = names()
        await store.records.swap(last, b"1", None)
        assert (await store.records.changes(there)).names == (last,)

    async def test_a_swap_that_failed_is_not_in_the_feed(self, store, names):
        name = names()
        await store.records.swap(name, b"1", None)
        here = await self._here(store.records)
        assert not await store.records.swap(name, b"2", None)
        assert not await store.records.swap(name, None, "another version")
        changes = await store.records.changes(here)
        assert (changes.names, changes.is_complete) == ((), True)

    async def test_concurrent_changes_are_each_returned_once(self, opened, store, names):
        here = await self._here(store.records)
        made = [names() for _ in range(24)]
        replicas = [each.records for each in opened.replicas]
        await asyncio.gather(
            *(replicas[n % len(replicas)].swap(name, b"1", None) for n, name in enumerate(made))
        )
        changes = await store.records.changes(here)
        assert changes.is_complete
        assert sorted(changes.names) == sorted(made)

    async def test_more_changes_than_one_answer_holds_make_it_incomplete(self, store, names, fewest_changes):
        here = await self._here(store.records)
        for _ in range(fewest_changes):
            await store.records.swap(names(), b"1", None)
        assert (await store.records.changes(here)).is_complete
        await store.records.swap(names(), b"1", None)
        changes = await store.records.changes(here)
        assert (changes.names, changes.is_complete) == ((), False)
        assert (await store.records.changes(changes.position)).is_complete

    @pytest.fixture
    def fewest_changes(self, monkeypatch) -> int:
        """Sets the number of names in one answer during a test."""
        for module in _FEEDS:
            monkeypatch.setattr(module, "MAX_CHANGES", 3)
        return 3


class SharedFeedConformance(FeedConformance):
    """The rules for the feed of a store that foreign programs can write to."""

    async def intrude(self, opened: Opened) -> None:
        """Writes foreign data into the feed."""
        raise NotImplementedError

    async def test_foreign_data_in_the_feed_hides_no_change(self, opened, store, names):
        here = await self._here(store.records)
        await self.intrude(opened)
        name = names()
        await store.records.swap(name, b"1", None)
        for replica in opened.replicas:
            changes = await replica.records.changes(here)
            assert name in changes.names or not changes.is_complete
            last = names()
            await store.records.swap(last, b"1", None)
            assert (await replica.records.changes(changes.position)).names[-1:] == (last,)
