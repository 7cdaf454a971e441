"""Tables in the console: create, rotate, limit, delete. A token is shown once."""

import re

import pytest_asyncio

from tests.system.console.visit import new_tab

APP = "/v1/orgs/acme/apps/blog"
TABLES = f"{APP}/services/kvs/tables"
PLACE = "#/orgs/acme/apps/blog/production"


@pytest_asyncio.fixture(loop_scope="package")
async def blog(visit):
    """A visitor on the page of an app with one table."""
    await visit.gateway.manage("PUT", APP, {"type": "api"})
    created = await visit.gateway.manage("POST", TABLES, {"name": "notes"})
    await visit.enter(PLACE)
    await visit.heading("Databases").wait_for()
    visit.token = created.json["token"]
    return visit


async def close_token(visit) -> str:
    """Closes the dialog in spite of its warning; returns the token that it showed."""
    token = await visit.page.locator("code.secret").inner_text()
    await visit.press("Close")
    await visit.alert("haven't copied the token").wait_for()
    await visit.press("Close")
    await visit.page.locator("dialog").wait_for(state="detached")
    return token


async def test_a_new_token_is_shown_once_and_works(blog):
    await blog.press("Create table")
    await blog.page.get_by_label("Name").fill("drafts")
    await blog.press("Create")
    token = await close_token(blog)
    assert token not in await blog.page.content()
    assert (await blog.gateway.put("key", 1, token=token)).status == 200


async def test_the_token_dialog_stays_open_when_the_browser_goes_back(blog):
    await blog.page.get_by_role("link", name="notes").click()
    await blog.press("Rotate token")
    await blog.press("Rotate")
    await blog.heading("Token of notes").wait_for()
    await blog.page.go_back()
    await blog.page.locator("#main h1", has_text=re.compile("^blog$")).wait_for(state="attached")
    assert (await blog.gateway.put("key", 1, token=await close_token(blog))).status == 200


async def test_a_token_is_shown_before_the_page_is_reloaded(blog):
    await blog.press("Create table")
    await blog.page.get_by_label("Name").fill("drafts")
    await blog.page.route("**/apps/blog?*", lambda route: route.abort())
    await blog.press("Create")
    token = await close_token(blog)
    assert (await blog.gateway.put("key", 1, token=token)).status == 200


async def test_copying_copies_the_token_and_avoids_the_warning(blog):
    await blog.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await blog.page.get_by_role("link", name="notes").click()
    await blog.press("Rotate token")
    await blog.press("Rotate")
    token = await blog.page.locator("code.secret").inner_text()
    await blog.press("Copy token")
    await blog.page.get_by_text("Copied", exact=True).wait_for()
    assert await blog.page.evaluate("navigator.clipboard.readText()") == token
    await blog.press("Copy snippet")
    await blog.page.get_by_role("status").filter(has_text="Copied snippet").wait_for()
    assert f"SERVICE_KVS_TOKEN_NOTES={token}" in await blog.page.evaluate("navigator.clipboard.readText()")
    await blog.press("Close")
    await blog.page.locator("dialog").wait_for(state="detached")


async def test_a_ninth_valid_token_is_refused_with_advice(blog):
    for _ in range(7):
        await blog.gateway.manage("POST", f"{TABLES}/notes/rotate", {"overlap_seconds": 3600})
    await blog.page.get_by_role("link", name="notes").click()
    await blog.press("Rotate token")
    await blog.press("Rotate")
    await blog.alert("The table already has 8 valid tokens.").wait_for()
    await blog.page.get_by_label("Revoke immediately").check()
    await blog.press("Rotate")
    assert (await blog.gateway.put("key", 1, token=await close_token(blog))).status == 200


async def test_a_table_limit_reached_meanwhile_is_reported(blog):
    await blog.press("Create table")
    await blog.gateway.manage("PATCH", APP, {"max_tables": 1})
    await blog.page.get_by_label("Name").fill("drafts")
    await blog.press("Create")
    await blog.alert("Table limit reached.").wait_for()


async def test_each_format_of_the_runtime_variables_can_be_chosen(blog):
    await blog.page.goto(f"{blog.gateway.control}/console/{PLACE}/tables/notes")
    await blog.press("Rotate token")
    await blog.press("Rotate")
    code = blog.page.locator("dialog pre code")
    for title, text in {
        "dotenv": "SERVICE_KVS_TOKEN_NOTES=kvs_",
        "Kubernetes Secret": "name: kvs-blog-production-notes-",
        "curl": "--aws-sigv4",
        "Python": 'from_env("notes")',
        "JavaScript": 'fromEnv("notes")',
        "Go": 'kvs.FromEnv(ctx, "notes")',
    }.items():
        await blog.page.locator(".segments label", has_text=title).click()
        await code.filter(has_text=text).wait_for()


async def test_rotation_keeps_the_old_token_valid_during_an_overlap_only(blog):
    await blog.page.get_by_role("link", name="notes").click()
    await blog.press("Rotate token")
    await blog.press("Rotate")
    second = await close_token(blog)
    assert [(await blog.gateway.get("key", token=token)).status for token in (blog.token, second)] == [
        200,
        200,
    ]
    await blog.press("Rotate token")
    await blog.page.get_by_label("Revoke immediately").check()
    await blog.press("Rotate")
    third = await close_token(blog)
    statuses = [(await blog.gateway.get("key", token=token)).status for token in (blog.token, second, third)]
    assert statuses == [401, 401, 200]


async def test_a_refusal_keeps_the_input(blog):
    await blog.press("Create table")
    await blog.page.get_by_label("Name").fill("NOTES")
    await blog.press("Create")
    await blog.alert("A table with this name already exists.").wait_for()
    assert await blog.page.get_by_label("Name").input_value() == "NOTES"


async def test_two_clicks_create_one_table(blog):
    await blog.press("Create table")
    await blog.page.get_by_label("Name").fill("twice")
    await blog.page.get_by_role("button", name="Create", exact=True).dblclick()
    await blog.heading("Token of twice").wait_for()
    assert len([request for request in blog.asked if request.method == "POST"]) == 1


async def test_deleting_a_table_needs_its_name_typed(blog):
    await blog.page.get_by_role("link", name="notes").click()
    await blog.press("Delete")
    await blog.page.get_by_label("Type notes to confirm").fill("note")
    await blog.press("Delete")
    assert (await blog.gateway.manage("GET", f"{TABLES}/notes")).status == 200
    await blog.page.get_by_label("Type notes to confirm").fill("notes")
    await blog.press("Delete")
    await blog.page.get_by_text("No tables yet").wait_for()
    assert (await blog.gateway.manage("GET", f"{TABLES}/notes")).status == 404


async def test_a_limit_changed_by_someone_else_is_reported_before_it_is_overwritten(blog):
    await blog.page.get_by_role("link", name="notes").click()
    await blog.press("Change limit")
    await blog.page.get_by_label("Requests per minute").fill("50")
    await blog.gateway.manage("PATCH", f"{TABLES}/notes", {"minute_limit": 70})
    await blog.press("Save")
    await blog.alert("Requests per minute 70").wait_for()
    await blog.press("Save")
    await blog.page.locator(".facts").get_by_text("50", exact=True).wait_for()


async def test_a_change_made_in_another_tab_appears(blog):
    other = await new_tab(blog.page.context, blog.gateway)
    await other.enter(PLACE)
    await other.heading("Databases").wait_for()
    await blog.gateway.manage("POST", TABLES, {"name": "drafts"})
    await other.page.evaluate("dispatchEvent(new Event('focus'))")
    await other.page.get_by_role("link", name="drafts").wait_for()


async def test_a_table_of_a_suspended_app_shows_a_warning(blog):
    await blog.gateway.manage("POST", f"{APP}/suspend")
    await blog.page.get_by_role("link", name="notes").click()
    await blog.page.get_by_text("This app is suspended.").wait_for()


async def test_a_rotation_states_how_long_the_previous_token_is_valid(blog):
    await blog.page.get_by_role("link", name="notes").click()
    await blog.press("Rotate token")
    await blog.page.get_by_label("Minutes").fill("90")
    await blog.press("Rotate")
    await blog.page.get_by_text("The previous token stays valid for 90 minutes").wait_for()
    await close_token(blog)
    await blog.press("Rotate token")
    await blog.page.get_by_label("Revoke immediately").check()
    await blog.press("Rotate")
    await blog.page.get_by_text("All previous tokens are revoked").wait_for()
    await close_token(blog)


async def test_a_table_limit_above_the_app_limit_is_not_sent(blog):
    await blog.gateway.manage("PATCH", APP, {"requests_per_minute": 100})
    await blog.page.get_by_role("link", name="notes").click()
    await blog.press("Change limit")
    await blog.page.get_by_label("Requests per minute").fill("5000")
    await blog.press("Save")
    assert await blog.page.locator("dialog input:invalid").count() == 1
    await blog.page.get_by_text("use the app limit (100)").wait_for()


async def test_a_table_deleted_by_someone_else_is_reported_and_its_page_disappears(blog):
    await blog.page.get_by_role("link", name="notes").click()
    await blog.press("Rotate token")
    await blog.gateway.manage("DELETE", f"{TABLES}/notes")
    await blog.press("Rotate")
    await blog.alert("Table not found.").wait_for()
    await blog.press("Cancel")
    await blog.page.locator("dialog").wait_for(state="detached")
    await blog.page.evaluate("dispatchEvent(new Event('focus'))")
    await blog.heading("This page can't be shown").wait_for()
    await blog.alert("Table not found.").wait_for()
