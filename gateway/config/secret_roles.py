"""Secrets with two roles: the holder in one role would have the other one as well.

A listener finds the role of a secret by its value alone. So a token that a workload shares with an operator
manages every app, and a password that a store receives opens whatever else it is used for.
"""

from collections import defaultdict
from collections.abc import Iterator
from hashlib import sha256

from msgspec import Struct

from gateway.config.callers import secrets_of
from gateway.config.problems import Problems
from gateway.config.settings import Settings
from gateway.directory.tokens import is_well_formed

_CONTROL = "a control token"
_WORKLOAD = "a workload's token"
_KEY = "a key"
_TABLE = "a table's token"
_NAME = "a name that logs show"
_STORE = "a store's password"
_RECEIVER = "a header for the receiver of traces"
_REPEATABLE = frozenset({_NAME, _STORE, _RECEIVER})
"""Roles that several places may share a secret for: it is the server's, and names are no secrets."""


class _Place(Struct, frozen=True, gc=False):
    path: str
    role: str


def check_secret_roles(settings: Settings, problems: Problems) -> None:
    """Notes every secret that is given twice, at each of its places, and table tokens of other roles.

    Compares digests, because a declared table may have one instead of its token.
    """
    places: defaultdict[str, list[_Place]] = defaultdict(list)
    for path, role, secret in _secrets(settings):
        places[sha256(secret.encode()).hexdigest()].append(_Place(path, role))
        if role != _NAME and is_well_formed(secret.encode()):
            problems.add(path, "has the form of a table token, which opens a table only")
    for path, digest in _tables(settings):
        places[digest].append(_Place(path, _TABLE))
    for same in places.values():
        if len(same) > 1:
            _add_repeated(same, problems)


def _add_repeated(same: list[_Place], problems: Problems) -> None:
    roles = {place.role for place in same}
    if len(roles) == 1 and roles <= _REPEATABLE:
        return
    more = f" and {len(same) - 2} more" if len(same) > 2 else ""
    for place in same:
        other = same[0] if place is not same[0] else same[1]
        problems.add(place.path, f"is the same as {other.path}{more}: a secret has one role and one holder")


def _secrets(settings: Settings) -> Iterator[tuple[str, str, str]]:
    """Yields path, role and value of each secret except table tokens, and of names that are no secrets."""
    for index, bearer in enumerate(settings.control.bearers):
        path = f"control.tokens[{index}]"
        yield path, _CONTROL, bearer.token
        yield f"{path}.name", _NAME, bearer.name
    for index, workloads in enumerate(settings.workloads):
        for number, each in enumerate(workloads.tokens):
            yield f"workloads[{index}].tokens[{number}].token", _WORKLOAD, each.token
    credentials = settings.signature.credentials
    for path, secret in secrets_of(credentials):
        yield path, _KEY, secret
    for index, credential in enumerate(credentials.static):
        path = f"signature.credentials.static[{index}].access_key_id"
        yield path, _NAME, credential.access_key_id
    yield from _sent(settings)


def _sent(settings: Settings) -> Iterator[tuple[str, str, str]]:
    """Yields secrets that the gateway sends to other servers."""
    for section, store in (("store", settings.store), ("counters", settings.counters)):
        for key, secret in store.secrets() if store is not None else ():
            yield f"{section}.{key}", _STORE, secret
    for value in settings.tracing.headers.values() if settings.tracing is not None else ():
        yield "tracing.headers", _RECEIVER, value.rpartition(" ")[2]  # without a scheme like Bearer


def _tables(settings: Settings) -> Iterator[tuple[str, str]]:
    """Yields path and digest of each declared token. A table with none or two is another mistake."""
    for app_index, app in enumerate(settings.apps):
        for index, table in enumerate(app.tables):
            path = f"apps[{app_index}].tables[{index}]"
            if table.token_sha256 is None and table.token is not None:
                yield f"{path}.token", sha256(table.token.encode()).hexdigest()
            elif table.token is None and table.token_sha256 is not None:
                yield f"{path}.token_sha256", table.token_sha256
