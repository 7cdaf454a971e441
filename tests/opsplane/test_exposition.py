"""Three paths of metrics, in steps that let the loop breathe, without a secret."""

import asyncio
import gc
import gzip
from time import thread_time

import pytest

from gateway.domain.model import Operation, UsageOutcome
from gateway.observability.metrics import ServiceMetrics
from gateway.observability.usage import Usage
from gateway.opsplane.exposition import Exposition
from tests.support.config import CONTROL_TOKEN, MASTER_KEY, OTHER_TABLE_TOKEN, TABLE_TOKEN
from tests.support.gateway import Gateway
from tests.support.scraping import USAGE, count, parse, scrape, tenant, use_everything

PATHS = ["/metrics", "/metrics/usage", "/metrics/service"]
STORE_OPERATIONS = ("put", "get", "delete", "purge", "charge", "read", "swap", "list")


async def use(gateway: Gateway) -> None:
    """Calls of all sorts, good and bad."""
    await gateway.put("secret-key", "secret-value")
    await gateway.get("secret-key")
    await gateway.get("secret-key", token=OTHER_TABLE_TOKEN)
    await gateway.get("secret-key", token="secret-token")
    await gateway.get("secret-key", signer=None)
    await gateway.call("get", b"secret-body", path="/secret-path?secret-query")
    await gateway.call("get", b"secret-body", headers={"x-request-id": "secret-id"})
    await gateway.manage("PUT", "/v1/orgs/acme/apps/new", {"type": "api"})


@pytest.mark.parametrize("path", PATHS)
async def test_metrics_are_prometheus_text(gateway, path):
    await use(gateway)
    reply = await gateway.ask_ops(path)
    assert reply.status == 200
    assert reply.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert reply.body.endswith(b"\n")
    assert parse(reply.body)


async def test_usage_and_service_together_are_everything(gateway):
    await use(gateway)
    everything, usage, service = [set(await scrape(gateway, path)) for path in PATHS]
    assert usage | service == everything
    assert not usage & service


async def test_the_tenant_series_alone_are_under_usage(gateway):
    await use(gateway)
    assert {name for name, _ in await scrape(gateway, "/metrics/usage")} == set(USAGE)


async def test_no_series_of_the_service_names_a_tenant(gateway):
    await use(gateway)
    tenants = {"org", "app", "env", "table"}
    assert not any(tenants & dict(labels).keys() for _, labels in await scrape(gateway, "/metrics/service"))


async def test_every_metric_of_ours_has_the_prefix(gateway):
    await use(gateway)
    others = {name for name, _ in await scrape(gateway) if not name.startswith("kvs_")}
    assert all(name.startswith(("process_", "python_")) for name in others)


@pytest.mark.parametrize("path", PATHS)
async def test_no_key_token_value_or_path_is_shown(gateway, path):
    await use(gateway)
    text = (await gateway.ask_ops(path)).body.decode()
    secrets = ["secret-", TABLE_TOKEN, OTHER_TABLE_TOKEN, CONTROL_TOKEN, MASTER_KEY, "AKIDEXAMPLE"]
    assert [secret for secret in secrets if secret in text] == []


async def test_metrics_are_read_and_not_changed_by_a_scrape(gateway):
    await use(gateway)
    first, second = [await scrape(gateway, "/metrics/usage") for _ in range(2)]
    assert first == second


async def test_a_request_for_gzip_gets_the_same_text_compressed(gateway):
    for number in range(20):
        await gateway.put(f"k{number}", 1)
    request = b"GET /metrics/usage HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n"
    plain, packed = [
        await gateway.send_raw(request % field, listener="ops")
        for field in (b"", b"Accept-Encoding: br, gzip\r\n")
    ]
    head, _, body = packed.partition(b"\r\n\r\n")
    assert b"Content-Encoding: gzip" in head
    assert gzip.decompress(body) == plain.partition(b"\r\n\r\n")[2]
    assert b"Content-Encoding" not in plain


async def test_a_scrape_of_10000_tables_is_below_10_mib_and_does_not_stall_calls(clock):
    usage = Usage(max_series=100_000, idle_ms=1000, now_ms=clock.monotonic_ms)
    for number in range(10_000):
        count(usage, number)
        usage.count(tenant(number), Operation.GET, UsageOutcome.NOT_FOUND, 10, 20)
        usage.count(tenant(number), Operation.PUT, UsageOutcome.OK, 10, 20)
    exposition = Exposition(usage, ServiceMetrics())
    assert len(await exposition.everything()) < 10 * 2**20
    assert len(await exposition.everything(gzip=True)) < 2**20


async def longest_hold_seconds(exposition: Exposition) -> float:
    """The longest time between two turns of the loop while everything is rendered.

    In processor time, which leaves out what else the machine does.
    """
    rendering = asyncio.create_task(exposition.everything())
    longest = 0.0
    before = thread_time()
    while not rendering.done():
        await asyncio.sleep(0)
        now = thread_time()
        longest, before = max(longest, now - before), now
    assert len(parse(await rendering)) > 10_000
    return longest


async def test_rendering_10000_series_never_holds_the_loop_above_5_ms(clock):
    service = ServiceMetrics()
    for operation in STORE_OPERATIONS:
        for outcome in ("ok", "error"):
            service.store_histogram("memory", operation, outcome).observe(0.001)
    usage = Usage(max_series=100_000, idle_ms=1000, now_ms=clock.monotonic_ms)
    for number in range(477):
        use_everything(usage, number)
    exposition = Exposition(usage, service)
    gc.collect()
    gc.disable()  # collecting what other tests left behind is not rendering
    try:
        assert min([await longest_hold_seconds(exposition) for _ in range(5)]) < 0.005
    finally:
        gc.enable()


async def test_a_scrape_does_not_stop_calls(clock):
    """A row may be counted, added or dropped while the text is being made."""
    usage = Usage(max_series=100_000, idle_ms=1, now_ms=clock.monotonic_ms)
    for number in range(300):
        count(usage, number)
    exposition = Exposition(usage, ServiceMetrics())
    await exposition.usage()
    rendering = asyncio.create_task(exposition.usage())
    await asyncio.sleep(0)
    clock.advance(10)
    count(usage, 300)
    await usage.drop_idle()
    assert len(usage.rows()) == 1
    assert len(parse(await rendering)) == 300 * 3
