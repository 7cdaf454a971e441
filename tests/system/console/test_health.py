"""The health of the replica in the console."""

import asyncio

from gateway import __version__
from tests.support.stopwatch import PATIENCE_SECONDS


async def test_the_health_page_shows_dependencies_version_clock_and_configuration(visit):
    report = (await visit.gateway.manage("GET", "/v1/health")).json
    await visit.enter("#/health")
    await visit.heading("Health").wait_for()
    terms = {text.lower() for text in await visit.page.locator("dt").all_inner_texts()}
    assert set(report["dependencies"]) <= terms
    assert len(terms) == len(report["dependencies"]) + len(report) - 2
    await visit.page.locator("dd").get_by_text(__version__, exact=True).wait_for()
    await visit.page.locator("h1 + .badge", has_text=report["status"]).wait_for()


async def test_the_health_page_shows_a_failed_dependency(visit):
    await visit.enter("#/health")
    await visit.page.locator("dd", has_text="up").first.wait_for()
    visit.gateway.faults.fail.add("*")

    async def states() -> list[str]:
        return (await visit.gateway.manage("GET", "/v1/health")).json["dependencies"].values()

    async with asyncio.timeout(PATIENCE_SECONDS):
        while "down" not in await states():
            await visit.gateway.put("key", 1)
    await visit.page.reload()
    await visit.page.locator("dd", has_text="down").first.wait_for()
