"""Judges responses: a result, or an error of a certain type."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kvs_client.errors import InvalidAnswer, KvsError, kind_of, printable

REPEATED = (429, 502, 503, 504)
"""Statuses of answers that are retried."""

_LONGEST_RETRY_AFTER = 86_400
_REQUEST_ID = re.compile(r"[!-~]{1,128}")


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP response, read up to the bound; `fields` have names in lower case."""

    status: int
    fields: Mapping[str, str]
    body: bytes
    is_whole: bool


def error_of(answer: Answer, *, tokens: Sequence[str | None]) -> KvsError | None:
    """Returns the error of an answer, or None if its status and header are good.

    `tokens` are the secrets of the request: the error never contains them, even if a server echoes them.
    """
    code = _unexpected(answer)
    if code is None:
        return None

    def redacted(text: str | None) -> str | None:
        for token in filter(None, tokens):
            text = text and text.replace(token, "[token]")
        return text

    identity = answer.fields.get("x-request-id", "")
    kind = InvalidAnswer if answer.status == 200 else kind_of(answer.status)
    return kind(
        redacted(code) or code,
        redacted(printable(redacted(answer.fields.get("x-kvs-error-detail")))),
        status=answer.status,
        request_id=redacted(identity) if _REQUEST_ID.fullmatch(identity) else None,
        retry_after_seconds=_retry_after(answer.fields.get("retry-after", "")),
    )


def _unexpected(answer: Answer) -> str | None:
    if answer.status != 200:
        return _code(answer)
    if answer.fields.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        return "unexpected_content_coding"
    if answer.fields.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        return "unexpected_content_type"
    return None if answer.is_whole else "answer_too_large"


def _code(answer: Answer) -> str:
    if answer.status < 400:
        return "redirect" if answer.status >= 300 else "unexpected_status"
    try:
        code = json.loads(answer.body)["error"]
        if re.fullmatch(r"[a-z0-9_]{1,64}", code):
            return str(code)
    except (ValueError, TypeError, LookupError, RecursionError):
        pass
    return f"http_{answer.status}"


def _retry_after(text: str) -> int | None:
    seconds = int(text) if re.fullmatch(r"[0-9]{1,5}", text.strip()) else None
    return seconds if seconds is not None and seconds <= _LONGEST_RETRY_AFTER else None
