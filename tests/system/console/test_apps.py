"""Organizations and apps in the console: paging, limits, suspension, removal, and declared apps."""

from gateway.directory.records import AppRecord, app_name, encode
from gateway.domain.model import Environment
from tests.support.gateway import run_gateway
from tests.system.console.visit import visiting

APP = "/v1/orgs/acme/apps/blog"
PLACE = "#/orgs/acme/apps/blog/production"


async def test_an_app_is_registered_with_its_limits(visit):
    await visit.enter("#/orgs/acme")
    await visit.press("Register app")
    await visit.page.get_by_label("App", exact=True).fill("blog")
    await visit.page.get_by_label("Requests per minute").fill("1200")
    await visit.press("Register")
    await visit.heading("blog").wait_for()
    assert (await visit.gateway.manage("GET", APP)).json["requests_per_minute"] == 1200


async def test_an_app_that_exists_is_not_replaced(visit):
    await visit.gateway.manage("PUT", APP, {"type": "sse"})
    await visit.enter("#/orgs/acme")
    await visit.press("Register app")
    await visit.page.get_by_label("App", exact=True).fill("blog")
    await visit.press("Register")
    await visit.alert("An app with this name and environment already exists.").wait_for()
    assert (await visit.gateway.manage("GET", APP)).json["type"] == "sse"


async def test_an_app_is_edited_suspended_resumed_and_removed(visit):
    await visit.gateway.manage("PUT", APP, {"type": "api"})
    await visit.gateway.manage("POST", f"{APP}/services/kvs/tables", {"name": "notes"})
    await visit.enter(PLACE)
    await visit.press("Edit")
    await visit.page.get_by_label("Requests per minute").fill("30")
    await visit.press("Save")
    await visit.page.locator(".facts").get_by_text("30", exact=True).wait_for()
    await visit.press("Suspend")
    await visit.press("Suspend")
    await visit.page.get_by_text("inactive").first.wait_for()
    await visit.press("Resume")
    await visit.press("Resume")
    await visit.page.locator("h1 + .badge", has_text="active").wait_for()
    await visit.press("Remove")
    await visit.page.get_by_label("Type blog to confirm").fill("blog")
    await visit.press("Remove")
    await visit.heading("acme").wait_for()
    assert (await visit.gateway.manage("GET", APP)).error == "app_not_found"


async def test_a_declared_app_is_read_only(visit):
    await visit.enter("#/orgs/acme/apps/shop/production")
    await visit.page.get_by_text("read-only here").wait_for()
    assert await visit.page.get_by_role("button", name="Create table").count() == 0


async def test_the_page_of_an_app_that_cannot_have_tables_says_why(visit):
    await visit.gateway.manage("PUT", APP, {"type": "web"})
    await visit.enter(PLACE)
    await visit.page.get_by_text("Apps of type web can't have tables").wait_for()


async def test_100_000_apps_are_paged_and_found_by_name_prefix(visit):
    for number in range(100_000):
        environment = Environment("many", f"app-{number:05}", "production")
        app = AppRecord(environment=environment, type="api", active=True)
        await visit.gateway.app.stores.records.swap(app_name(environment), encode(app), None)
    await visit.enter("#/orgs/many")
    rows = visit.page.locator("tbody tr")
    await rows.first.wait_for()
    assert await rows.count() == 50
    await visit.page.get_by_role("link", name="Next page").click()
    await visit.page.get_by_role("link", name="app-00050").wait_for()
    await visit.page.get_by_role("link", name="First page").click()
    await visit.page.get_by_role("link", name="app-00000").wait_for()
    await visit.page.get_by_label("Name starts with").fill("app-9999")
    await visit.press("Search")
    await visit.page.get_by_role("link", name="app-99990").wait_for()
    assert await rows.count() == 10
    await visit.page.get_by_label("Name starts with").fill("zzz")
    await visit.press("Search")
    await visit.page.get_by_text("No apps match.").wait_for()


async def test_names_that_contain_markup_are_shown_as_text(visit):
    hostile = "<img src=x onerror=document.title='owned'>"
    await visit.gateway.manage("PUT", APP, {"type": "api"})
    await visit.enter(f"#/orgs/acme?search={hostile}")
    await visit.page.get_by_text("No apps match.").wait_for()
    assert await visit.page.get_by_label("Name starts with").input_value() == hostile
    await visit.open(f"#/orgs/{hostile.replace('/', '')}")
    await visit.page.get_by_role("alert").wait_for()
    assert await visit.page.locator("img").count() == 0
    assert "owned" not in await visit.page.title()


async def test_gateway_responses_that_contain_markup_are_shown_as_text(visit):
    hostile = "<img src=x onerror=document.title='owned'>"
    fields = {"x-kvs-error-detail": hostile, "x-request-id": hostile}

    async def refuse(route):
        await route.fulfill(status=409, headers=fields, json={"error": hostile})

    async def name(route):
        app = {"id": hostile, "name": hostile, "org_id": hostile, "app_id": hostile, "env_id": hostile}
        state = {"type": hostile, "status": hostile, "requests_per_minute": 1}
        await route.fulfill(json=[app | state], headers={"Link": '<javascript:alert(1)>; rel="next"'})

    await visit.enter("#/")
    await visit.page.route("**/v1/orgs/acme/apps?*", refuse)
    await visit.open("#/orgs/acme")
    await visit.alert(f"The gateway refused the request: {hostile}").wait_for()
    await visit.page.route("**/v1/orgs/acme/apps?*", name)
    await visit.press("Try again")
    link = visit.page.locator("tbody a")
    assert await link.inner_text() == hostile
    assert (await link.get_attribute("href")).startswith("#/orgs/%3Cimg")
    assert await visit.page.locator("img, a[href^=javascript]").count() == 0
    assert "owned" not in await visit.page.title()


async def test_editing_a_declared_app_without_tables_is_refused_with_an_explanation(browser):
    declared = {"org": "acme", "app": "bare", "type": "api", "tables": []}
    async with run_gateway({"apps": [declared]}) as gateway, visiting(browser, gateway) as visit:
        await visit.enter("#/orgs/acme/apps/bare/production")
        await visit.press("Edit")
        await visit.page.get_by_label("Maximum number of tables").fill("2")
        await visit.press("Save")
        await visit.alert("This app is declared in the gateway's configuration.").wait_for()
