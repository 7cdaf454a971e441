"""Client of the control listener: one call and its answer, lists with all their pages."""

import json
import re
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request

from gateway.cli.calling import (
    CommandFailed,
    Exit,
    authorization,
    base_address,
    call_directly,
    exit_for_status,
    unreachable,
)

_TIMEOUT_SECONDS = 30
_NEXT = re.compile(r'<(/v1/[!-~]*)>; rel="next"')
"""The link to the next page: a path on the same listener, so that the token goes nowhere else."""


class ControlClient:
    """Calls the control listener at `url` with `token`."""

    def __init__(self, url: str, token: str | None) -> None:
        self._url = url
        self._token = token

    def call(
        self, method: str, path: str, fields: dict[str, Any] | None = None, *, only_if_new: bool = False
    ) -> Any:
        """Returns the answer, or `{"done": true}` if it has no body. Raises CommandFailed."""
        condition = {"If-None-Match": "*"} if only_if_new else {}
        answer, following = self._send(method, path, fields, condition)
        while following and isinstance(answer, list):
            page, following = self._send(method, following, None, {})
            answer += page
        return answer

    def _send(
        self, method: str, path: str, fields: dict[str, Any] | None, condition: dict[str, str]
    ) -> tuple[Any, str | None]:
        """Returns the answer, and the path of the next page if there is one. Raises CommandFailed."""
        if not self._token:
            detail = "KVS_CONTROL_TOKEN is not set: set it to a control token"
            raise CommandFailed(Exit.NOT_AUTHORIZED, "missing_token", detail)
        credentials = authorization(self._token, "KVS_CONTROL_TOKEN", "invalid_control_token")
        headers = {"Content-Type": "application/json", **condition, **credentials}
        data = None if fields is None else json.dumps(fields).encode()
        try:
            base = base_address(self._url, "http://host:8081")
            request = Request(base + path, data, headers, method=method)  # noqa: S310 - checked
            with call_directly(request, timeout_seconds=_TIMEOUT_SECONDS) as response:
                text = response.read()
                link = _NEXT.fullmatch(response.headers.get("Link", ""))
            return json.loads(text) if text else {"done": True}, link and link[1]
        except HTTPError as error:
            raise self._refused(error) from None
        except OSError as error:
            raise unreachable(error, self._url, "the gateway") from None
        except (HTTPException, ValueError):
            raise self.unexpected() from None

    def _refused(self, error: HTTPError) -> CommandFailed:
        exit_code = exit_for_status(error.code)
        try:
            code = str(json.loads(error.read())["error"])
        except (HTTPException, OSError, ValueError, KeyError, TypeError):
            return self.unexpected(exit_code, status=error.code)
        detail = error.headers.get("x-kvs-error-detail") or "the server gave no explanation"
        failure = CommandFailed(exit_code, code, detail, status=error.code)
        if code == "not_found":  # no such path: a control listener has every path that commands call
            failure.report["next"] = f"check that {self._url} is the control listener"
        return failure

    def unexpected(self, exit_code: Exit = Exit.GENERAL, **more: object) -> CommandFailed:
        """Returns the failure of a command whose answer did not come from a control listener."""
        detail = "the server at this URL is not a control listener: check the URL"
        return CommandFailed(exit_code, "unexpected_answer", detail, url=self._url, **more)
