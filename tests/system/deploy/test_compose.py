"""deploy/compose: configuration of each service; Prometheus and gateway run with the same files."""

import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
import yaml

from gateway.config.loading import load
from tests.support.config import merged
from tests.support.load import client_of
from tests.support.process import GatewayProcess
from tests.support.prometheus import PrometheusServer
from tests.support.redis import RedisServer
from tests.support.repository import ROOT
from tests.support.schemas import compose_faults_of
from tests.support.servers import wait_for
from tests.support.signing import Signer
from tests.system.deploy.installations import DEPLOY
from tests.system.deploy.monitoring import DASHBOARDS, rules, spec_of
from tests.system.deploy.test_configurations import check

FOLDER = DEPLOY / "compose"
COMPOSE = yaml.safe_load((FOLDER / "compose.yaml").read_text())
SERVICES = COMPOSE["services"]
PROMETHEUS = yaml.safe_load((FOLDER / "prometheus.yml").read_text())


def mounts(service: str) -> dict[str, str]:
    """Returns the sources of a container's mounts by path; volumes by name."""
    return {place: source for source, place in (each.split(":")[:2] for each in SERVICES[service]["volumes"])}


def test_the_file_fits_the_schema_of_compose():
    assert compose_faults_of(COMPOSE) == []
    assert compose_faults_of(merged(COMPOSE, {"services": {"redis": {"imgae": "redis"}}}))


def test_every_port_is_published_only_on_loopback():
    published = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert len(published) == len({port.split(":")[1] for port in published}) == 5
    assert all(port.startswith("127.0.0.1:") for port in published)


@pytest.mark.parametrize("service", [name for name, each in SERVICES.items() if "volumes" in each])
def test_mounted_files_exist(service):
    for source in mounts(service).values():
        assert source in COMPOSE["volumes"] or (FOLDER / source).exists(), source


def test_third_party_images_are_pinned_to_a_version():
    images = {name: each["image"] for name, each in SERVICES.items() if "build" not in each}
    assert [image for image in images.values() if not re.search(r":v?\d+\.\d+\.\d+", image)] == []


def test_the_gateway_is_built_from_the_repository():
    assert (FOLDER / SERVICES["gateway"]["build"] / "Dockerfile").resolve() == ROOT / "Dockerfile"


def test_the_configuration_of_the_gateway_is_accepted():
    done = check(FOLDER / "config.yaml")
    assert (done.returncode, done.stderr) == (0, "")


def test_credentials_are_those_of_the_example():
    here, example = (load(file, {}) for file in (FOLDER / "config.yaml", ROOT / "config.example.yaml"))
    assert here.signature.credentials == example.signature.credentials
    assert here.control.tokens == example.control.tokens
    assert here.apps == example.apps
    assert (here.region, here.public_url) == (example.region, example.public_url)


def test_limits_are_those_of_a_pod():
    config = yaml.safe_load((FOLDER / "config.yaml").read_text())
    overlay = yaml.safe_load((DEPLOY / "overlays/redis/config.yaml").read_text())
    assert config["edge"] == overlay["edge"]
    assert SERVICES["gateway"]["mem_limit"] == "256m"


def test_the_gateway_has_time_for_its_last_scrape():
    seconds = int(SERVICES["gateway"]["stop_grace_period"].removesuffix("s"))
    assert seconds > load(FOLDER / "config.yaml", {}).shutdown.grace_seconds


def test_grafana_finds_the_dashboards_and_their_data():
    provisioned = FOLDER / mounts("grafana")["/etc/grafana/provisioning"]
    (provider,) = yaml.safe_load((provisioned / "dashboards/kvs-gateway.yaml").read_text())["providers"]
    dashboards = FOLDER / mounts("grafana")[provider["options"]["path"]]
    assert {json.loads(file.read_text())["uid"] for file in dashboards.glob("*.json")} == {
        dashboard["uid"] for dashboard in DASHBOARDS.values()
    }
    (source,) = yaml.safe_load((provisioned / "datasources/prometheus.yaml").read_text())["datasources"]
    chosen = {
        variable["query"]
        for dashboard in DASHBOARDS.values()
        for variable in dashboard["templating"]["list"]
        if variable["type"] == "datasource"
    }
    assert chosen == {source["type"]}
    assert source["url"] == load(FOLDER / "config.yaml", {}).console.prometheus == "http://prometheus:9090"


class ComposePrometheus(PrometheusServer):
    """Prometheus with the command of compose.yaml, a local gateway and a scrape interval of one second."""

    def __init__(self, folder: Path) -> None:
        *shell, script = SERVICES["prometheus"]["entrypoint"]
        places = {
            "> /tmp/": f"> {folder}/",
            " /monitoring/": f" {FOLDER / mounts('prometheus')['/monitoring']}/",
            "exec prometheus": "exit #",
            "$$": "$",
        }
        for there, here in places.items():
            assert there in script
            script = script.replace(there, here)
        subprocess.run([*shell, script], check=True)
        files = [file.replace("/tmp", str(folder)) for file in PROMETHEUS["rule_files"]]
        jobs = {job["job_name"]: job["metrics_path"] for job in PROMETHEUS["scrape_configs"]}
        super().__init__(jobs, rule_files=files)

    def _configuration(self, jobs: Mapping[str, str], interval: str) -> dict[str, Any]:
        found, *_ = super()._configuration(jobs, interval)["scrape_configs"]
        own = merged(PROMETHEUS, {"global": {"scrape_interval": interval, "evaluation_interval": interval}})
        for job in own["scrape_configs"]:
            (group,) = job.pop("static_configs")
            assert group["targets"] == ["gateway:9090"]
            labels = [{"target_label": name, "replacement": value} for name, value in group["labels"].items()]
            job |= {key: found[key] for key in ("file_sd_configs",)}
            job["relabel_configs"] = [*labels, *job["relabel_configs"]]
        return own


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """Runs Prometheus and the gateway with the configuration of the folder, on other addresses."""
    folder = tmp_path_factory.mktemp("compose")
    config = yaml.safe_load((FOLDER / "config.yaml").read_text())
    here = {name: {"host": "127.0.0.1", "port": 0} for name in config["listen"]}
    with RedisServer() as redis:
        config = merged(config, {"listen": here, "store": {"url": redis.url}})
        with GatewayProcess(config, folder) as gateway, ComposePrometheus(folder) as prometheus:
            prometheus.scrape(gateway.urls["ops"])
            prometheus.wait_until(gateway.urls["ops"], up=True)
            yield gateway, prometheus


async def test_the_requests_of_the_readme_work(running):
    gateway, _ = running
    readme = (ROOT / "README.md").read_text()
    token = re.search(r"KVS_DEV_TOKEN:-(\w+)", readme)[1]
    signer = Signer(*re.search(r'"(AKID\w+):\$\{KVS_DEV_SECRET:-([\w-]+)}"', readme).groups())
    async with client_of(gateway) as client:
        call = {"token": token, "signer": signer, "headers": {"Host": "127.0.0.1:8080"}}
        assert (await client.put("greeting", "hello", **call)).json == {"ok": True}
        foreign = {**call, "headers": {"Host": "rebound.example:8080"}}
        assert (await client.put("greeting", "hello", **foreign)).error == "invalid_host"
        control = re.search(r"KVS_CONTROL_TOKEN:-([\w-]+)", readme)[1]
        assert (await client.manage("GET", "/v1/whoami", token=control)).status == 200


def test_targets_have_the_labels_that_the_rules_use(running):
    _, prometheus = running
    (labels,) = {tuple(sorted(series["metric"].keys() - {"__name__"})) for series in prometheus.query("up")}
    assert labels == ("container", "endpoint", "instance", "job", "namespace", "pod")
    endpoints = {series["metric"]["endpoint"] for series in prometheus.query('up{job="kvs-gateway"} == 1')}
    assert endpoints == {
        relabeling["replacement"]
        for endpoint in spec_of("podmonitor.yaml")["podMetricsEndpoints"]
        for relabeling in endpoint["relabelings"]
    }


def test_every_rule_is_evaluated(running):
    _, prometheus = running
    recorded = 'kvs:requests:rate5m{namespace="compose"}'
    wait_for(lambda: prometheus.query(recorded), "nothing is recorded", 60)
    known = {rule["name"] for rule in prometheus_rules(prometheus)}
    assert known == rules("record").keys() | rules("alert").keys()


def prometheus_rules(prometheus: PrometheusServer) -> list[dict[str, Any]]:
    with urlopen(f"{prometheus.url}/api/v1/rules", timeout=10) as answer:
        groups = json.load(answer)["data"]["groups"]
    return [rule for group in groups for rule in group["rules"]]
