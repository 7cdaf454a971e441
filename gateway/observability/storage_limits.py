"""Refusals by storage limits, by app environment."""

from collections import Counter

from gateway.domain.model import TenantLabels
from gateway.observability.catalogue import OVERFLOW_TENANT

_MOST_APPS = 10_000
_OTHER = (OVERFLOW_TENANT, OVERFLOW_TENANT, OVERFLOW_TENANT)


class StorageLimitRefusals:
    """Counts refusals. Those of further apps than `most_apps` count under `_other`."""

    def __init__(self, most_apps: int = _MOST_APPS) -> None:
        self._most_apps = most_apps
        self._refusals: Counter[tuple[str, ...]] = Counter()

    def count(self, labels: TenantLabels) -> None:
        """Counts one refused write."""
        app = (labels.org, labels.app, labels.env)
        if app not in self._refusals and len(self._refusals) >= self._most_apps:
            app = _OTHER
        self._refusals[app] += 1

    def by_app(self) -> dict[tuple[str, ...], float]:
        """Returns the refusals by organization, app and environment."""
        return dict(self._refusals)
