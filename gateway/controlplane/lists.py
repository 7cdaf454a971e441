"""Paged lists over HTTP; a `Link` field leads to the next page (RFC 8288). Paths are part of the contract."""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlencode

from msgspec import Struct

from gateway.controlplane.cursors import CursorCipher
from gateway.controlplane.encoding import encode_list
from gateway.controlplane.errors import InvalidField
from gateway.controlplane.fields import checked, path_name, unknown_parameter
from gateway.controlplane.routing import (
    Action,
    CallResult,
    ControlCall,
    Routes,
)
from gateway.controlplane.runtime import Runtime
from gateway.directory.apps.pages import DirectoryPages, Listed, Listing
from gateway.directory.records import AppRecord
from gateway.domain.rules import AppCursor, OrgCursor, PageLimit

_APPS = 100
_ORGANIZATIONS = 1000
"""Default page sizes. Few regions have more organizations than fit on one page."""


class ListRoutes:
    """Shows the organizations, and the apps of one, that the caller may see."""

    def __init__(self, pages: DirectoryPages, runtime: Runtime, cursors: CursorCipher) -> None:
        self._cursors = cursors
        self._pages = pages
        self._runtime = runtime

    def replace_cipher(self, cursors: CursorCipher) -> None:
        """Encrypts and decrypts cursors with another cipher from the next call on."""
        self._cursors = cursors

    @property
    def routes(self) -> Routes:
        """Paths and methods."""
        return [
            (r"/v1/orgs", {"GET": Action("org.list", "read", self.organizations)}),
            (r"/v1/orgs/([^/]+)/apps", {"GET": Action("app.list", "read", self.apps)}),
        ]

    async def organizations(self, call: ControlCall) -> CallResult:
        page = self._parse(call.query, "/v1/orgs", _ORGANIZATIONS, OrgCursor)
        part = await self._pages.organizations(
            page.after, page.limit + 1, lambda org: call.caller.may("read", org)
        )
        return await page.done(part, lambda org: {"id": org, "name": org}, cursor_of=str)

    async def apps(self, call: ControlCall) -> CallResult:
        org = path_name(call.parts[0], field="org")
        page = self._parse(call.query, f"/v1/orgs/{org}/apps", _APPS, AppCursor)
        part = await self._pages.apps(
            org, page.after, page.limit + 1, lambda app: call.caller.may("read", org, app)
        )
        return await page.done(part, self._runtime.describe_app, cursor_of=_cursor_of)

    def _parse(self, query: str, path: str, default_limit: int, rule: Any) -> "_Page":
        """Returns the requested page. Raises InvalidField."""
        parameters = parse_qs(query, keep_blank_values=True)
        limits = parameters.pop("limit", [str(default_limit)])
        cursors = parameters.pop("after", None)
        if parameters:
            raise unknown_parameter(parameters, "limit", "after")
        if len(limits) > 1 or not re.fullmatch(r"[0-9]{1,4}", limits[0]):
            raise InvalidField("invalid_limit", "limit: expected one integer from 1 to 1000")
        if cursors is not None and len(cursors) > 1:
            raise InvalidField("invalid_after", "after: given more than once")
        after = "" if cursors is None else checked(cursors[0], rule, "invalid_after")
        limit = checked(int(limits[0]), PageLimit, "invalid_limit")
        return _Page(path, self._cursors.decrypt(path, after), limit, self._cursors)


class _Page(Struct, frozen=True):
    """The requested page of a list: at most `limit` items after the cursor `after`."""

    path: str
    after: str
    limit: int
    cursors: CursorCipher

    async def done(
        self,
        part: Listing[Listed],
        describe: Callable[[Listed], dict[str, Any]],
        *,
        cursor_of: Callable[[Listed], str],
    ) -> CallResult:
        """Builds the response.

        `part` holds one item more than `limit` if there is one, which proves that the next page is not empty.
        A page reads a bounded number of names. If most of them are hidden from the caller, the page may be
        short or empty. Its link then continues at the last name read, encrypted because that may be hidden.
        """
        shown, following = part.found[: self.limit], None
        if len(part.found) > self.limit:
            following = cursor_of(shown[-1])
        elif part.reached is not None:
            following = self.cursors.encrypt(self.path, part.reached)
        return CallResult(200, await encode_list(shown, describe), fields=self._link(following))

    def _link(self, following: str | None) -> tuple[tuple[str, str], ...]:
        if following is None:
            return ()
        query = urlencode({"limit": self.limit, "after": following})
        return (("Link", f'<{self.path}?{query}>; rel="next"'),)


def _cursor_of(app: AppRecord) -> str:
    return f"{app.environment.app}/{app.environment.env}"
