"""Chromium: Debian's package, found or installed by `make chromium`."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Browser, async_playwright

from tests.support.coverage import not_covered

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@asynccontextmanager
async def running_browser() -> AsyncIterator[Browser]:
    """Starts a browser; tests are skipped without one, and fail in CI."""
    program = shutil.which("chromium")
    if program is None:
        not_covered("there is no chromium: `make chromium` installs Debian's package")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        try:
            yield browser
        finally:
            await browser.close()
