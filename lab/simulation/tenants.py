"""Tenants of a simulated region: managed apps, all tokens ever issued, and declared apps."""

import functools
import random
from dataclasses import dataclass, field
from hashlib import sha256

import yaml

from gateway.config.loading import parse
from gateway.config.settings import Settings
from gateway.directory.records import AppRecord, TableRecord, TokenRecord, app_name, encode, token_name
from gateway.directory.tokens import _ALPHABET, _checksum
from gateway.domain.model import Environment
from tests.support.config import BASE, merged

CACHE_SECONDS = 6.0
STALE_SECONDS = (3.0, 9.0)
"""Replicas differ in this setting."""

LAST_PURGE_SECONDS = CACHE_SECONDS + max(STALE_SECONDS) + 30.0


@dataclass(frozen=True)
class Issued:
    """A token and the time of its issue. `is_declared`: by the configuration file."""

    environment: Environment
    token: str
    at: float = 0.0
    is_declared: bool = False
    sha256: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sha256", sha256(self.token.encode()).hexdigest())


def app(number: int) -> Environment:
    """Returns an app of the region."""
    return Environment("acme", f"app-{number}", "production")


def declared_token(environment: Environment) -> Issued:
    """Returns the token of the app's declared table."""
    return Issued(environment, f"declared-token-of-{environment.app}", is_declared=True)


def is_declared_active(environment: Environment) -> bool:
    """Whether the app's declaration is active."""
    return int(environment.app.partition("-")[2]) % 2 == 0


@functools.cache
def settings(declared: frozenset[Environment], stale_seconds: float) -> Settings:
    """Returns the settings of a replica."""
    apps = [
        {
            "org": each.org,
            "app": each.app,
            "type": "api",
            "status": "active" if is_declared_active(each) else "inactive",
            "tables": [{"name": "table_0", "token": declared_token(each).token}],
        }
        for each in sorted(declared)
    ]
    changes = {
        "apps": apps,
        "rate_limit": {"requests_per_minute": 10_000},
        "directory": {"cache_ttl_seconds": CACHE_SECONDS, "stale_ttl_seconds": stale_seconds},
        "shutdown": {"drain_seconds": 1, "grace_seconds": 3},
    }
    return parse(yaml.safe_dump(merged(BASE, changes)), {})


def preloaded_token(number: int) -> str:
    """Returns the token of the table of an app that exists from the beginning."""
    dice = random.Random(number)
    body = "kvs_" + "".join(dice.choices(_ALPHABET, k=43))
    return body + _checksum(body.encode()).decode()


@functools.cache
def preloaded(apps: int) -> tuple[tuple[str, bytes], ...]:
    """Returns the records of a directory of that many apps, by name."""
    records: list[tuple[str, bytes]] = []
    for number in range(apps):
        token = Issued(app(number), preloaded_token(number))
        table = TableRecord(f"t2_{number:032x}", "table_0", token.sha256, token.token[-4:])
        record = AppRecord(app(number), "api", active=True, tables=(table,))
        records.append((app_name(app(number)), encode(record)))
        records.append((token_name(token.sha256), encode(TokenRecord(app(number)))))
    return tuple(sorted(records))
