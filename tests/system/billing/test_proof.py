"""A real Prometheus scrapes real gateways: what `kvs-gateway usage` states is what callers were answered."""

import asyncio
import time
from itertools import pairwise

import pytest

from tests.support.prometheus import PrometheusServer
from tests.system.billing.site import added, differences, now, total, usage
from tests.system.billing.traffic import Traffic, bill


@pytest.mark.parametrize(("site", "times"), [("together", 2), ("apart", 1)], indirect=["site"])
async def test_gateways_that_end_and_come_back_are_billed_exactly(site, times):
    """One comes back where it was, one somewhere else; callers go on all the time."""
    begin = now()
    stays, *moves = [site.places.pop() for _ in range(2 + times)]
    await asyncio.gather(site.start(stays), site.start(moves[0]))
    async with Traffic(site.gateways) as traffic:
        for old, new in pairwise(moves):
            await asyncio.gather(site.end(stays), site.start(new))
            middle = now()
            await asyncio.gather(site.start(stays), site.end(old))
        await traffic.until_answered(50)
    await site.end_all()
    end = now()
    periods = ((begin, end), (begin, middle), (middle, end))
    whole, *parts = await asyncio.gather(*(usage(site.prometheus, *period) for period in periods))
    assert differences(whole.rows, bill(traffic.answers)) == {}
    assert whole.warnings == {}
    assert {"ok", "not_found", "invalid", "rate_limited"} <= total(whole.rows).keys()
    assert differences(added(parts), bill(traffic.answers)) == {}


@pytest.mark.parametrize("site", ["apart"], indirect=True)
async def test_a_gateway_that_restarts_and_overtakes_its_counters_is_billed_exactly(site):
    """Its counters may exceed the old ones at the next scrape, so no fall marks the restart."""
    begin = now()
    place = site.places.pop()
    await site.start(place)
    await site.until_scraped(place)
    answers = []
    for calls in (15, 60):
        if place not in site.gateways:
            await site.start(place)
        async with Traffic(site.gateways) as traffic:
            await traffic.until_answered(calls)
        answers += traffic.answers
        await site.end(place)
    await site.until_scraped(place, up=False)
    statement = await usage(site.prometheus, begin, now())
    assert differences(statement.rows, bill(answers)) == {}


async def test_a_killed_gateway_loses_only_unscraped_usage(site):
    begin = now()
    killed, stays = site.places.pop(), site.places.pop()
    at_once = {"first_sample_seconds": 0}
    await asyncio.gather(site.start(killed, metering=at_once), site.start(stays))
    async with Traffic(site.gateways) as traffic:
        await site.until_scraped(killed)
        await traffic.until_answered(30, killed)
        await site.kill(killed)
        await site.until_scraped(killed, up=False)
    await site.end_all()
    scraped_at = await asyncio.to_thread(site.last_scrape, killed)
    unscraped = [answer for answer in traffic.answers if answer.place == killed and answer.at >= scraped_at]
    statement = await usage(site.prometheus, begin, now())
    billed = sum(row["requests"] for row in statement.rows.values())
    answered = len(traffic.answers)
    assert answered - len(unscraped) <= billed <= answered + len(traffic.unanswered)


async def test_scraped_usage_survives_a_restart_of_prometheus(site):
    begin = now()
    gone, stays = site.places.pop(), site.places.pop()
    await asyncio.gather(site.start(gone), site.start(stays))
    async with Traffic(site.gateways) as traffic:
        await traffic.until_answered(100)
        await site.end(gone)
        await asyncio.to_thread(site.prometheus.kill)
        await traffic.until_answered(100)
        await asyncio.to_thread(site.prometheus.start)
        await site.until_scraped(stays)
        await traffic.until_answered(30)
    await site.end_all()
    statement = await usage(site.prometheus, begin, now())
    assert differences(statement.rows, bill(traffic.answers)) == {}


async def test_a_table_that_was_idle_and_comes_back_is_billed_exactly(site):
    begin = now()
    place = site.places.pop()
    await site.start(place, metering={"idle_seconds": 1})
    busy = []
    for _ in range(2):
        async with Traffic(site.gateways) as traffic:
            await traffic.until_answered(40)
        busy += traffic.answers
        await site.until_hidden(place)
    async with Traffic(site.gateways) as traffic:
        await traffic.until_answered(40)
    await site.end_all()
    statement = await usage(site.prometheus, begin, now())
    assert differences(statement.rows, bill(busy + traffic.answers)) == {}


async def test_two_servers_that_scrape_one_gateway_have_the_same_bill_over_a_clean_restart(site):
    begin = now()
    place = site.places.pop()
    with PrometheusServer(interval_seconds=1.5) as other:
        other.scrape(place.ops_url)
        answers = []
        for _ in range(2):
            await site.start(place)
            await asyncio.to_thread(other.wait_until, place.ops_url, up=True, since=time.time())
            async with Traffic(site.gateways) as traffic:
                await traffic.until_answered(60)
                await site.end(place)
            answers += traffic.answers
        await site.until_scraped(place, up=False)
        end = now()
        for server in (site.prometheus, other):
            assert differences((await usage(server, begin, end)).rows, bill(answers)) == {}


async def test_beyond_the_cap_on_series_totals_are_true_and_a_warning_counts_the_rest(site):
    begin = now()
    await site.start(site.places.pop(), metering={"max_series": 63})
    async with Traffic(site.gateways) as traffic:
        await traffic.until_answered(100)
    await site.end_all()
    statement = await usage(site.prometheus, begin, now())
    assert total(statement.rows) == total(bill(traffic.answers))
    others = {row: columns for row, columns in statement.rows.items() if row[0] == "_other"}
    assert statement.warnings["other"]["requests"] == total(others)["requests"] > 0
