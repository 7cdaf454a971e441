"""A gateway on Redis with all kinds of calls; a real Prometheus scrapes it as the component configures."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

import yaml

from tests.identity.issuer import trusted_from
from tests.support.config import BASE, CONTROL_TOKEN, OTHER_TABLE_TOKEN, TABLE_TOKEN, merged
from tests.support.load import client_of
from tests.support.process import GatewayProcess
from tests.support.prometheus import PrometheusServer
from tests.support.redis import RedisServer
from tests.support.repository import ROOT
from tests.system.deploy.monitoring import rule_groups, spec_of

POD = {"namespace": "kvs", "pod": "kvs-gateway-0", "container": "gateway"}
LIMITED = [
    {"name": "sessions", "token": TABLE_TOKEN},
    {"name": "carts", "token": OTHER_TABLE_TOKEN, "minute_limit": 2},
]
FULL_TOKEN = "a-token-of-an-app-without-room"
FULL = {"name": "t", "token": FULL_TOKEN}
APPS = [
    {"org": "acme", "app": "shop", "type": "api", "tables": LIMITED},
    {"org": "acme", "app": "full", "type": "api", "max_bytes": 1, "tables": [FULL]},
]
NO_LIMIT, NO_ROOM = "0", "1"
METERING = {"first_sample_seconds": 3}  # scrapes are a second apart


class MonitoringPrometheus(PrometheusServer):
    """Scrapes the paths of the PodMonitor, with the target labels that the operator would set."""

    def __init__(self, folder: Path) -> None:
        groups = [{**group, "interval": "1s"} for group in rule_groups()]
        file = folder / "rules.yaml"
        file.write_text(yaml.safe_dump({"groups": groups}))
        endpoints = spec_of("podmonitor.yaml")["podMetricsEndpoints"]
        super().__init__({each["path"]: each["path"] for each in endpoints}, rule_files=[str(file)])

    def ask(self, path: str, **parameters: str) -> Any:
        """Returns data from Prometheus' HTTP API."""
        with urlopen(f"{self.url}/api/v1/{path}?{urlencode(parameters)}", timeout=10) as answer:
            return json.load(answer)["data"]

    def labels_by_metric(self) -> dict[str, set[str]]:
        """Returns the label names of all scraped and recorded metrics."""
        found: dict[str, set[str]] = {}
        for series in self.ask("series", **{"match[]": '{__name__=~".+"}'}):
            found.setdefault(series["__name__"], set()).update(series.keys() - {"__name__"})
        return found

    def rules(self) -> list[dict[str, Any]]:
        """Returns every rule with the result of its last evaluation."""
        return [rule for group in self.ask("rules")["groups"] for rule in group["rules"]]

    def _configuration(self, jobs: Mapping[str, str], interval: str) -> dict[str, Any]:
        configuration = super()._configuration(jobs, interval)
        endpoints = {each["path"]: each for each in spec_of("podmonitor.yaml")["podMetricsEndpoints"]}
        for scrape in configuration["scrape_configs"]:
            relabelings = endpoints[scrape["metrics_path"]]["relabelings"]
            scrape["relabel_configs"] = [
                *({"target_label": name, "replacement": value} for name, value in POD.items()),
                {"target_label": "job", "replacement": "kvs-gateway"},
                *(
                    {"target_label": each["targetLabel"], "replacement": each["replacement"]}
                    for each in relabelings
                ),
            ]
        return configuration


@dataclass(frozen=True)
class Scene:
    """Redis, gateway and Prometheus."""

    redis: RedisServer
    gateway: GatewayProcess
    prometheus: MonitoringPrometheus

    async def call_in_every_way(self) -> None:
        """Makes calls with all outcomes and most codes."""
        async with client_of(self.gateway) as gateway:
            await gateway.put("k", "value")
            await gateway.get("k")
            await gateway.get("missing")
            await gateway.delete("k")
            await gateway.put("", "value")
            await gateway.put("k", "too long", token=FULL_TOKEN)
            await gateway.get("k", token="kvs_unknown")
            await gateway.get("k", signer=None)
            await gateway.send_raw(b"no HTTP\r\n\r\n")
            for _ in range(4):
                await gateway.get("k", token=OTHER_TABLE_TOKEN)
            await asyncio.to_thread(self.redis.command, "CONFIG", "SET", "maxmemory", NO_ROOM)
            await gateway.put("k", "there is no room")
            await asyncio.to_thread(self.redis.command, "CONFIG", "SET", "maxmemory", NO_LIMIT)

    def commands_in(self, folder: Path) -> dict[str, str]:
        """Returns the environment of a shell that finds `kvs-gateway` in `folder`."""
        program = folder / "kvs-gateway"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -m gateway "$@"\n')
        program.chmod(0o755)
        return {
            "PATH": f"{folder}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "KVS_CONTROL_URL": self.gateway.urls["control"],
            "KVS_CONTROL_TOKEN": CONTROL_TOKEN,
            "PROMETHEUS": self.prometheus.url,
            "SINCE": (datetime.now(UTC) - timedelta(hours=1)).isoformat(),
        }

    def charged(self) -> int:
        """Returns the number of requests that the gateway has counted for tenants."""
        with urlopen(f"{self.gateway.urls['ops']}/metrics/usage", timeout=10) as answer:
            lines = answer.read().decode().splitlines()
        return sum(int(line.split()[-1]) for line in lines if line.startswith("kvs_usage_requests_total{"))

    def bill(self) -> Any:
        """Returns the output of `kvs-gateway usage` for the last hour."""
        to = datetime.now(UTC)
        since = to - timedelta(hours=1)
        period = ["--from", since.isoformat(), "--to", to.isoformat()]
        command = [sys.executable, "-m", "gateway", "usage", "--prometheus", self.prometheus.url, *period]
        return json.loads(subprocess.check_output(command, timeout=30))


@contextmanager
def scene_in(folder: Path) -> Iterator[Scene]:
    """Starts all processes and waits for the first scrape."""
    with RedisServer() as redis:
        changes = {"store": {"kind": "redis", "url": redis.url}, "apps": APPS, "metering": METERING}
        changes["control"] = {"oidc": [trusted_from(folder)]}
        config = merged(BASE, changes)
        with GatewayProcess(config, folder) as gateway, MonitoringPrometheus(folder) as prometheus:
            prometheus.scrape(gateway.urls["ops"])
            prometheus.wait_until(gateway.urls["ops"], up=True)
            yield Scene(redis, gateway, prometheus)


def without_data(scene: Scene, expressions: set[str]) -> set[str]:
    """Returns the expressions without data."""
    return {expression for expression in expressions if not _found(scene.prometheus, expression)}


def _found(prometheus: PrometheusServer, expression: str) -> bool:
    samples = prometheus.query(expression)
    return any(sample["value"][1] != "NaN" for sample in samples)
