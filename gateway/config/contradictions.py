"""Contradictions between keys: values that are valid alone and wrong together."""

from importlib.util import find_spec

from gateway.config.apps import check_apps
from gateway.config.callers import check_callers
from gateway.config.certificates import check_certificate
from gateway.config.dangers import check_dangers
from gateway.config.problems import Problems, repeats
from gateway.config.secret_roles import check_secret_roles
from gateway.config.settings import Settings
from gateway.config.workloads import check_keys, check_workloads
from gateway.domain.rules import BEARER_TOKEN, is_ambiguous_prefix

_TRACING_MODULES = (
    "opentelemetry.sdk.trace",
    "opentelemetry.exporter.otlp.proto.http.trace_exporter",
    "requests",
)
"""Modules that the extra `otel` installs."""


def find_contradictions(settings: Settings, problems: Problems) -> None:
    """Notes every contradiction."""
    _check_listeners(settings, problems)
    check_callers(settings, problems)
    check_workloads(settings, problems)
    check_dangers(settings, problems)
    _check_limits(settings, problems)
    _check_stores(settings, problems)
    if settings.tracing is not None and not _is_tracing_installed():
        problems.add("tracing", "needs pip install 'kvs-gateway[otel]'")
    if is_ambiguous_prefix(settings.runtime.variable_prefix):
        problems.add("runtime.variable_prefix", "contains _KVS_TOKEN, which names the tokens of tables")
    check_apps(settings, problems)
    check_secret_roles(settings, problems)


def _check_listeners(settings: Settings, problems: Problems) -> None:
    listen = settings.listen
    taken: set[tuple[str, int]] = set()
    for name, listener in listen.named.items():
        address = (listener.host, listener.port)
        if listener.port and address in taken:
            problems.add(f"listen.{name}.port", "is the port of another listener")
        taken.add(address)
    for name, tls in listen.tls.items():
        check_certificate(tls, f"listen.{name}.tls", problems)
    _check_bearers(settings, problems)
    _check_issuers(settings, problems)


def _check_bearers(settings: Settings, problems: Problems) -> None:
    """Requires distinct names, so that the audit log identifies the bearer."""
    names: set[str] = set()
    for index, bearer in enumerate(settings.control.bearers):
        path = f"control.tokens[{index}]"
        if not BEARER_TOKEN.fullmatch(bearer.token.encode()):
            problems.add(path, "contains a character that a header cannot carry")
        if bearer.name in names:
            problems.add(path, "has the name of another token")
        names.add(bearer.name)


def _check_issuers(settings: Settings, problems: Problems) -> None:
    issuers = settings.control.oidc
    for index in repeats([each.issuer for each in issuers]):
        problems.add(f"control.oidc[{index}].issuer", "is given more than once")
    for index, each in enumerate(issuers):
        check_keys(each.jwks, f"control.oidc[{index}].jwks", problems)


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
            of_files = store.mistakes_of_files() if problems.with_files else ()
            for key, text in (*store.mistakes(), *of_files):
                problems.add(f"{section}.{key}", text)


def _is_tracing_installed() -> bool:
    try:
        return all(find_spec(module) is not None for module in _TRACING_MODULES)
    except ModuleNotFoundError:  # the package that would contain it is missing
        return False
