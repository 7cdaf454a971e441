"""Accessibility, narrow screens, keyboard use and size of the console, and the origins that it calls."""

import pytest

from tests.system.console import axe
from tests.system.console.visit import FOLDER, visiting

APP = "/v1/orgs/acme/apps/blog"
PLACE = "#/orgs/acme/apps/blog/production"
PLACES = {
    "#/": "Organizations",
    "#/orgs/acme": "acme",
    PLACE: "blog",
    f"{PLACE}/tables/notes": "notes",
    f"{PLACE}/usage": "Usage",
    "#/health": "Health",
    "#/nowhere": "Page not found",
}
DIALOGS = {
    PLACE: ["Create table", "Edit", "Suspend", "Remove"],
    f"{PLACE}/tables/notes": ["Rotate token", "Change limit", "Delete"],
}
DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 320, "height": 640}
LARGEST_BYTES = 150 * 1024


async def check(visit, program: str) -> None:
    assert await axe.findings(visit.page, program) == []
    width = await visit.page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert width <= 0, f"{visit.page.url} scrolls sideways"


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_every_page_and_dialog_is_accessible(browser, gateway, scheme, viewport):
    program = axe.program_or_skip()
    await gateway.manage("PUT", APP, {"type": "api"})
    await gateway.manage("POST", f"{APP}/services/kvs/tables", {"name": "notes"})
    async with visiting(
        browser, gateway, color_scheme=scheme, viewport=viewport, reduced_motion="reduce"
    ) as visit:
        await visit.open()
        await visit.heading("Sign in").wait_for()
        await check(visit, program)
        await visit.sign_in()
        for place, title in PLACES.items():
            await visit.open(place)
            await visit.heading(title).wait_for()
            await check(visit, program)
            for name in DIALOGS.get(place, []):
                await visit.press(name)
                await visit.page.locator("dialog[open]").wait_for()
                await check(visit, program)
                await visit.press("Cancel")
        await visit.open(f"{PLACE}/tables/notes")
        await visit.press("Rotate token")
        await visit.press("Rotate")
        await visit.heading("Token of notes").wait_for()
        await check(visit, program)
        assert visit.faults == []


async def test_the_keyboard_alone_creates_a_table(visit):
    await visit.gateway.manage("PUT", APP, {"type": "api"})
    await visit.open(PLACE)
    keyboard, page = visit.page.keyboard, visit.page
    await page.get_by_label("Control token").wait_for()
    await keyboard.type("test-control-token")
    await keyboard.press("Enter")
    await visit.heading("blog").wait_for()
    assert await page.evaluate("document.activeElement.textContent") == "blog"
    while await page.evaluate("document.activeElement.textContent") != "Create table":
        await keyboard.press("Tab")
    await keyboard.press("Enter")
    await page.get_by_label("Name").wait_for()
    await keyboard.type("notes")
    await keyboard.press("Enter")
    await visit.heading("Token of notes").wait_for()
    await keyboard.press("Escape")
    await visit.alert("haven't copied the token").wait_for()
    await keyboard.press("Escape")
    await page.locator("dialog").wait_for(state="detached")
    await page.get_by_role("link", name="notes").wait_for()


async def test_a_cancelled_dialog_returns_the_focus(visit):
    await visit.enter("#/orgs/acme")
    await visit.press("Register app")
    await visit.page.keyboard.press("Escape")
    await visit.page.locator("dialog").wait_for(state="detached")
    assert await visit.page.evaluate("document.activeElement.textContent") == "Register app"


async def test_no_request_leaves_the_origin(visit):
    await visit.gateway.manage("PUT", APP, {"type": "api"})
    await visit.gateway.manage("POST", f"{APP}/services/kvs/tables", {"name": "notes"})
    await visit.enter("#/")
    for place, title in PLACES.items():
        await visit.open(place)
        await visit.heading(title).wait_for()
    assert {request.url.startswith(visit.gateway.control) for request in visit.asked} == {True}


def test_all_files_together_stay_below_150_kib():
    assert sum(file.stat().st_size for file in FOLDER.rglob("*") if file.is_file()) < LARGEST_BYTES


def test_nothing_is_inline():
    page = (FOLDER / "index.html").read_text()
    assert "style=" not in page
    assert "<style" not in page
    assert page.count("<script") == page.count('<script type="module" src=')
    for file in FOLDER.rglob("*.js"):
        assert not any(
            word in file.read_text() for word in ("innerHTML", "outerHTML", "insertAdjacent", "eval(")
        )
