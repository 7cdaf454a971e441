"""Fields of control-plane requests: each is valid, or refused under its own code."""

import re
from typing import Any
from urllib.parse import parse_qs

import msgspec

from gateway.domain.errors import Invalid, InvalidJson
from gateway.domain.model import Environment

MAX_LIMIT = 1_000_000_000
MAX_TABLES = 1000
MAX_OVERLAP_SECONDS = 30 * 86_400
DEFAULT_ENV = "production"

NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
TABLE_NAME = r"[A-Za-z0-9_]{1,32}"
APP_TYPE = r"[a-z][a-z0-9-]{0,31}"

Fields = dict[str, Any]


def parse_object(body: bytes) -> Fields:
    """The JSON object in a body; an empty body counts as an empty object. Raises InvalidJson."""
    try:
        fields = msgspec.json.decode(body.decode() or "{}")
    except (ValueError, RecursionError):
        raise InvalidJson from None
    if not isinstance(fields, dict):
        raise InvalidJson
    return fields


def name(text: Any, pattern: str = NAME, code: str = "invalid_name") -> str:
    """A string that matches as a whole. Raises Invalid."""
    if not isinstance(text, str) or not re.fullmatch(pattern, text, re.ASCII):
        raise Invalid(code)
    return text


def environment(org: str, app: str, query: str) -> Environment:
    """The app environment that a path and its query name; `env` defaults to production.

    Any other parameter is refused: a slip in its name would change production instead.
    """
    parameters = parse_qs(query, keep_blank_values=True)
    envs = parameters.pop("env", [DEFAULT_ENV])
    if parameters:
        raise Invalid("unknown_parameter")
    if len(envs) > 1:
        raise Invalid("invalid_name")
    return Environment(name(org), name(app), name(envs[0]))


def integer(fields: Fields, field: str, smallest: int, largest: int) -> int | None:
    """An integer in range, or None if it is absent or null. Raises Invalid."""
    value = fields.get(field)
    if value is None:
        return None
    if type(value) is not int or not smallest <= value <= largest:
        raise Invalid(f"invalid_{field}")
    return value
