"""A page that shows the console of a gateway, and what people do with it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Browser, BrowserContext, Locator, Page, Request

from tests.support.config import CONTROL_TOKEN
from tests.support.gateway import Gateway
from tests.support.repository import ROOT
from tests.support.stopwatch import PATIENCE_SECONDS

FOLDER = ROOT / "gateway" / "console"


class Visit:
    """One tab. `problems` is what the browser complained about, `asked` each request that left the page."""

    def __init__(self, page: Page, gateway: Gateway) -> None:
        self.page, self.gateway = page, gateway
        self.problems: list[str] = []
        self.asked: list[Request] = []
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", lambda message: self.problems.append(message.text))
        page.on("request", self._note)

    def _note(self, request: Request) -> None:
        self.asked.append(request)

    @property
    def faults(self) -> list[str]:
        """The problems but those of calls that were refused, which a browser always writes down."""
        return [text for text in self.problems if not text.startswith("Failed to load resource")]

    async def open(self, place: str = "#/") -> None:
        await self.page.goto(f"{self.gateway.control}/console/{place}")

    async def sign_in(self, token: str = CONTROL_TOKEN) -> None:
        await self.page.get_by_label("Control token").fill(token)
        await self.press("Sign in")

    async def enter(self, place: str, *, token: str = CONTROL_TOKEN) -> None:
        """Open a place and sign in there."""
        await self.open(place)
        await self.sign_in(token)
        await self.page.get_by_role("button", name="Sign out").wait_for()

    async def press(self, name: str) -> None:
        await self.page.get_by_role("button", name=name, exact=True).last.click()

    def heading(self, name: str) -> Locator:
        return self.page.get_by_role("heading", name=name, exact=True)

    def alert(self, text: str) -> Locator:
        return self.page.get_by_role("alert").filter(has_text=text)


async def new_tab(context: BrowserContext, gateway: Gateway) -> Visit:
    page = await context.new_page()
    page.set_default_timeout(PATIENCE_SECONDS * 1000)
    return Visit(page, gateway)


@asynccontextmanager
async def visiting(browser: Browser, gateway: Gateway, **options) -> AsyncIterator[Visit]:
    """A tab of a new visitor; `options` are those of Playwright's contexts."""
    context = await browser.new_context(**options)
    try:
        yield await new_tab(context, gateway)
    finally:
        await context.close()
