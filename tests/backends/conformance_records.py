"""What every record store has to do."""

import asyncio
from collections.abc import AsyncIterator
from secrets import token_hex

import pytest

from backends.interface import Record, RecordStore
from tests.backends.conformance_base import Conformance


class RecordStoreConformance(Conformance):
    @pytest.fixture
    async def prefix(self, opened, store) -> AsyncIterator[str]:
        """A prefix for names, of which nothing is left afterwards."""
        prefix = f"test/{token_hex(8)}/"
        yield prefix
        for name, record in [each async for each in store.records.list(prefix)]:
            assert await store.records.swap(name, None, record.version)
        assert [each async for each in store.records.list(prefix)] == []
        assert await opened.left_over() == 0

    @pytest.fixture
    def records(self, store) -> RecordStore:
        return store.records

    async def _create(self, records: RecordStore, name: str, document: bytes = b"1") -> Record:
        assert await records.swap(name, document, None)
        record = await records.read(name)
        assert record is not None
        return record

    async def test_an_absent_record_is_none(self, records, prefix):
        assert await records.read(f"{prefix}nobody") is None

    async def test_a_created_record_is_read_byte_for_byte_by_every_replica(self, opened, records, prefix):
        document = bytes(range(256)) * 40
        await self._create(records, f"{prefix}a", document)
        for replica in opened.replicas:
            assert (await replica.records.read(f"{prefix}a")).document == document

    async def test_creating_a_record_that_is_there_changes_nothing(self, records, prefix):
        created = await self._create(records, f"{prefix}a")
        assert not await records.swap(f"{prefix}a", b"2", None)
        assert await records.read(f"{prefix}a") == created

    async def test_a_swap_that_names_the_version_succeeds_and_gives_a_new_one(self, records, prefix):
        created = await self._create(records, f"{prefix}a")
        assert await records.swap(f"{prefix}a", b"2", created.version)
        changed = await records.read(f"{prefix}a")
        assert changed.document == b"2"
        assert changed.version != created.version

    async def test_a_swap_to_the_same_document_gives_a_new_version(self, records, prefix):
        created = await self._create(records, f"{prefix}a")
        assert await records.swap(f"{prefix}a", created.document, created.version)
        assert (await records.read(f"{prefix}a")).version != created.version

    async def test_a_swap_that_names_a_stale_version_changes_nothing(self, records, prefix):
        created = await self._create(records, f"{prefix}a")
        await records.swap(f"{prefix}a", b"2", created.version)
        assert not await records.swap(f"{prefix}a", b"3", created.version)
        assert (await records.read(f"{prefix}a")).document == b"2"

    async def test_a_swap_of_an_absent_record_that_names_a_version_creates_nothing(self, records, prefix):
        assert not await records.swap(f"{prefix}a", b"1", "1")
        assert await records.read(f"{prefix}a") is None

    async def test_a_record_is_removed_by_a_swap_that_names_its_version(self, records, prefix):
        created = await self._create(records, f"{prefix}a")
        assert await records.swap(f"{prefix}a", None, created.version)
        assert await records.read(f"{prefix}a") is None

    async def test_a_removal_that_names_a_stale_version_removes_nothing(self, records, prefix):
        created = await self._create(records, f"{prefix}a")
        await records.swap(f"{prefix}a", b"2", created.version)
        assert not await records.swap(f"{prefix}a", None, created.version)
        assert (await records.read(f"{prefix}a")).document == b"2"

    async def test_a_removal_that_names_a_version_of_a_removed_record_fails(self, records, prefix):
        created = await self._create(records, f"{prefix}a")
        await records.swap(f"{prefix}a", None, created.version)
        assert not await records.swap(f"{prefix}a", None, created.version)

    async def test_a_record_that_was_created_again_does_not_have_its_old_version(self, records, prefix):
        first = await self._create(records, f"{prefix}a")
        await records.swap(f"{prefix}a", None, first.version)
        await self._create(records, f"{prefix}a")
        assert not await records.swap(f"{prefix}a", b"3", first.version)
        assert (await records.read(f"{prefix}a")).document == b"1"

    @pytest.mark.parametrize("is_there", [False, True], ids=["creating", "changing"])
    async def test_of_many_swaps_at_once_exactly_one_wins(self, opened, records, prefix, is_there):
        name = f"{prefix}a"
        expected = (await self._create(records, name, b"before")).version if is_there else None
        replicas = opened.replicas
        outcomes = await asyncio.gather(
            *(
                replicas[number % len(replicas)].records.swap(name, b"%d" % number, expected)
                for number in range(40)
            )
        )
        assert outcomes.count(True) == 1
        assert (await records.read(name)).document == b"%d" % outcomes.index(True)

    async def test_increments_from_many_writers_are_not_lost(self, opened, records, prefix):
        name = f"{prefix}a"
        await self._create(records, name, b"0")

        async def increment(store: RecordStore) -> None:
            while True:
                record = await store.read(name)
                if await store.swap(name, b"%d" % (int(record.document) + 1), record.version):
                    return

        replicas = opened.replicas
        await asyncio.gather(*(increment(replicas[n % len(replicas)].records) for n in range(20)))
        assert (await records.read(name)).document == b"20"

    async def test_a_list_has_the_records_of_its_prefix_ordered_by_name(self, records, prefix):
        for name in ("b/2", "a", "b/10", "b/1", "c", "B"):
            await self._create(records, f"{prefix}{name}", name.encode())
        listed = [(name, record.document) async for name, record in records.list(f"{prefix}b/")]
        assert listed == [(f"{prefix}b/{n}", f"b/{n}".encode()) for n in ("1", "10", "2")]

    async def test_a_listed_record_carries_the_version_that_a_swap_has_to_name(self, records, prefix):
        created = await self._create(records, f"{prefix}a")
        assert [each async for each in records.list(prefix)] == [(f"{prefix}a", created)]

    async def test_a_removed_record_is_not_listed(self, records, prefix):
        created = await self._create(records, f"{prefix}a")
        await records.swap(f"{prefix}a", None, created.version)
        assert [each async for each in records.list(prefix)] == []

    @pytest.mark.parametrize("wildcard", ["*", "?", "[a]", "%", "_", "\\"])
    async def test_a_prefix_is_taken_literally(self, records, prefix, wildcard):
        await self._create(records, f"{prefix}a1")
        assert [each async for each in records.list(f"{prefix}{wildcard}")] == []

    async def test_a_long_list_is_complete_and_ordered(self, records, prefix):
        names = [f"{prefix}{number:04d}" for number in range(300)]
        await asyncio.gather(*(records.swap(name, b"1", None) for name in reversed(names)))
        assert [name async for name, _ in records.list(prefix)] == names

    async def test_a_list_may_be_read_while_its_records_are_removed(self, records, prefix):
        for number in range(10):
            await self._create(records, f"{prefix}{number}")
        async for name, record in records.list(prefix):
            await records.swap(name, None, record.version)
        assert [each async for each in records.list(prefix)] == []
