"""Fields of control-plane requests: each is as its rule says, or refused under its own code."""

from typing import Any
from urllib.parse import parse_qs

import msgspec

from gateway.domain.errors import InvalidField, InvalidJson
from gateway.domain.model import Environment
from gateway.domain.rules import DEFAULT_ENV, Name

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


def checked(value: object, rule: Any, code: str) -> Any:
    """The value, if it is what `rule` (a type of `domain.rules`) says. Raises InvalidField with `code`."""
    try:
        return msgspec.convert(value, rule)
    except msgspec.ValidationError:
        raise InvalidField(code) from None


def name(value: object, rule: Any = Name) -> str:
    """A name of that rule. Raises InvalidField."""
    return str(checked(value, rule, "invalid_name"))


def optional_integer(fields: Fields, field: str, rule: Any) -> int | None:
    """The integer in a field, or None if it is absent or null. Raises InvalidField."""
    value: int | None = checked(fields.get(field), rule | None, f"invalid_{field}")
    return value


def environment(org: str, app: str, query: str) -> Environment:
    """The app environment that a path and its query name; `env` defaults to production.

    Any other parameter is refused: a slip in its name would change production instead.
    """
    parameters = parse_qs(query, keep_blank_values=True)
    envs = parameters.pop("env", [DEFAULT_ENV])
    if parameters:
        raise InvalidField("unknown_parameter")
    if len(envs) > 1:
        raise InvalidField("invalid_name")
    return Environment(name(org), name(app), name(envs[0]))
