"""Parts that an operator adds to the gateway: Redis, Prometheus, an ingress; and pods that probe."""

from typing import Any

import yaml

from lab.cluster.enclosure import NODE_ADDRESS
from lab.cluster.node.discovery import PORT
from tests.system.deploy.monitoring import COMPONENT

SERVERS = "localhost/servers:cluster"
REDIS_URL = "redis://redis.stores.svc.cluster.local:6379"
PROMETHEUS = "prometheus"
SCRAPING = COMPONENT / "scrape.yaml"
INGRESS_HOST = "ingress.ingress-nginx.svc.cluster.local"

_FORWARD = """
import asyncio

async def copy(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    finally:
        writer.close()

async def serve(reader, writer):
    inner = await asyncio.open_connection("kvs-gateway.kvs-gateway.svc.cluster.local", 80)
    await asyncio.gather(copy(reader, inner[1]), copy(inner[0], writer))

async def main():
    async with await asyncio.start_server(serve, "0.0.0.0", 8080) as server:
        await server.serve_forever()

asyncio.run(main())
"""


def namespace(name: str, **labels: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def redis() -> list[dict[str, Any]]:
    """One server that writes every change to its log, which outlives the process but not the pod."""
    command = [
        "redis-server",
        "--appendonly",
        "yes",
        "--save",
        "",
        "--dir",
        "/data",
        "--protected-mode",
        "no",
    ]
    container = {"name": "redis", "image": SERVERS, "command": command, **_volume("data", "/data")}
    container["readinessProbe"] = {"tcpSocket": {"port": 6379}, "periodSeconds": 1}
    # without a share of its own it has what all others leave, and its answers are late
    container["resources"] = {"requests": {"cpu": "500m"}}
    return [
        namespace("stores"),
        deployment("redis", "stores", container, volumes=[{"name": "data", "emptyDir": {}}]),
        service("redis", "stores", 6379),
    ]


def prometheus() -> list[dict[str, Any]]:
    """Configured by the file for a Prometheus without the operator."""
    command = [
        *("prometheus", "--config.file=/etc/prometheus/prometheus.yml", "--storage.tsdb.path=/data"),
        "--web.listen-address=:9090",
    ]
    container = {"name": "prometheus", "image": SERVERS, "command": command}
    container["readinessProbe"] = {"httpGet": {"path": "/-/ready", "port": 9090}, "periodSeconds": 1}
    container["volumeMounts"] = [
        {"name": "data", "mountPath": "/data"},
        {"name": "config", "mountPath": "/etc/prometheus"},
    ]
    volumes = [{"name": "data", "emptyDir": {}}, {"name": "config", "configMap": {"name": PROMETHEUS}}]
    pods = deployment(PROMETHEUS, "monitoring", container, volumes=volumes)
    return [
        namespace("monitoring"),
        {
            **_object("v1", "ConfigMap", PROMETHEUS, "monitoring"),
            "data": {"prometheus.yml": yaml.safe_dump(_scraping())},
        },
        pods,
        service(PROMETHEUS, "monitoring", 9090),
    ]


def ingress(image: str) -> list[dict[str, Any]]:
    """Stands where an ingress controller would: passes bytes on to the Service, `Host` and all."""
    container = {"name": "ingress", "image": image, "command": ["python", "-c", _FORWARD]}
    return [
        namespace("ingress-nginx"),
        deployment("ingress", "ingress-nginx", container),
        service("ingress", "ingress-nginx", 80, 8080),
    ]


def _scraping() -> dict[str, Any]:
    """Returns the scrape configuration of the manifests, with pods found by the node."""
    scraping = yaml.safe_load(SCRAPING.read_text())
    for each in scraping["scrape_configs"]:
        del each["kubernetes_sd_configs"]
        each["http_sd_configs"] = [{"url": f"http://{NODE_ADDRESS}:{PORT}", "refresh_interval": "5s"}]
    return scraping


def deployment(
    name: str, place: str, container: dict[str, Any], volumes: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    labels = {"app": name}
    pod = {"containers": [container], "volumes": volumes or [], "terminationGracePeriodSeconds": 1}
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    return {**_object("apps/v1", "Deployment", name, place), "spec": spec}


def service(name: str, place: str, port: int, target: int | None = None) -> dict[str, Any]:
    spec = {"selector": {"app": name}, "ports": [{"port": port, "targetPort": target or port}]}
    return {**_object("v1", "Service", name, place), "spec": spec}


def probe(name: str, place: str, image: str, **labels: str) -> dict[str, Any]:
    """A pod that waits for commands."""
    container = {"name": "probe", "image": image, "command": ["python", "-c", "import time; time.sleep(1e6)"]}
    spec = {"containers": [container], "terminationGracePeriodSeconds": 0}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": place, "labels": labels},
        "spec": spec,
    }


def _volume(name: str, path: str) -> dict[str, Any]:
    return {"volumeMounts": [{"name": name, "mountPath": path}]}


def _object(version: str, kind: str, name: str, place: str | None = None) -> dict[str, Any]:
    metadata = {"name": name, **({"namespace": place} if place else {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata}
