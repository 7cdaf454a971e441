"""Regions that lived in no time: a gateway's own counters on our clock, and all that Prometheus scraped.

What servers scraped becomes their storage through promtool.
"""

import asyncio
import random
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from gateway.domain.model import Operation, TenantLabels, UsageOutcome
from gateway.observability.series import METRICS
from gateway.observability.usage import Usage
from tests.support.clock import FakeClock
from tests.support.prometheus import PrometheusServer, program_or_skip

DAY_MS, HOUR_MS, MINUTE_MS = 86_400_000, 3_600_000, 60_000
FIRST_SAMPLE_MS = 60_000
_DOWN_MS = 5_000


@dataclass(frozen=True, order=True)
class Call:
    """A call of a table (by its number), served by a replica."""

    at_ms: int
    replica: int
    table: int


@dataclass(frozen=True)
class Server:
    """A Prometheus: its first scrape is so long after the start of the region."""

    name: str
    interval_ms: int
    offset_ms: int


class Replica:
    """One address, and the process that is there. Starts when the clock stands at its start."""

    def __init__(self, number: int, clock: FakeClock, idle_ms: int) -> None:
        self._instance = f'instance="10.0.0.{number}:9090",job="kvs"'
        self._clock = clock
        self._idle_ms = idle_ms
        self.restart()

    def restart(self) -> None:
        self._started_ms = self._clock.wall_ms()
        self._is_draining = False
        self.usage = Usage(
            max_series=1_000_000,
            idle_ms=self._idle_ms,
            first_sample_ms=FIRST_SAMPLE_MS,
            now_ms=self._clock.monotonic_ms,
            is_draining=lambda: self._is_draining,
        )

    def drain(self) -> None:
        self._is_draining = True

    def count(self, table: int) -> None:
        """A get of 10 and 20 bytes."""
        labels = TenantLabels("acme", f"app{table}", "production", "t")
        self.usage.count(labels, Operation.GET, UsageOutcome.OK, 10, 20)

    def scraped(self) -> str:
        """Current samples as OpenMetrics with timestamps."""
        rows = self.usage.rows()
        text = "".join(self.usage.text(rows, metric) for metric in METRICS)
        text = text.replace('"} ', f'",{self._instance}}} ')
        text += f"process_start_time_seconds{{{self._instance}}} {self._started_ms / 1000}\n"
        text += f'kvs_build_info{{version="0",{self._instance}}} 1\n'
        return text.replace("\n", f" {self._clock.wall_ms() / 1000:.3f}\n")


@dataclass
class Region:
    """Plays calls in the order of time; `answered` is what clients counted, by app."""

    folder: Path
    servers: Sequence[Server]
    start_ms: int
    replicas: int = 2
    idle_ms: int = HOUR_MS
    restarts: Sequence[tuple[int, int]] = ()
    """(time, replica): a clean restart, after a last scrape of every server."""
    answered: Counter[str] = field(default_factory=Counter)
    samples: int = 0

    def play(self, calls: Sequence[Call], length_ms: int) -> None:
        asyncio.run(self._play(sorted(calls), length_ms))

    async def _play(self, calls: Sequence[Call], length_ms: int) -> None:
        clock = FakeClock(self.start_ms)
        replicas = [Replica(number, clock, self.idle_ms) for number in range(self.replicas)]
        waiting = iter([*calls, Call(self.start_ms + length_ms + DAY_MS, 0, 0)])
        call = next(waiting)
        for at_ms, server, restarting in self._events(length_ms):
            while call.at_ms <= at_ms:
                clock.advance(call.at_ms - clock.wall_ms())
                replicas[call.replica].count(call.table)
                self.answered[f"app{call.table}"] += 1
                call = next(waiting)
            clock.advance(at_ms - clock.wall_ms())
            if restarting is not None:
                replicas[restarting].drain()
                for each in self.servers:
                    self._write(each, clock.wall_ms(), replicas[restarting].scraped())
                replicas[restarting].restart()
            elif server is not None:
                for replica in replicas:
                    self._write(server, clock.wall_ms(), replica.scraped())
                    await replica.usage.drop_idle()
        for file in self._files.values():
            file.write("# EOF\n")
            file.close()

    def _events(self, length_ms: int) -> list[tuple[int, Server | None, int | None]]:
        scrapes = [
            (at_ms, server, None)
            for server in self.servers
            for at_ms in range(
                self.start_ms + server.offset_ms, self.start_ms + length_ms, server.interval_ms
            )
        ]
        restarts = [(at_ms, None, replica) for at_ms, replica in self.restarts]
        return sorted([*scrapes, *restarts], key=lambda event: event[0])

    def __post_init__(self) -> None:
        self._files: dict[tuple[str, int], TextIO] = {}

    def _write(self, server: Server, at_ms: int, text: str) -> None:
        """One file for each day, as promtool reads all of a file for every two hours."""
        key = server.name, at_ms // DAY_MS
        if key not in self._files:
            self._files[key] = (self.folder / f"{server.name}-{key[1]}.om").open("w")
        self._files[key].write(text)
        self.samples += text.count("\n")

    @contextmanager
    def prometheus(self, server: Server) -> Iterator[PrometheusServer]:
        """The server as it stands after all that it scraped."""
        prometheus = PrometheusServer(flags=["--storage.tsdb.retention.time=10y"])
        for file in sorted(self.folder.glob(f"{server.name}-*.om")):
            command = [program_or_skip("promtool"), "tsdb", "create-blocks-from", "openmetrics", "-q", file]
            subprocess.run([*command, prometheus.directory / "data"], check=True, capture_output=True)
        with prometheus:
            yield prometheus


def any_calls(
    start_ms: int, length_ms: int, tables: int, *, often: int, quiet_until: Sequence[int] = ()
) -> list[Call]:
    """Calls of so many tables, at random by a fixed seed.

    Of the first `often` tables a third is called once an hour and two thirds in bursts; the others are called
    once. Bursts keep ten minutes away from what `quiet_until` names, the ends of processes: of a series that
    was read a few times only `increase()` extrapolates a large part, and it lacks what the last scrape shows
    first.
    """
    chance = random.Random(tables)
    calls = []
    for table in range(tables):
        at_ms = start_ms + chance.randrange(length_ms - 5 * MINUTE_MS)
        if table >= often:
            calls.append(Call(at_ms, chance.randrange(2), table))
        elif table % 3 == 0:
            first_ms = start_ms + chance.randrange(HOUR_MS)
            times = range(first_ms, start_ms + length_ms - 5 * MINUTE_MS, HOUR_MS)
            calls += [Call(each_ms, chance.randrange(2), table) for each_ms in times]
        elif all(not until_ms - 10 * MINUTE_MS < at_ms <= until_ms for until_ms in quiet_until):
            replica = chance.randrange(2)
            calls += [Call(at_ms + 100 * number, replica, table) for number in range(chance.randint(1, 8))]
    return calls
