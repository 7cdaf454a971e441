"""Lists over HTTP, a page at a time; the next page is in a `Link` field (RFC 8288). Paths are contract."""

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlencode

from msgspec import Struct

from gateway.controlplane.calls import ControlCall, Done, Routes, checked, checked_name
from gateway.controlplane.runtime import Runtime
from gateway.directory.pages import DirectoryPages
from gateway.directory.records import AppRecord
from gateway.domain.errors import InvalidField
from gateway.domain.rules import AppPlace, Name, PageLimit

_APPS = 100
_ORGANIZATIONS = 1000
"""How many a page has unless a limit is asked for. Few regions have more organizations than one page."""

Listed = TypeVar("Listed")


class ListCalls:
    """Show organizations, and the apps of one."""

    def __init__(self, pages: DirectoryPages, runtime: Runtime) -> None:
        self._pages = pages
        self._runtime = runtime

    @property
    def routes(self) -> Routes:
        """Paths and methods."""
        return [
            (r"/v1/orgs", {"GET": ("org.list", self.organizations)}),
            (r"/v1/orgs/([^/]+)/apps", {"GET": ("app.list", self.apps)}),
        ]

    async def organizations(self, call: ControlCall) -> Done:
        page = _parse(call.query, _ORGANIZATIONS, Name)
        found = await self._pages.organizations(page.after, page.limit + 1)
        return page.done("/v1/orgs", found, lambda org: {"id": org, "name": org}, place_of=str)

    async def apps(self, call: ControlCall) -> Done:
        org = checked_name(call.parts[0])
        page = _parse(call.query, _APPS, AppPlace)
        found = await self._pages.apps(org, page.after, page.limit + 1)
        return page.done(f"/v1/orgs/{org}/apps", found, self._runtime.describe_app, place_of=_place_of)


class _Page(Struct, frozen=True):
    """What of a list is asked for: at most `limit`, from behind `after` on."""

    after: str
    limit: int

    def done(
        self,
        path: str,
        found: Sequence[Listed],
        describe: Callable[[Listed], dict[str, Any]],
        *,
        place_of: Callable[[Listed], str],
    ) -> Done:
        """The page. One more than `limit` was looked for, so that a link never leads to nothing."""
        shown = found[: self.limit]
        link: tuple[tuple[str, str], ...] = ()
        if len(found) > self.limit:
            query = urlencode({"limit": self.limit, "after": place_of(shown[-1])})
            link = (("Link", f'<{path}?{query}>; rel="next"'),)
        return Done(200, [describe(each) for each in shown], fields=link)


def _parse(query: str, default_limit: int, place: Any) -> _Page:
    """The page that a query asks for. Raises InvalidField."""
    parameters = parse_qs(query, keep_blank_values=True)
    limits = parameters.pop("limit", [str(default_limit)])
    places = parameters.pop("after", None)
    if parameters:
        raise InvalidField("unknown_parameter")
    if len(limits) > 1 or not re.fullmatch(r"[0-9]{1,4}", limits[0]):
        raise InvalidField("invalid_limit")
    if places is not None and len(places) > 1:
        raise InvalidField("invalid_after")
    after = "" if places is None else checked(places[0], place, "invalid_after")
    return _Page(after, checked(int(limits[0]), PageLimit, "invalid_limit"))


def _place_of(app: AppRecord) -> str:
    return f"{app.environment.app}/{app.environment.env}"
