"""Pods that hold no secret, and the console: over TLS, through Services."""

import json

import pytest

from lab.cluster.deployed import PODS
from lab.cluster.images import GATEWAY
from lab.cluster.probes import Probe
from lab.cluster.site import NAMESPACE
from tests.system.deploy.guide import marked

CONTROL = "https://kvs-gateway-control.kvs-gateway.svc"

_ASK = """
import json, ssl, sys, urllib.error, urllib.request

_, authority, path, token = sys.argv
context = ssl.create_default_context(cadata=authority)
headers = {"Authorization": f"Bearer {token}"} if token else {}
request = urllib.request.Request(path, headers=headers)
try:
    answer = urllib.request.urlopen(request, context=context, timeout=10)
except urllib.error.HTTPError as error:
    answer = error
print(json.dumps([answer.status, dict(answer.headers), answer.read().decode()]))
"""


@pytest.fixture(scope="module")
def listeners(site):
    site.open_listeners()
    return site


def test_a_pod_that_holds_no_secret_puts_an_entry(listeners, shown):
    site = listeners
    site.node.name(f"{GATEWAY}:now", "registry.example.com/blog:1.0.0")  # Python with botocore
    printed = site.shell_with_kvs(marked("workload"), until="{'ok': True}")
    assert "{'ok': True}" in printed
    (pod,) = site.kubectl.get("--namespace", "blog", "pods")
    lines = site.here("logs", f"--selector={PODS}", "--tail=-1").splitlines()
    fetched = [line for line in map(json.loads, lines) if line.get("action") == "credentials.web_identity"]
    assert [(line["environment"], line["session_name"]) for line in fetched] == [
        ("acme/blog/production", pod["metadata"]["name"])
    ]
    shown.seen.append(f"{fetched[0]['actor']} of pod {pod['metadata']['name']}")


@pytest.fixture(scope="module")
def ask(listeners):
    """Asks the control listener from a pod that may: status, header fields, body."""
    label = {"kvs-gateway-control": "client"}
    place = {"of_namespace": label, "labels": label}
    pod = Probe(listeners.kubectl, "operator", "operators", f"{GATEWAY}:now", **place)

    def ask(path: str, token: str = "", server: str = CONTROL):
        return json.loads(pod.run(_ASK, listeners.authority, server + path, token))

    return ask


def test_the_console_is_served_through_its_service_over_tls(ask):
    status, fields, page = ask("/console/")
    assert status == 200
    assert "default-src 'none'" in fields["Content-Security-Policy"]
    assert "<title>" in page
    assert ask("/console/console.js")[0] == 200


def test_the_console_shows_the_apps_of_a_control_token(ask, listeners):
    token = listeners.secret("control-token")
    assert ask("/v1/whoami")[0] == 401
    assert ask("/v1/whoami", token)[0] == 200
    status, _, body = ask("/v1/orgs/acme/apps", token)
    assert status == 200
    assert "blog" in {each["app_id"] for each in json.loads(body)}


def test_the_certificate_is_for_no_other_name(ask, listeners):
    address = listeners.service_address(NAMESPACE, "kvs-gateway-control")
    with pytest.raises(RuntimeError, match="CERTIFICATE_VERIFY_FAILED"):
        ask("/console/", server=f"https://{address}")
