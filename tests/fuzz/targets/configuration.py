"""Input of operators: the configuration file, and the URL of a Redis."""

from pathlib import Path
from urllib.parse import quote

from backends.redis.wire.url import InvalidUrl, Layout, RedisUrl, parse_url
from gateway.config.loading import parse
from gateway.config.problems import InvalidConfiguration, Problem
from gateway.config.settings import Settings

SECRET = "wx7-not-to-be-printed-wx7-not-to-be-printed"
ENVIRON = {"KVS_SECRET": SECRET}


def configuration(data: bytes) -> None:
    """A file: settings, or all its mistakes, without quoting a value of the environment."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return
    settings, problems = _judged(text)
    assert (settings is None) == bool(problems)
    assert SECRET not in repr(settings)
    assert not any(SECRET in problem.path + problem.problem for problem in problems)


def _judged(text: str) -> tuple[Settings | None, list[Problem]]:
    try:
        return parse(text, ENVIRON, _no_file), []
    except InvalidConfiguration as refusal:
        return None, refusal.problems


def redis_url(data: bytes) -> None:
    """A URL: refused, or parsed into parts that make an equivalent URL again."""
    try:
        url = parse_url(data.decode("utf-8", "surrogateescape"))
    except InvalidUrl:
        return
    assert all(0 < address.port < 65536 and address.host for address in url.addresses)
    assert url.layout is not Layout.CLUSTER or url.database == 0
    assert (url.layout is Layout.SENTINEL) == bool(url.master)
    assert parse_url(_written(url)) == url


def _written(url: RedisUrl) -> str:
    login = f"{quote(url.user, safe='')}:{quote(url.password, safe='')}@" if url.password else ""
    path = "/".join(part for part in ("", url.master, str(url.database)) if part)
    return f"redis{'s' * url.is_tls}{url.layout.value}://{login}{','.join(map(str, url.addresses))}/{path}"


def _no_file(file: Path) -> str:
    raise FileNotFoundError(file)
