"""Usage in the console, as charts and tables, from a real Prometheus."""

import pytest

from tests.support.gateway import run_gateway
from tests.support.prometheus import PrometheusServer
from tests.system.console import axe
from tests.system.console.visit import visiting

PLACE = "#/orgs/acme/apps/shop/production/usage"


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_usage_is_shown_as_charts_and_as_tables(browser, prometheus: PrometheusServer, scheme):
    async with (
        run_gateway({"console": {"prometheus": prometheus.url}}) as gateway,
        visiting(browser, gateway, color_scheme=scheme) as visit,
    ):
        await visit.enter(PLACE)
        await visit.heading("sessions").wait_for()
        row = visit.page.locator("tr", has=visit.page.get_by_role("rowheader", name="sessions", exact=True))
        assert (await row.first.inner_text()).split()[1:6] == ["2,400", "0", "0", "480", "0"]
        await visit.page.get_by_role("rowheader", name="gone (deleted)").wait_for()
        await visit.page.get_by_role("img", name="Requests per minute of sessions").wait_for()
        await visit.page.get_by_text("8 % of 600 requests per minute, below the limit").first.wait_for()
        await visit.page.get_by_text("Figures").first.click()
        assert await axe.findings(visit.page, axe.program_or_skip()) == []
        for title in ("Last day", "Last 30 days"):
            await visit.page.get_by_role("link", name=title).click()
            await visit.page.locator("[aria-current=page]", has_text=title).wait_for()
        assert visit.faults == []


async def test_an_unreachable_prometheus_is_reported(browser):
    async with (
        run_gateway({"console": {"prometheus": "http://127.0.0.1:1"}}) as gateway,
        visiting(browser, gateway) as visit,
    ):
        await visit.enter(PLACE)
        await visit.alert("Prometheus is not responding.").wait_for()


async def test_without_prometheus_the_page_says_how_to_enable_usage(visit):
    await visit.enter(PLACE)
    await visit.page.get_by_text("console.prometheus").wait_for()
