"""A real Prometheus scrapes real gateways: what `kvs-gateway usage` states is what callers were answered."""

import asyncio
from itertools import pairwise

import pytest

from tests.billing.site import APART, TOGETHER, added, differences, now, total, usage
from tests.billing.traffic import Traffic, bill


@pytest.mark.parametrize("prometheus", [TOGETHER, APART], indirect=True, ids=["together", "apart"])
async def test_gateways_that_end_and_come_back_are_billed_exactly(site, places):
    """One comes back where it was, one somewhere else; nobody waits for anybody."""
    begin = now()
    stays, moves = places[0], places[1:4]
    await asyncio.gather(site.start(stays), site.start(moves[0]))
    middles = []
    async with Traffic(site.gateways) as traffic:
        for old, new in pairwise(moves):
            await site.end(stays)
            await site.start(stays)
            middles.append(now())
            await site.start(new)
            await site.end(old)
        await traffic.until_answered(50)
    await site.end_all()
    whole = await usage(site.prometheus, begin, now())
    assert differences(whole.rows, bill(traffic.answers)) == {}
    assert whole.warnings == {}
    assert {column for row in whole.rows.values() for column in row if row[column]} >= {
        *("ok", "not_found", "invalid", "rate_limited"),
    }
    parts = [await usage(site.prometheus, *period) for period in pairwise([begin, *middles, now()])]
    assert differences(added(parts), bill(traffic.answers)) == {}


async def test_of_a_gateway_that_is_killed_only_what_was_never_scraped_is_missing(site, places):
    begin = now()
    killed, stays = places[4:6]
    await asyncio.gather(site.start(killed), site.start(stays))
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


async def test_what_was_scraped_survives_a_restart_of_prometheus(site, places):
    begin = now()
    gone, stays = places[6:8]
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


async def test_a_table_that_was_idle_and_comes_back_is_billed_exactly(site, places):
    begin = now()
    place = places[8]
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


async def test_beyond_the_cap_of_series_totals_are_true_and_a_warning_says_what_is_no_tenants(site, places):
    begin = now()
    await site.start(places[9], metering={"max_series": 64})
    async with Traffic(site.gateways) as traffic:
        await traffic.until_answered(100)
    await site.end_all()
    statement = await usage(site.prometheus, begin, now())
    assert total(statement.rows) == total(bill(traffic.answers))
    others = {row: columns for row, columns in statement.rows.items() if row[0] == "_other"}
    assert statement.warnings["other"]["requests"] == total(others)["requests"] > 0
