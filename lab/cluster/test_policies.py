"""NetworkPolicies are enforced: allowed connections work, others do not. A silent peer proves nothing."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from lab.cluster.enclosure import METADATA_ADDRESS, NODE_ADDRESS
from lab.cluster.images import GATEWAY
from lab.cluster.probes import Probe, reached_from
from lab.cluster.site import NAMESPACE

CREDENTIALS, CONTROL = {"kvs-gateway-credentials": "client"}, {"kvs-gateway-control": "client"}
LISTENERS = {"data": 8080, "ops": 9090, "control": 8081, "credentials": 8082}

# namespace, its labels, the pod's labels, and the listeners that it reaches
CALLERS = {
    "the ingress controller": ("ingress-nginx", {}, {}, {"data"}),
    "Prometheus": ("monitoring", {}, {}, {"ops"}),
    "a workload": ("workloads", CREDENTIALS, CREDENTIALS, {"credentials"}),
    "a pod without the label, in its namespace": ("workloads", CREDENTIALS, {}, set()),
    "a pod that gave itself the label": ("tenants", {}, CREDENTIALS, set()),
    "an operator": ("operators", CONTROL, CONTROL, {"control"}),
    "an operator's label in a tenant's namespace": ("tenants", {}, CONTROL, set()),
    "anybody": ("tenants", {}, {}, set()),
}


@pytest.fixture(scope="module")
def metadata():
    """Metadata service of a cloud's nodes."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()

    server = ThreadingHTTPServer((METADATA_ADDRESS, 80), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"{METADATA_ADDRESS}:80"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def gateway(site):
    """A pod with all four listeners, and its address."""
    site.open_listeners()
    pod = site.pods()[0]
    return pod["metadata"]["name"], pod["status"]["podIP"]


@pytest.mark.parametrize("who", CALLERS)
def test_a_caller_reaches_allowed_peers_and_nothing_else(who, site, gateway, shown):
    place, of_namespace, labels, allowed = CALLERS[who]
    name = f"probe-{list(CALLERS).index(who)}"
    pod = Probe(site.kubectl, name, place, f"{GATEWAY}:now", of_namespace=of_namespace, labels=labels)
    found = pod.reached(f"{gateway[1]}:{port}" for port in LISTENERS.values())
    reached = {name for name, port in LISTENERS.items() if found[f"{gateway[1]}:{port}"]}
    shown.seen.append(", ".join(sorted(reached)) or "nothing")
    assert reached == allowed


def test_a_gateway_reaches_no_other(site, gateway):
    other = next(pod for pod in site.pods() if pod["metadata"]["name"] != gateway[0])
    targets = [f"{gateway[1]}:{port}" for port in LISTENERS.values()]
    assert not any(reached_from(site.kubectl, NAMESPACE, other["metadata"]["name"], targets).values())


def test_the_gateway_reaches_its_store_and_names_and_nothing_else(site, gateway, metadata, shown):
    dns = site.service_address("kube-system", "kube-dns")
    redis = site.service_address("stores", "redis")
    prometheus = site.service_address("monitoring", "prometheus")
    allowed = {f"{redis}:6379", f"{dns}:53"}
    refused = {
        metadata,
        f"{prometheus}:9090",
        f"{NODE_ADDRESS}:6443",
        f"{NODE_ADDRESS}:10250",
        "10.96.0.1:443",
    }
    targets = sorted(allowed | refused)
    anybody = Probe(site.kubectl, "anybody", "tenants", f"{GATEWAY}:now").reached(targets)
    assert all(anybody.values()), "a target that does not answer proves nothing"
    found = reached_from(site.kubectl, NAMESPACE, gateway[0], targets)
    shown.seen.append(f"refused: {', '.join(sorted(refused))}")
    assert {target for target, reached in found.items() if reached} == allowed
