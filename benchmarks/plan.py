"""Amounts of a measurement: all, or with BENCH_QUICK=1 only enough to show that it works."""

import os
from pathlib import Path

from msgspec import Struct


class Plan(Struct, frozen=True):
    """Amounts, and where the results go."""

    results: Path
    rounds: int = 4
    closed_seconds: float = 2.0
    steady_seconds: float = 4.0
    rates: tuple[int, ...] = (1000, 5000)
    whole: bool = True
    servers_seconds: float = 540.0
    """No round begins later than this."""
    limit_seconds: float = 1140.0
    """No section begins later than this."""
    stage_calls: int = 20_000
    call_rounds: int = 3
    idle_connections: int = 2000
    requests: int = 1_000_000
    requests_seconds: float = 90.0
    """A machine that is slower than that serves fewer."""
    starts: int = 5
    fairness_seconds: float = 2.0
    fairness_rounds: int = 1


FULL = Plan(results=Path(__file__).with_name("results"))
QUICK = Plan(
    results=Path("build/bench"),
    rounds=1,
    closed_seconds=0.5,
    steady_seconds=0.5,
    rates=(1000,),
    whole=False,
    stage_calls=1000,
    call_rounds=1,
    idle_connections=200,
    requests=10_000,
    starts=1,
    fairness_seconds=0.5,
)


def chosen_plan() -> Plan:
    """Returns the plan that the environment selects."""
    return QUICK if os.environ.get("BENCH_QUICK") else FULL
