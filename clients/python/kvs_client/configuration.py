"""The address, the region and the token of a table."""

import os
import re
import sys
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

from kvs_client.errors import ConfigurationError

_BROWSERS = ("emscripten", "wasi")
_VISIBLE = re.compile(r"[!-~]+")
_REGION = re.compile(r"[A-Za-z0-9-]+")
_PATH = re.compile(r"(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*/?")
"""A path that equals its canonical form in a signature."""
_DEFAULT_PORTS = {"http": 80, "https": 443}


_FORM_OF_URL = "http:// or https://, a host, and optionally a port and a path"


@dataclass(frozen=True)
class Configuration:
    """Three values that the platform sets. The repr hides token and address, which may have a password."""

    url: str = field(repr=False)
    region: str
    token: str = field(repr=False)

    def check(self, url: str = "url", region: str = "region", token: str = "token") -> None:  # noqa: S107 - a name
        """Refuses malformed values; errors name the variables or arguments that they come from."""
        for name, value in ((url, bool(self.url)), (region, bool(self.region)), (token, bool(self.token))):
            if not value:
                raise ConfigurationError("missing_variable", f"{name} is not set")
        if not _is_address(self.url):
            raise ConfigurationError("invalid_variable", f"{url}: expected {_FORM_OF_URL}")
        if not _REGION.fullmatch(self.region):
            raise ConfigurationError("invalid_variable", f"{region}: expected letters, digits and hyphens")
        if not _VISIBLE.fullmatch(self.token):
            raise ConfigurationError(
                "invalid_variable", f"{token}: expected visible ASCII characters without spaces"
            )

    @property
    def base(self) -> SplitResult:
        """The address without a trailing slash."""
        return urlsplit(self.url.rstrip("/"))

    @property
    def host(self) -> str:
        """The `Host` field as it is sent and signed."""
        parts = self.base
        name = parts.hostname or ""
        name = f"[{name}]" if ":" in name else name
        return name if parts.port in (None, _DEFAULT_PORTS[parts.scheme]) else f"{name}:{parts.port}"


def read_environment(table: str, variable_prefix: str) -> Configuration:
    """Reads the configuration of a table from three variables.

    No value is kept in a local variable, and errors are raised where there is none: tools that report errors
    show the local variables of every frame.
    """
    refuse_browsers()
    if not re.fullmatch(r"[A-Za-z0-9_]{1,32}", table):
        raise ConfigurationError("invalid_option", "table: expected 1 to 32 letters, digits and underscores")
    names = [f"{variable_prefix}_KVS_{part}" for part in ("URL", "REGION", f"TOKEN_{table.upper()}")]
    configuration = Configuration(*(os.environ.get(name, "") for name in names))
    configuration.check(*names)
    return configuration


def refuse_browsers() -> None:
    """Refuses to run in a browser: a token that reaches one is no longer secret."""
    if sys.platform in _BROWSERS:
        raise ConfigurationError(
            "browser", "backend apps only: a token that reaches a browser would expose the table's entries"
        )


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return bool(
            _VISIBLE.fullmatch(url)
            and parts.scheme in _DEFAULT_PORTS
            and parts.hostname
            and parts.port != 0
            and "@" not in parts.netloc
            and not parts.query
            and not parts.fragment
            and _PATH.fullmatch(parts.path)
        )
    except ValueError:
        return False
