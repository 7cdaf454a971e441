"""What is measured of a region of 100,000 apps, one section after the other; each can be run alone."""

from collections.abc import Callable
from pathlib import Path

from benchmarks import region_report as report
from benchmarks.changes import measure_changes
from benchmarks.figures import (
    CHANGES,
    DECLARED,
    DYNAMODB,
    HOLDS,
    MONTH,
    RECLAIMING,
    REDIS,
    SCRAPES,
    TENANCY,
    Month,
    Operated,
    Reclaiming,
    Scrapes,
    Window,
)
from benchmarks.plan import Plan
from benchmarks.programs import program_output
from benchmarks.redis import running_redis
from benchmarks.results import Found
from benchmarks.store_load import measure_dynamodb, measure_redis
from benchmarks.tenancy import measure_declared, measure_tenancy

_PATIENCE_SECONDS = 900.0
_MONTH_SECONDS = 1800.0

ONLY_BY_NAME = (MONTH,)
"""Too long for every run."""


class RegionBench:
    """One run."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        self._plan = plan
        self._folder = folder

    def sections(self) -> dict[str, Callable[[], Found]]:
        """By heading, in the order they are measured in."""
        return {
            CHANGES: self.changes,
            REDIS: self.redis,
            DYNAMODB: self.dynamodb,
            TENANCY: self.tenancy,
            DECLARED: self.declared,
            SCRAPES: self.scrapes,
            HOLDS: self.holds,
            RECLAIMING: self.reclaiming,
            MONTH: self.month,
        }

    def changes(self) -> Found:
        """When they are in force on another replica."""
        measured = measure_changes(self._folder, self._plan)
        return Found(report.changes(measured), measured)

    def redis(self) -> Found:
        """Commands at rest and per request."""
        measured = measure_redis(self._folder, self._plan)
        return Found(report.redis(measured), measured)

    def dynamodb(self) -> Found:
        """Requests and units at rest and per request."""
        measured = measure_dynamodb(self._folder, self._plan)
        return Found(report.dynamodb(measured), measured)

    def tenancy(self) -> Found:
        """Whether a request costs more among many tenants."""
        measured = measure_tenancy(self._folder, self._plan)
        return Found(report.tenancy(measured), measured)

    def declared(self) -> Found:
        """Start-up with many apps in the file."""
        measured = measure_declared(self._folder, self._plan)
        return Found(report.declared(measured), measured)

    def scrapes(self) -> Found:
        """What metering costs."""
        amounts = [self._plan.region_apps, self._plan.active_tables]
        measured = program_output("benchmarks.scrapes", amounts, Scrapes, _PATIENCE_SECONDS)
        return Found(report.scrapes(measured), measured)

    def holds(self) -> Found:
        """What lists, scrapes, reloads and purges keep the event loop from."""
        plan = self._plan
        with running_redis() as redis_port:
            amounts = [plan.region_apps, plan.reloaded_apps, plan.active_tables, plan.held_keys, redis_port]
            measured = program_output("benchmarks.holds", amounts, dict[str, Operated], _PATIENCE_SECONDS)
        return Found(report.holds(measured), measured)

    def reclaiming(self) -> Found:
        """How late calls are beside a walk."""
        amounts = [self._plan.foreign_keys, self._plan.reclaiming_pairs]
        windows = program_output("lab.reclaiming", amounts, list[Window], _PATIENCE_SECONDS, is_pinned=False)
        measured = Reclaiming(self._plan.foreign_keys, windows)
        return Found(report.reclaiming(measured), measured)

    def month(self) -> Found:
        """What `kvs-gateway usage` needs for it."""
        month = program_output("lab.billing.month", [], Month, _MONTH_SECONDS, is_pinned=False)
        return Found(report.month(month), month)
