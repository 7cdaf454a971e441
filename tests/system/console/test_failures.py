"""The console while the store fails or is slow, and while the gateway is unreachable."""

APP = "/v1/orgs/acme/apps/blog"
PLACE = "#/orgs/acme/apps/blog/production"


async def test_a_store_failure_is_shown_and_the_form_can_be_sent_again(visit):
    await visit.gateway.manage("PUT", APP, {"type": "api"})
    await visit.enter(PLACE)
    await visit.press("Create table")
    await visit.page.get_by_label("Name").fill("notes")
    visit.gateway.faults.fail.add("*")
    await visit.press("Create")
    await visit.page.get_by_role("alert").wait_for()
    assert await visit.page.get_by_label("Name").input_value() == "notes"
    visit.gateway.faults.fail.clear()
    await visit.press("Create")
    await visit.heading("Token of notes").wait_for()


async def test_a_slow_store_shows_progress(visit):
    await visit.gateway.manage("PUT", APP, {"type": "api"})
    await visit.enter("#/orgs/acme")
    await visit.heading("acme").wait_for()
    visit.gateway.faults.gate.clear()
    await visit.open(PLACE)
    await visit.page.locator("main[aria-busy]").wait_for()
    visit.gateway.faults.gate.set()
    await visit.heading("blog").wait_for()
    assert await visit.page.locator("main[aria-busy]").count() == 0


async def test_an_unreachable_gateway_is_reported_and_can_be_tried_again(visit):
    await visit.gateway.manage("PUT", APP, {"type": "api"})
    await visit.enter("#/orgs/acme")
    await visit.heading("acme").wait_for()
    await visit.page.context.set_offline(True)
    await visit.page.get_by_role("link", name="blog").click()
    await visit.alert("The gateway cannot be reached.").wait_for()
    await visit.page.context.set_offline(False)
    await visit.press("Try again")
    await visit.heading("blog").wait_for()


async def test_a_page_that_cannot_be_refreshed_stays_with_a_warning(visit):
    await visit.enter("#/orgs/acme")
    await visit.heading("acme").wait_for()
    await visit.page.context.set_offline(True)
    await visit.page.evaluate("dispatchEvent(new Event('focus'))")
    await visit.page.get_by_text("may be out of date").wait_for()
    await visit.page.get_by_role("link", name="shop").wait_for()


async def test_a_lost_response_warns_that_the_change_may_have_been_made(visit):
    await visit.gateway.manage("PUT", APP, {"type": "api"})
    await visit.enter(PLACE)
    await visit.press("Create table")
    await visit.page.get_by_label("Name").fill("notes")

    async def cut(route):
        await route.fetch()
        await route.abort("connectionreset")

    await visit.page.route("**/services/kvs/tables?*", cut)
    await visit.press("Create")
    await visit.alert("The change may have been made").wait_for()
    await visit.page.unroute_all()
    await visit.press("Create")
    await visit.alert("A table with this name already exists.").wait_for()
    await visit.press("Cancel")
    await visit.page.reload()
    await visit.page.get_by_role("link", name="notes").wait_for()
