"""The history of the store: the status of each token over time, by the app documents."""

import json
from collections import defaultdict
from dataclasses import dataclass
from enum import Enum

from gateway.domain.model import Environment
from lab.simulation.records import StoreRecords
from lab.simulation.tenants import Issued

ALWAYS = float("-inf")


class Status(Enum):
    """Status of a token."""

    VOID = "void"
    INACTIVE = "inactive"
    ACTIVE = "active"
    UNREADABLE = "unreadable"


@dataclass(frozen=True)
class Version:
    """A version of an app's document, from `at` on: status and table by the digest of a token.

    Tokens in `retiring` may have ended. An unreadable version keeps the content of the one before.
    """

    at: float
    statuses: dict[str, Status]
    tables: dict[str, str]
    retiring: frozenset[str] = frozenset()
    is_readable: bool = True
    is_there: bool = True

    def of(self, sha256: str) -> set[Status]:
        found = {self.statuses.get(sha256, Status.VOID)}
        found |= {Status.VOID} if sha256 in self.retiring else set()
        return found if self.is_readable else found | {Status.UNREADABLE}


class Ledger:
    """Follows the swaps of the store."""

    def __init__(self, records: StoreRecords) -> None:
        self._records = records
        self._read = 0
        self._versions: dict[str, list[Version]] = defaultdict(list)
        self._corrupt_pointers: set[str] = set()

    def versions(self, environment: Environment) -> list[Version]:
        """Returns all versions of an app so far."""
        for swap in self._records.swaps[self._read :]:
            if swap.name.startswith("app/"):
                self._add(swap.name, swap.at, swap.document)
            elif swap.name.startswith("token/") and swap.cause == "corruption":
                self._corrupt_pointers.add(swap.name.removeprefix("token/"))
        self._read = len(self._records.swaps)
        return self._of(f"app/{environment}")

    def between(self, environment: Environment, since: float, until: float) -> list[Version]:
        """Returns the versions that existed during that time, without one that ended at its begin."""
        versions = self.versions(environment)
        ends = [*(version.at for version in versions[1:]), float("inf")]
        return [each for each, end in zip(versions, ends, strict=True) if each.at <= until and end > since]

    def statuses(self, token: Issued, since: float, until: float) -> set[Status]:
        """Returns the statuses of a managed token during that time."""
        versions = self.between(token.environment, since, until)
        found = {Status.UNREADABLE} if token.sha256 in self._corrupt_pointers else set()
        return found.union(*(version.of(token.sha256) for version in versions))

    def table_of(self, token: Issued) -> str | None:
        """Returns the id of the token's table, which never changes."""
        versions = reversed(self.versions(token.environment))
        return next((each.tables[token.sha256] for each in versions if token.sha256 in each.tables), None)

    def living_tables(self) -> set[str]:
        """Returns the ids of the tables that apps have now, by their last readable documents."""
        return {table for versions in self._versions.values() for table in versions[-1].tables.values()}

    def _of(self, name: str) -> list[Version]:
        if name not in self._versions:
            self._versions[name].append(_version(ALWAYS, name, self._records.preloaded.get(name), None))
        return self._versions[name]

    def _add(self, name: str, at: float, document: bytes | None) -> None:
        versions = self._of(name)
        versions.append(_version(at, name, document, versions[-1]))


def _version(at: float, name: str, document: bytes | None, before: Version | None) -> Version:
    if document is None:
        return Version(at, {}, {}, is_there=False)
    try:
        app = json.loads(document)
        is_its_own = "app/" + "/".join(app["environment"].values()) == name
    except (ValueError, KeyError, TypeError, AttributeError):
        is_its_own = False
    if not is_its_own:
        known = before or Version(at, {}, {})
        return Version(at, known.statuses, known.tables, known.retiring, is_readable=False)
    status = Status.ACTIVE if app["active"] else Status.INACTIVE
    statuses, tables, retiring = {}, {}, set()
    for table in app["tables"]:
        older = {token["sha256"] for token in table.get("retiring", ())}
        retiring |= older
        for sha256 in (table["token_sha256"], *older):
            statuses[sha256], tables[sha256] = status, table["id"]
    return Version(at, statuses, tables, frozenset(retiring))
