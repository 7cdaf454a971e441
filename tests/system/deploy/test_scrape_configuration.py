"""Prometheus without the operator gives targets the same labels as the PodMonitor."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
import yaml

from tests.support.prometheus import PrometheusServer
from tests.support.servers import wait_for
from tests.system.deploy.monitoring import COMPONENT, spec_of
from tests.system.deploy.test_rules import promtool

PLAIN = yaml.safe_load((COMPONENT / "scrape.yaml").read_text())["scrape_configs"]
GATEWAY = {"app.kubernetes.io/name": "kvs-gateway", "app.kubernetes.io/component": "edge"}
PODS = {
    "kvs-gateway-a": ("127.0.0.11", GATEWAY, "Running", "true"),
    "draining": ("127.0.0.12", GATEWAY, "Running", "false"),
    "ended": ("127.0.0.13", GATEWAY, "Succeeded", "false"),
    "other": ("127.0.0.14", {"app.kubernetes.io/name": "blog"}, "Running", "true"),
    "unlabelled": ("127.0.0.15", {}, "Running", "true"),
}
"""Address, labels, phase and readiness."""
PORTS = {"data": 8080, "ops": 9090, "control": 8081}


def discovered() -> list[dict[str, Any]]:
    """Returns the targets that role `pod` discovers: one per container port, with the documented labels."""
    return [
        {
            "targets": [f"{address}:{number}"],
            "labels": {
                "__meta_kubernetes_namespace": "kvs-gateway",
                "__meta_kubernetes_pod_name": name,
                "__meta_kubernetes_pod_ip": address,
                "__meta_kubernetes_pod_phase": phase,
                "__meta_kubernetes_pod_ready": is_ready,
                "__meta_kubernetes_pod_container_name": "gateway",
                "__meta_kubernetes_pod_container_port_name": port,
                "__meta_kubernetes_pod_container_port_number": str(number),
                **{f"__meta_kubernetes_pod_label_{meta(key)}": value for key, value in labels.items()},
                **{f"__meta_kubernetes_pod_labelpresent_{meta(key)}": "true" for key in labels},
            },
        }
        for name, (address, labels, phase, is_ready) in PODS.items()
        for port, number in PORTS.items()
    ]


def made_by_the_operator() -> list[dict[str, Any]]:
    """Returns the jobs that version 0.85 of the operator generates for the PodMonitor."""
    spec = spec_of("podmonitor.yaml")
    label = f"__meta_kubernetes_pod_label_{meta(spec['jobLabel'])}"
    ((name, value),) = spec["selector"]["matchLabels"].items()
    selected = [f"__meta_kubernetes_pod_label{kind}_{meta(name)}" for kind in ("", "present")]
    return [
        {
            "job_name": f"podMonitor/kvs-gateway/kvs-gateway/{number}",
            "metrics_path": endpoint["path"],
            "scrape_interval": endpoint["interval"],
            "scrape_timeout": endpoint["scrapeTimeout"],
            "kubernetes_sd_configs": [{"role": "pod", "namespaces": {"names": ["kvs-gateway"]}}],
            "relabel_configs": [
                {"source_labels": ["job"], "target_label": "__tmp_prometheus_job_name"},
                dropped("__meta_kubernetes_pod_phase", "(Failed|Succeeded)"),
                {"action": "keep", "source_labels": selected, "regex": f"({value});true"},
                kept("__meta_kubernetes_pod_container_port_name", endpoint["port"]),
                {"source_labels": ["__meta_kubernetes_namespace"], "target_label": "namespace"},
                {"source_labels": ["__meta_kubernetes_pod_container_name"], "target_label": "container"},
                {"source_labels": ["__meta_kubernetes_pod_name"], "target_label": "pod"},
                {"target_label": "job", "replacement": "kvs-gateway/kvs-gateway"},
                {"source_labels": [label], "target_label": "job", "regex": "(.+)", "replacement": "${1}"},
                {"target_label": "endpoint", "replacement": endpoint["port"]},
                *(
                    {"target_label": each["targetLabel"], "replacement": each["replacement"]}
                    for each in endpoint["relabelings"]
                ),
            ],
        }
        for number, endpoint in enumerate(spec["podMetricsEndpoints"])
    ]


def meta(label: str) -> str:
    """Returns a label name as Prometheus spells it inside another label name."""
    return "".join(character if character.isalnum() else "_" for character in label)


def kept(label: str, regex: str) -> dict[str, Any]:
    return {"action": "keep", "source_labels": [label], "regex": regex}


def dropped(label: str, regex: str) -> dict[str, Any]:
    return {"action": "drop", "source_labels": [label], "regex": regex}


def found_in(file: Path, jobs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Replaces service discovery by a file: Debian's Prometheus has no support for Kubernetes."""
    file.write_text(json.dumps(discovered()))
    found = {"file_sd_configs": [{"files": [str(file)]}]}
    return [{**{key: job[key] for key in job if key != "kubernetes_sd_configs"}, **found} for job in jobs]


class PodsPrometheus(PrometheusServer):
    """Runs jobs that find pods."""

    def __init__(self, jobs: list[dict[str, Any]]) -> None:
        self._scrapes = jobs
        super().__init__()

    def targets(self) -> list[dict[str, Any]]:
        with urlopen(f"{self.url}/api/v1/targets?state=active", timeout=10) as answer:
            return json.load(answer)["data"]["activeTargets"]

    def _configuration(self, jobs: Mapping[str, str], interval: str) -> dict[str, Any]:
        own = super()._configuration(jobs, interval)["scrape_configs"]
        return {"scrape_configs": [*own, *found_in(self.directory / "pods.json", self._scrapes)]}


@pytest.fixture(scope="module")
def targets():
    """Returns scraped targets by source: addresses with paths, and labels."""
    with PodsPrometheus([*PLAIN, *made_by_the_operator()]) as prometheus:
        wait_for(lambda: len(prometheus.targets()) >= 8, "targets are not found")
        found = prometheus.targets()
    plain = {job["job_name"] for job in PLAIN}
    return {
        side: sorted(
            (target["scrapeUrl"], tuple(sorted(target["labels"].items())))
            for target in found
            if (target["scrapePool"] in plain) is (side == "plain")
        )
        for side in ("plain", "operator")
    }


def test_promtool_accepts_the_configuration(tmp_path):
    file = tmp_path / "prometheus.yml"
    jobs = found_in(tmp_path / "pods.json", PLAIN)
    file.write_text(yaml.safe_dump({"scrape_configs": jobs}))
    promtool("check", "config", file)


def test_pods_are_found_as_the_operator_finds_them():
    found = [job["kubernetes_sd_configs"] for job in PLAIN]
    assert found == [job["kubernetes_sd_configs"] for job in made_by_the_operator()]


def test_targets_and_labels_equal_those_of_the_operator(targets):
    assert targets["plain"] == targets["operator"]


def test_pods_are_scraped_until_they_are_gone(targets):
    assert {url for url, _ in targets["plain"]} == {
        f"http://{address}:9090/metrics/{part}"
        for address in ("127.0.0.11", "127.0.0.12")
        for part in ("service", "usage")
    }


def test_a_target_has_the_labels_that_rules_dashboards_and_bills_use(targets):
    assert dict(targets["plain"][0][1]) == {
        "container": "gateway",
        "endpoint": "service",
        "instance": "127.0.0.11:9090",
        "job": "kvs-gateway",
        "namespace": "kvs-gateway",
        "pod": "kvs-gateway-a",
    }


def test_paths_intervals_and_timeouts_equal_those_of_the_pod_monitor():
    keys = ("metrics_path", "scrape_interval", "scrape_timeout")
    plain = [[job[key] for key in keys] for job in PLAIN]
    assert plain == [[job[key] for key in keys] for job in made_by_the_operator()]
