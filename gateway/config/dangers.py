"""Settings that open the gateway to strangers: mistakes, unless a key of the file allows them (D143).

Each danger that such a key allows is logged at startup, so nobody has to remember what the key covers.
"""

import logging
from collections.abc import Iterator
from hashlib import sha256
from ipaddress import IPv6Address, ip_address

from msgspec import Struct

from gateway.config.callers import IS_REPETITIVE
from gateway.config.problems import Problems
from gateway.config.settings import DeclaredTable, Settings
from gateway.domain.rules import SECRET_CHARACTERS, is_repetitive

log = logging.getLogger("kvs.config")

PUBLISHED = frozenset({
    "dev-control-token",
    "dev-secret-access-key",
    "dev-session-master-key-of-32-characters",
    "kvs_5MiFe5L2EwnHr14WpWpClsHJaCp33ti3KOx22Qzlo7O1vHjlC",
})  # fmt: skip
"""Secrets of `config.example.yaml`, which are public."""

_PUBLISHED_SHA256 = frozenset(sha256(secret.encode()).hexdigest() for secret in PUBLISHED)

_IS_PUBLISHED = "is a published development value, for loopback listeners only"
_IS_FETCHED_IN_THE_CLEAR = "is fetched without TLS, so others on the network could replace the keys"
_IS_SHORT = f"is shorter than {SECRET_CHARACTERS} characters"


class Danger(Struct, frozen=True):
    """A dangerous setting, and the key that allows it."""

    path: str
    problem: str
    allowed_by: str
    is_allowed: bool


def find_dangers(settings: Settings) -> Iterator[Danger]:
    """Yields every danger, allowed or not."""
    for path, problem in (*_of_control(settings), *_of_credentials(settings)):
        yield Danger(path, problem, "control.allow_insecure", settings.control.allow_insecure)
    if not is_loopback(settings.listen.data.host):
        for path, problem in dangers_of_calls(settings):
            yield Danger(path, problem, "signature.allow_public", settings.signature.allow_public)


def check_dangers(settings: Settings, problems: Problems) -> None:
    """Notes every danger that is not allowed."""
    for danger in find_dangers(settings):
        if not danger.is_allowed:
            problems.add(danger.path, f"{danger.problem}; set {danger.allowed_by}: true to allow it")


def warn_of_dangers(settings: Settings) -> None:
    """Logs each danger that is allowed."""
    for danger in find_dangers(settings):
        if danger.is_allowed:
            fields = {"path": danger.path, "problem": danger.problem, "allowed_by": danger.allowed_by}
            log.warning("a dangerous setting is allowed", extra={"fields": fields})


def is_loopback(host: str) -> bool:
    """Returns whether only this machine can reach a listener on `host`."""
    try:
        address = ip_address(host)
    except ValueError:
        return host.lower() == "localhost"
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback


def _of_control(settings: Settings) -> Iterator[tuple[str, str]]:
    listener = settings.listen.control
    is_public = not is_loopback(listener.host)
    if is_public and listener.tls is None:
        yield (
            "listen.control.host",
            "is not loopback: without tls, control tokens cross the network in clear text",
        )
    for index, bearer in enumerate(settings.control.bearers):
        if is_public and bearer.token in PUBLISHED:
            yield f"control.tokens[{index}]", _IS_PUBLISHED
        yield from _of_token(bearer.token, f"control.tokens[{index}]")
    for index, issuer in enumerate(settings.control.oidc):
        if issuer.jwks.startswith("http://"):
            yield f"control.oidc[{index}].jwks", _IS_FETCHED_IN_THE_CLEAR


def _of_credentials(settings: Settings) -> Iterator[tuple[str, str]]:
    """Yields dangers of the credentials listener."""
    listener = settings.listen.credentials
    is_public = listener is not None and not is_loopback(listener.host)
    if is_public and listener is not None and listener.tls is None:
        yield (
            "listen.credentials.tls",
            "is missing: tokens of workloads would cross the network in clear text",
        )
    for index, workloads in enumerate(settings.workloads):
        for number, each in enumerate(workloads.tokens):
            yield from _of_token(each.token, f"workloads[{index}].tokens[{number}].token")
        if workloads.jwks is not None and workloads.jwks.startswith("http://"):
            yield f"workloads[{index}].jwks", _IS_FETCHED_IN_THE_CLEAR


def dangers_of_calls(settings: Settings) -> Iterator[tuple[str, str]]:
    """Yields dangers of a data listener that strangers reach."""
    if settings.signature.mode == "off":
        yield "signature.mode", "is off: everyone who reaches listen.data.host can call"
    credentials = settings.signature.credentials
    for index, credential in enumerate(credentials.static):
        if credential.secret_access_key in PUBLISHED:
            yield f"signature.credentials.static[{index}].secret_access_key", _IS_PUBLISHED
    for index, key in enumerate(credentials.session.master_keys if credentials.session else ()):
        if key in PUBLISHED:
            yield f"signature.credentials.session.master_keys[{index}]", _IS_PUBLISHED
    proxy = credentials.trusted_proxy
    for secret in proxy.secrets if proxy else ():
        if secret in PUBLISHED:
            yield "signature.credentials.trusted_proxy.secret", _IS_PUBLISHED
    for app_index, app in enumerate(settings.apps):
        for index, table in enumerate(app.tables):
            yield from _of_public_table(table, f"apps[{app_index}].tables[{index}]")


def _of_public_table(table: DeclaredTable, path: str) -> Iterator[tuple[str, str]]:
    if table.token_sha256 in _PUBLISHED_SHA256:
        yield f"{path}.token_sha256", _IS_PUBLISHED
    if table.token is None:
        return
    if table.token in PUBLISHED:
        yield f"{path}.token", _IS_PUBLISHED
    yield from _of_token(table.token, f"{path}.token")


def _of_token(token: str, path: str) -> Iterator[tuple[str, str]]:
    if len(token) < SECRET_CHARACTERS:
        yield path, _IS_SHORT
    elif is_repetitive(token):
        yield path, IS_REPETITIVE
