"""The control listener as commands ask it: one call and its answer, lists with all their pages."""

import json
import re
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request

from gateway.cli.calling import (
    CommandFailed,
    Exit,
    authorization,
    base_address,
    call_directly,
    exit_for_status,
)

_TIMEOUT_SECONDS = 30
_NEXT = re.compile(r'<(/v1/[!-~]*)>; rel="next"')
"""On the control listener that was asked: its token goes nowhere else."""


class ControlListener:
    """The one at `url`, which is asked with `token`."""

    def __init__(self, url: str, token: str | None) -> None:
        self._url = url
        self._token = token

    def ask(
        self, method: str, path: str, fields: dict[str, Any] | None = None, *, only_if_new: bool = False
    ) -> Any:
        """What a call answers; `{"done": true}` if that is nothing. Raises CommandFailed."""
        condition = {"If-None-Match": "*"} if only_if_new else {}
        answer, following = self._send(method, path, fields, condition)
        while following and isinstance(answer, list):
            page, following = self._send(method, following, None, {})
            answer += page
        return answer

    def _send(
        self, method: str, path: str, fields: dict[str, Any] | None, condition: dict[str, str]
    ) -> tuple[Any, str | None]:
        """The answer, and the path of the next page if it is one of a list. Raises CommandFailed."""
        if not self._token:
            message = "KVS_CONTROL_TOKEN is not set"
            raise CommandFailed(Exit.NOT_AUTHORIZED, "missing_token", message=message)
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
            detail = error.headers.get("x-kvs-error-detail")
            details = {"status": error.code} | ({"detail": detail} if detail else {})
            raise CommandFailed(exit_for_status(error.code), _error_code(error), **details) from None
        except (URLError, OSError) as error:
            reason = getattr(error, "reason", error)
            raise CommandFailed(Exit.NETWORK, "network", message=str(reason), url=self._url) from None
        except (HTTPException, ValueError):
            raise self.unexpected() from None

    def unexpected(self) -> CommandFailed:
        """The failure of what did not answer as a control listener does."""
        message = "what answers there is not a control listener"
        return CommandFailed(Exit.GENERAL, "unexpected_answer", message=message, url=self._url)


def _error_code(error: HTTPError) -> str:
    try:
        return str(json.loads(error.read())["error"])
    except (ValueError, KeyError, TypeError):
        return "unexpected_answer"
