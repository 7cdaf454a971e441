"""How much is measured: all of it, or with BENCH_QUICK=1 as little as shows that it works."""

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
    """Nor does anything else."""
    stage_calls: int = 20_000
    call_rounds: int = 3
    idle_connections: int = 2000
    requests: int = 1_000_000
    requests_seconds: float = 90.0
    """A machine that is slower than that serves fewer."""
    starts: int = 5
    region_apps: int = 100_000
    changes: int = 60
    resting_apps: tuple[int, ...] = (1, 10_000, 100_000)
    rest_seconds: float = 10.0
    """How long a replica is watched that has nothing to serve."""
    dynamodb_apps: int = 100
    """An emulator is slow."""
    tenancy_rounds: int = 6
    tenants_at_once: int = 10_000
    growth_rounds: int = 12
    active_tables: int = 10_000
    declared_apps: int = 100_000
    reloaded_apps: int = 10_000
    held_keys: int = 200_000
    foreign_keys: int = int(os.environ.get("BENCH_FOREIGN_KEYS", "1000000"))
    """Beside which deleted tables are reclaimed; 10 million take 1.2 GiB."""
    reclaiming_pairs: int = int(os.environ.get("BENCH_RECLAIMING_PAIRS", "4"))


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
    region_apps=1000,
    changes=6,
    resting_apps=(1, 100),
    rest_seconds=1.0,
    dynamodb_apps=20,
    tenancy_rounds=1,
    tenants_at_once=500,
    growth_rounds=1,
    active_tables=100,
    declared_apps=100,
    reloaded_apps=100,
    held_keys=10_000,
    foreign_keys=50_000,
    reclaiming_pairs=1,
)


def chosen_plan() -> Plan:
    """What the environment asks for."""
    return QUICK if os.environ.get("BENCH_QUICK") else FULL
