"""The rules for every record store."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from secrets import token_hex

import pytest

from backends import paging
from backends.interface import LONGEST_PAGE, NamedRecord, Record, RecordStore
from backends.paging import all_records
from tests.backends.conformance_base import Conformance


class RecordStoreConformance(Conformance):
    @pytest.fixture
    async def prefix(self, opened, store) -> AsyncIterator[str]:
        """A prefix for names; its records are removed afterwards."""
        prefix = f"test/{token_hex(8)}/"
        yield prefix
        for name, record in [each async for each in all_records(store.records, prefix)]:
            assert await store.records.swap(name, None, record.version)
        assert await _names(store.records, prefix) == []
        assert await opened.left_over() == 0

    @pytest.fixture
    def records(self, store) -> RecordStore:
        return store.records

    async def _create(self, records: RecordStore, name: str, document: bytes = b"1") -> Record:
        assert await records.swap(name, document, None)
        record = await records.read(name)
        assert record is not None
        return record

    async def test_a_missing_record_is_none(self, records, prefix):
        assert await records.read(f"{prefix}nobody") is None

    async def test_a_created_record_is_read_byte_for_byte_by_every_replica(self, opened, records, prefix):
        document = bytes(range(256)) * 40
        await self._create(records, f"{prefix}a", document)
        for replica in opened.replicas:
            assert (await replica.records.read(f"{prefix}a")).document == document

    async def test_creating_an_existing_record_changes_nothing(self, records, prefix):
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

    async def test_a_swap_of_a_missing_record_by_version_creates_nothing(self, records, prefix):
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

    async def test_a_recreated_record_has_another_version(self, records, prefix):
        first = await self._create(records, f"{prefix}a")
        await records.swap(f"{prefix}a", None, first.version)
        await self._create(records, f"{prefix}a")
        assert not await records.swap(f"{prefix}a", b"3", first.version)
        assert (await records.read(f"{prefix}a")).document == b"1"

    @pytest.mark.parametrize("is_there", [False, True], ids=["creating", "changing"])
    async def test_exactly_one_of_concurrent_swaps_succeeds(self, opened, records, prefix, is_there):
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

    @pytest.mark.parametrize("limit", [1, 2, 3, LONGEST_PAGE])
    async def test_pages_contain_the_records_of_a_prefix_in_order_of_name(self, records, prefix, limit):
        for name in ("b/2", "a", "b/10", "b/1", "c", "B"):
            await self._create(records, f"{prefix}{name}", name.encode())
        paged = [(name, record.document) for name, record in await _paged(records, f"{prefix}b/", limit)]
        assert paged == [(f"{prefix}b/{n}", f"b/{n}".encode()) for n in ("1", "10", "2")]

    async def test_a_page_contains_the_versions_for_swaps(self, records, prefix):
        created = await self._create(records, f"{prefix}a")
        assert list(await records.page(prefix, after="", limit=LONGEST_PAGE)) == [(f"{prefix}a", created)]

    async def test_a_changed_record_is_listed_once_and_a_removed_one_never(self, records, prefix):
        for name in ("a", "b"):
            created = await self._create(records, f"{prefix}{name}")
            assert await records.swap(f"{prefix}{name}", b"2", created.version)
        assert await _names(records, prefix) == [f"{prefix}a", f"{prefix}b"]
        changed = await records.read(f"{prefix}a")
        assert await records.swap(f"{prefix}a", None, changed.version)
        assert await _names(records, prefix) == [f"{prefix}b"]

    @pytest.mark.parametrize("wildcard", ["*", "?", "[a]", "%", "_", "\\"])
    async def test_a_prefix_is_taken_literally(self, records, prefix, wildcard):
        await self._create(records, f"{prefix}a1")
        assert await _names(records, f"{prefix}{wildcard}") == []

    @pytest.mark.parametrize("limit", [7, 50, 119, 120, 121])
    async def test_long_pages_are_complete_and_ordered(self, records, prefix, limit):
        names = [f"{prefix}{number:04d}" for number in range(120)]
        await _create_all(records, names[::-1])
        assert [name for name, _ in await _paged(records, prefix, limit)] == names

    async def test_names_are_ordered_by_their_code_points(self, records, prefix):
        endings = ("-", "/", "0", "A", "a", "a-", "a/", "é", "\uffff", "\U0001f511")
        names = [f"{prefix}{ending}" for ending in endings]
        for name in reversed(names):
            await self._create(records, name)
        assert await _names(records, prefix) == names
        assert [name for name, _ in await _paged(records, prefix, 1)] == names

    async def test_a_page_may_begin_after_a_name_without_a_record(self, records, prefix):
        for name in ("a", "c"):
            await self._create(records, f"{prefix}{name}")
        for after, rest in (("A", ["a", "c"]), ("b", ["c"]), ("c0", [])):
            page = await records.page(prefix, after=f"{prefix}{after}", limit=10)
            assert [name for name, _ in page] == [f"{prefix}{name}" for name in rest]

    async def test_records_may_be_removed_while_pages_are_read(self, records, prefix):
        for number in range(10):
            await self._create(records, f"{prefix}{number}")
        after = ""
        while page := await records.page(prefix, after=after, limit=3):
            for name, record in page:
                await records.swap(name, None, record.version)
            after = page[-1][0]
        assert await _names(records, prefix) == []

    async def test_a_record_that_exists_throughout_is_listed_exactly_once(self, records, prefix, monkeypatch):
        monkeypatch.setattr(paging, "_PAGE_RECORDS", 40)
        kept = [f"{prefix}{number:03d}" for number in range(0, 120, 2)]
        fleeting = [f"{prefix}{number:03d}" for number in range(1, 120, 2)]
        await _create_all(records, [*kept, *fleeting])

        async def remove() -> None:
            for name in fleeting:
                record = await records.read(name)
                await records.swap(name, None, record.version)

        removing = asyncio.create_task(remove())
        met = [name async for name, _ in all_records(records, prefix)]
        await removing
        assert [name for name in met if name in set(kept)] == kept
        assert len(set(met)) == len(met)


async def _create_all(records: RecordStore, names: Sequence[str]) -> None:
    """Twenty concurrent calls: an engine that serializes them answers the last before its deadline."""
    for first in range(0, len(names), 20):
        await asyncio.gather(*(records.swap(name, b"1", None) for name in names[first : first + 20]))


async def _names(records: RecordStore, prefix: str) -> list[str]:
    return [name for name, _ in await records.page(prefix, after="", limit=LONGEST_PAGE)]


async def _paged(records: RecordStore, prefix: str, limit: int) -> list[NamedRecord]:
    """Returns all records of a prefix, page by page; fails if a page has the wrong length."""
    found: list[NamedRecord] = []
    while True:
        page = await records.page(prefix, after=found[-1][0] if found else "", limit=limit)
        assert len(page) <= limit
        found += page
        if len(page) < limit:
            return found
