"""Decodes and checks the fields of a call. A refusal shows the value as typed and the rule in words."""

import json
from collections.abc import Iterable, Sequence
from types import NoneType
from typing import Any, get_args
from urllib.parse import parse_qs, unquote

import msgspec

from gateway.controlplane.errors import InvalidField
from gateway.domain.errors import InvalidJson
from gateway.domain.model import Environment
from gateway.domain.rules import DEFAULT_ENV, Name

Fields = dict[str, Any]

_MAX_SHOWN_CHARACTERS = 40


def parse_object(body: bytes) -> Fields:
    """Decodes the JSON object in a body; an empty body is an empty object. Raises InvalidJson."""
    try:
        fields = msgspec.json.decode(body.decode() or "{}")
    except UnicodeDecodeError as error:
        raise InvalidJson(f"not JSON: not UTF-8 at byte {error.start}") from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidJson(f"not JSON: {error}") from None
    if not isinstance(fields, dict):
        raise InvalidJson("not a JSON object")
    return fields


def parse_environment(org: str, app: str, query: str, others: Sequence[str] = ()) -> Environment:
    """Returns the app environment of a path and its query; `env` defaults to production. Raises InvalidField.

    Every parameter but `env` and `others` is refused, because a misspelt `env` would otherwise change
    production.
    """
    parameters = parse_qs(query, keep_blank_values=True)
    envs = parameters.pop("env", [DEFAULT_ENV])
    if unknown := parameters.keys() - others:
        raise unknown_parameter(unknown, "env", *others)
    if len(envs) > 1:
        raise InvalidField("invalid_name", "env: given more than once")
    return Environment(
        path_name(org, field="org"), path_name(app, field="app"), checked_name(envs[0], field="env")
    )


def unknown_parameter(names: Iterable[str], *known: str) -> InvalidField:
    """Builds the refusal of a query with unknown parameters."""
    sent = ", ".join(_shown(name) for name in sorted(names))
    return InvalidField("unknown_parameter", f"unknown parameter {sent}, allowed: {', '.join(known)}")


def path_name(part: str, *, field: str) -> str:
    """Returns a name in a path. Names are not percent-decoded, except to show them in a refusal."""
    return str(checked(part, Name, "invalid_name", field=field, typed=unquote(part)))


def checked_name(value: object, rule: Any = Name, *, field: str = "name") -> str:
    """Returns a name that follows the rule. Raises InvalidField."""
    return str(checked(value, rule, "invalid_name", field=field))


def checked(value: object, rule: Any, code: str, *, field: str | None = None, typed: object = None) -> Any:
    """Returns the value if it follows `rule`, a type of `domain.rules`.

    Raises InvalidField with `code`, which names the field unless `field` is given. `typed` is the value as
    its sender typed it, if it arrived encoded.
    """
    try:
        return msgspec.convert(value, rule)
    except msgspec.ValidationError:
        sent = "missing" if value is None else _shown(value if typed is None else typed)
        name = field or code.removeprefix("invalid_")
        raise InvalidField(code, f"{name}: {sent}, allowed: {describe_rule(rule)}") from None


def describe_rule(rule: Any) -> str:
    """Puts a rule into words: the description in its metadata, or the range of an integer."""
    kind, *rest = get_args(rule)
    if rest == [NoneType]:
        return f"{describe_rule(kind)}, or null"
    (limits,) = rest
    return limits.description or f"an integer from {limits.ge} to {limits.le}"


def _shown(value: object) -> str:
    """Quotes a value. Of a long one, which may be a secret, only the length is shown."""
    text = json.dumps(value)
    return text if len(text) <= _MAX_SHOWN_CHARACTERS else f"{len(text)} characters"
