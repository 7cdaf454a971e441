"""Long work of the other planes is cut into steps: none grows with the number of items."""

import pytest
from prometheus_client import CollectorRegistry

from backends.memory.backend import MemoryRecordStore
from gateway.controlplane.encoding import encode_list
from gateway.directory.apps.pages import DirectoryPages
from gateway.directory.corrupt import CorruptRecords
from gateway.directory.declared import DeclaredApps
from gateway.directory.records import AppRecord, app_name, encode
from gateway.domain.model import Environment, Operation, TenantLabels, UsageOutcome
from gateway.observability.metrics import ServiceMetrics
from gateway.observability.usage import Usage
from gateway.opsplane.exposition import Exposition

APPS = 1000


def steps_of(work) -> int:
    """Returns the number of steps of work that waits for nothing."""
    steps = 1
    while True:
        try:
            assert work.send(None) is None
        except StopIteration:
            return steps
        steps += 1


def app(number: int, org: str = "acme") -> AppRecord:
    return AppRecord(environment=Environment(org, f"app-{number:04d}", "test"), type="api", active=True)


@pytest.fixture
async def records():
    found = MemoryRecordStore()
    for number in range(APPS):
        each = app(number)
        assert await found.swap(app_name(each.environment), encode(each), None)
    return found


@pytest.mark.parametrize("is_shown", [True, False])
async def test_each_app_of_a_page_is_a_step(records, is_shown):
    pages = DirectoryPages(DeclaredApps([], 600), records, CorruptRecords(records))
    assert steps_of(pages.apps("acme", "", APPS, lambda _: is_shown)) >= APPS


async def test_each_declared_organization_is_a_step():
    records = MemoryRecordStore()
    declared = DeclaredApps([app(0, f"org-{number:04d}") for number in range(APPS)], 600)
    pages = DirectoryPages(declared, records, CorruptRecords(records))
    assert steps_of(pages.organizations("", 10, lambda _: False)) >= APPS


async def test_each_item_of_a_list_is_encoded_in_a_step_of_its_own():
    assert steps_of(encode_list(range(APPS), str)) > APPS
    assert bytes(await encode_list([1, 2], str)) == b'["1","2"]'
    assert bytes(await encode_list([], str)) == b"[]"


async def test_25_tables_or_40_samples_of_the_service_are_a_step_of_a_scrape(clock):
    usage, service = Usage(max_series=100_000, idle_ms=1000, now_ms=clock.monotonic_ms), ServiceMetrics()
    for number in range(APPS):
        labels = TenantLabels("acme", f"app-{number:04d}", "test", "t")
        usage.count(labels, Operation.GET, UsageOutcome.OK, 1, 1)
    for number in range(20):
        service.store_histogram("memory", f"operation-{number}", "ok").observe(0.001)
    exposition = Exposition(usage, service)
    assert steps_of(exposition.usage()) >= 3 * APPS / 25
    registry = CollectorRegistry()
    registry.register(service)
    samples = sum(len(family.samples) for family in registry.collect())
    assert samples > 360
    assert steps_of(exposition.service()) >= samples / 40
