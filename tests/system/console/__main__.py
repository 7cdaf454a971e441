"""Takes the pictures in `docs/console`, as `make screenshots` does."""

import asyncio

from tests.support.gateway import run_gateway
from tests.support.repository import ROOT
from tests.system.console.chromium import running_browser
from tests.system.console.visit import Visit, visiting

FOLDER = ROOT / "docs" / "console"
APP = "/v1/orgs/acme/apps/blog"
PLACE = "#/orgs/acme/apps/blog/production"
VIEWS = {
    "light": {"viewport": {"width": 1100, "height": 640}},
    "dark": {"viewport": {"width": 1100, "height": 640}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 360, "height": 640}},
}


async def walk(visit: Visit, view: str) -> None:
    """Take the pictures that one view is for."""

    async def picture(name: str) -> None:
        await visit.page.screenshot(path=FOLDER / f"{name}-{view}.png", animations="disabled")

    await visit.enter(PLACE)
    await visit.heading("blog").wait_for()
    await picture("app")
    if view == "phone":
        return
    await visit.open(f"{PLACE}/tables/drafts")
    await visit.heading("drafts").wait_for()
    await visit.press("Rotate token")
    if view == "dark":
        await picture("rotate")
        return
    await visit.press("Rotate")
    await visit.heading("Token of drafts").wait_for()
    await picture("token")


async def main() -> None:
    """One gateway, seen in every view."""
    FOLDER.mkdir(exist_ok=True)
    async with run_gateway() as gateway, running_browser() as browser:
        await gateway.manage("PUT", APP, {"type": "api", "requests_per_minute": 1200})
        for name in ("drafts", "posts"):
            await gateway.manage("POST", f"{APP}/services/kvs/tables", {"name": name})
        for view, options in VIEWS.items():
            async with visiting(browser, gateway, reduced_motion="reduce", **options) as visit:
                await walk(visit, view)


if __name__ == "__main__":
    asyncio.run(main())
