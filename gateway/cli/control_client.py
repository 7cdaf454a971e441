"""Client of the control listener: one call and its answer, and lists with all their pages."""

import json
import re
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from msgspec import Struct

from gateway.cli.answers import App, NotExpected, Organization, checked, decode
from gateway.cli.calling import (
    CommandFailed,
    Exit,
    authorization,
    base_address,
    exit_for_status,
    unreachable,
)
from gateway.cli.transport import Deadline, Request, Response, UnusableResponse, send

_CALL_SECONDS = 30
_LIST_SECONDS = 300
_MAX_BYTES = 4 * 1024 * 1024
"""Largest answer; a page of 1,000 apps with the longest names takes 0.6 MB."""

_LIST_BYTES = 32 * 1024 * 1024
"""Largest list: some 140,000 apps."""

_PAGE_ITEMS = 1000
_MAX_PAGES = 1000
_CODE = re.compile(r"[a-z][a-z0-9_]{0,63}")
_NEXT = re.compile(r'<([!-=?-~]{1,4096})>; rel="next"')

Form = TypeVar("Form")
Item = TypeVar("Item", App, Organization)


class Answer(Struct, Generic[Form], frozen=True):
    """A checked answer, and its JSON with the fields that this version does not know."""

    form: Form
    json: Any


class ControlClient:
    """Calls the control listener at `url` with `token`. All methods raise CommandFailed."""

    def __init__(self, url: str, token: str | None) -> None:
        self._url = url
        self._token = token

    def call(
        self,
        form: type[Form],
        method: str,
        path: str,
        fields: dict[str, Any] | None = None,
        *,
        only_if_new: bool = False,
    ) -> Answer[Form]:
        """Returns the answer."""
        condition = {"If-None-Match": "*"} if only_if_new else {}
        response = self._send(method, path, fields, condition, Deadline(_CALL_SECONDS))
        return self._checked(form, response)

    def delete(self, path: str) -> None:
        """Deletes a resource. The answer has no body."""
        if self._send("DELETE", path, None, {}, Deadline(_CALL_SECONDS)).body:
            raise self.unexpected()

    def pages(self, form: type[Item], path: str) -> Iterator[list[Any]]:
        """Yields the JSON of each page of a list.

        Lists are sorted, so every item must come after the previous one, also across pages. A page may be
        empty, because a gateway that hides apps reads a bounded number of names for a page. Therefore the
        number of pages is bounded as well, and one deadline covers them all.
        """
        deadline, following, reached, left_bytes = Deadline(_LIST_SECONDS), path, "", _LIST_BYTES
        for _ in range(_MAX_PAGES):
            response = self._send("GET", following, None, {}, deadline)
            page: list[Any] = self._checked(list, response).json
            left_bytes -= len(response.body)
            if left_bytes < 0 or len(page) > _PAGE_ITEMS:
                raise self.unexpected("a list with too many items")
            for position in self._positions(form, page):
                if position <= reached:
                    raise self.unexpected("a list that is not sorted")
                reached = position
            yield page
            if "Link" not in response.headers:
                return
            following = self._following(response, path)
        raise self.unexpected("a list without an end")

    def _positions(self, form: type[Item], page: list[Any]) -> list[str]:
        try:
            return [checked(each, form).position for each in page]
        except NotExpected:
            raise self.unexpected() from None

    def _following(self, response: Response, path: str) -> str:
        """Returns the link to the next page: on this listener, so that the token goes nowhere else."""
        link = _NEXT.fullmatch(response.headers["Link"])
        same = path.partition("?")[0]
        if link is None or link[1].partition("?")[0] != same:
            raise self.unexpected("a link that leads elsewhere")
        return link[1]

    def _checked(self, form: type[Form], response: Response) -> Answer[Form]:
        try:
            answer = decode(response.body)
            return Answer(checked(answer, form), answer)
        except NotExpected:
            raise self.unexpected() from None

    def _send(
        self,
        method: str,
        path: str,
        fields: dict[str, Any] | None,
        condition: dict[str, str],
        deadline: Deadline,
    ) -> Response:
        """Returns the response of a call that succeeded."""
        if not self._token:
            detail = "KVS_CONTROL_TOKEN is not set: set it to a control token"
            raise CommandFailed(Exit.NOT_AUTHORIZED, "missing_token", detail)
        credentials = authorization(self._token, "KVS_CONTROL_TOKEN", "invalid_control_token")
        headers = {"Content-Type": "application/json", **condition, **credentials}
        data = None if fields is None else json.dumps(fields).encode()
        url = base_address(self._url, "http://host:8081") + path
        try:
            response = send(Request(method, url, headers, data), deadline, max_bytes=_MAX_BYTES)
        except OSError as error:
            raise unreachable(error, self._url, "the gateway") from None
        except UnusableResponse as error:
            raise self.unexpected(f"it {error}") from None
        if not response.is_success:
            raise self._refused(response)
        return response

    def _refused(self, response: Response) -> CommandFailed:
        exit_code = exit_for_status(response.status)
        try:
            code = checked(decode(response.body), dict[str, Any]).get("error")
        except NotExpected:
            code = None
        if not isinstance(code, str) or not _CODE.fullmatch(code):
            return self.unexpected(exit_code=exit_code, status=response.status)
        detail = response.headers.get("x-kvs-error-detail") or "the server gave no explanation"
        failure = CommandFailed(exit_code, code, detail, status=response.status)
        if code == "not_found":  # no such path: a control listener has every path that commands call
            failure.report["next"] = f"check that {self._url} is the control listener"
        return failure

    def unexpected(self, why: str = "", *, exit_code: Exit = Exit.GENERAL, **more: object) -> CommandFailed:
        """Returns the failure of a command whose answer is not one of a control listener."""
        detail = "the server at this URL is not a control listener: check the URL"
        if why:
            detail = f"the server at this URL is not a control listener ({why}): check the URL"
        return CommandFailed(exit_code, "unexpected_answer", detail, url=self._url, **more)
