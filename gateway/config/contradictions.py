"""Mistakes that no single key can tell: values that are fine alone and wrong together."""

import os
from collections import Counter
from hashlib import sha256
from importlib.util import find_spec
from ipaddress import ip_address, ip_network

from gateway.config.certificates import UnusableCertificate, server_context
from gateway.config.problems import Problems
from gateway.config.settings import DeclaredAppSettings, DeclaredTable, Settings, TlsSettings
from gateway.credentials.keyring import ApprovedRoles
from gateway.directory.tokens import PREFIX, is_well_formed
from gateway.domain.rules import BEARER_TOKEN

_TRACING_MODULES = (
    "opentelemetry.sdk.trace",
    "opentelemetry.exporter.otlp.proto.http.trace_exporter",
    "requests",
)
"""What the extra `otel` installs."""


def find_contradictions(settings: Settings, problems: Problems) -> None:
    """Note every contradiction."""
    _check_listeners(settings, problems)
    _check_signature(settings, problems)
    _check_credentials(settings, problems)
    _check_limits(settings, problems)
    _check_stores(settings, problems)
    if settings.tracing is not None and not _is_tracing_installed():
        problems.add("tracing", "needs pip install 'kvs-gateway[otel]'")
    _check_apps(settings.apps, settings.directory.max_tables, problems)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a listener on `host`."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _check_listeners(settings: Settings, problems: Problems) -> None:
    listen = settings.listen
    taken: set[tuple[str, int]] = set()
    for name, listener in (("data", listen.data), ("ops", listen.ops), ("control", listen.control)):
        place = (listener.host, listener.port)
        if listener.port and place in taken:
            problems.add(f"listen.{name}.port", "is the port of another listener")
        taken.add(place)
    if listen.data.tls is not None:
        _check_certificate(listen.data.tls, problems)
    for index, token in enumerate(settings.control.tokens):
        if not BEARER_TOKEN.fullmatch(token.encode()):
            problems.add(f"control.tokens[{index}]", "holds a character that a header cannot carry")


def _check_certificate(tls: TlsSettings, problems: Problems) -> None:
    unreadable = [key for key in ("certificate", "key") if not _is_readable(getattr(tls, key))]
    for key in unreadable:
        problems.add(f"listen.data.tls.{key}", "names a file that cannot be read")
    if unreadable:
        return
    try:
        server_context(tls)
    except UnusableCertificate:
        problems.add("listen.data.tls", "does not name a certificate and its unencrypted key, in PEM")


def _is_readable(path: str) -> bool:
    try:
        return os.access(path, os.R_OK)
    except ValueError:  # no path holds a NUL
        return False


def _check_signature(settings: Settings, problems: Problems) -> None:
    signature = settings.signature
    if signature.mode == "off" and not signature.allow_public and not is_loopback(settings.listen.data.host):
        problems.add(
            "signature.mode",
            "off needs a loopback listen.data.host, or signature.allow_public: true",
        )


def _check_credentials(settings: Settings, problems: Problems) -> None:
    credentials = settings.signature.credentials
    roles = ApprovedRoles(settings.signature.approved_roles)
    path = "signature.credentials"
    for index, credential in enumerate(credentials.static):
        if not roles.approves(credential.role):
            problems.add(f"{path}.static[{index}].role", "is not one of signature.approved_roles")
    for index in _repeats([credential.access_key_id for credential in credentials.static]):
        problems.add(f"{path}.static[{index}].access_key_id", "is given more than once")
    proxy = credentials.trusted_proxy
    if proxy is None:
        return
    if proxy.secret is None and not proxy.networks:
        problems.add(f"{path}.trusted_proxy", "needs a secret, networks, or both")
    if proxy.caller_header.lower() == proxy.secret_header.lower():
        problems.add(f"{path}.trusted_proxy.secret_header", "is the same as caller_header")
    for index, network in enumerate(proxy.networks):
        try:
            ip_network(network)
        except ValueError:
            problems.add(f"{path}.trusted_proxy.networks[{index}]", "expected a network like 10.0.0.0/8")


def _check_limits(settings: Settings, problems: Problems) -> None:
    limits = settings.limits
    if limits.min_ttl_seconds > limits.max_ttl_seconds:
        problems.add("limits.max_ttl_seconds", "is less than min_ttl_seconds")
    default = limits.default_ttl_seconds
    if default is not None and not limits.min_ttl_seconds <= default <= limits.max_ttl_seconds:
        problems.add("limits.default_ttl_seconds", "is not between min_ttl_seconds and max_ttl_seconds")


def _check_stores(settings: Settings, problems: Problems) -> None:
    for section, store in (("store", settings.store), ("counters", settings.counters)):
        if store is not None:
            for key, text in store.mistakes():
                problems.add(f"{section}.{key}", text)


def _is_tracing_installed() -> bool:
    try:
        return all(find_spec(module) is not None for module in _TRACING_MODULES)
    except ModuleNotFoundError:  # a package above it
        return False


def _check_apps(apps: list[DeclaredAppSettings], default_max_tables: int, problems: Problems) -> None:
    for index in _repeats([(app.org, app.app, app.env) for app in apps]):
        problems.add(f"apps[{index}]", "is declared more than once")
    digests: list[tuple[str, str]] = []
    for app_index, app in enumerate(apps):
        path = f"apps[{app_index}].tables"
        if len(app.tables) > (default_max_tables if app.max_tables is None else app.max_tables):
            problems.add(path, "has more tables than max_tables")
        for index in _repeats([table.name.upper() for table in app.tables]):
            problems.add(f"{path}[{index}].name", "is, in upper case, the name of another table of the app")
        for index, table in enumerate(app.tables):
            digests += _check_token(table, f"{path}[{index}]", problems)
    for index in _repeats([digest for _, digest in digests]):
        problems.add(digests[index][0], "is the token of another table")


def _check_token(table: DeclaredTable, path: str, problems: Problems) -> list[tuple[str, str]]:
    if (table.token is None) == (table.token_sha256 is None):
        problems.add(path, "needs either token or token_sha256")
        return []
    if table.token_sha256 is not None:
        return [(f"{path}.token_sha256", table.token_sha256)]
    token = (table.token or "").encode()
    if token.startswith(PREFIX) and not is_well_formed(token):
        problems.add(f"{path}.token", "begins with kvs_ but is not a token that this gateway issues")
    if not BEARER_TOKEN.fullmatch(token):
        problems.add(f"{path}.token", "holds a character that a header cannot carry")
    return [(f"{path}.token", sha256(token).hexdigest())]


def _repeats(values: list[object] | list[str] | list[tuple[str, str, str]]) -> list[int]:
    counts = Counter(values)
    return [index for index, value in enumerate(values) if counts[value] > 1]
