"""Effects of single values on rendered objects."""

import yaml

from tests.project.chart import CHART
from tests.support.helm import render
from tests.system.deploy.chart.releases import rendered, values_of
from tests.system.deploy.installations import DEPLOY, Installation
from tests.system.deploy.policy.manifests import Manifests

REDIS = Installation("redis")
CREDENTIALS = Installation("redis", ("credentials",))


def test_the_termination_grace_period_follows_grace_seconds():
    pod = Manifests(rendered(REDIS, config={"shutdown": {"grace_seconds": 60.5}}, preStopSeconds=20)).pod
    assert pod["terminationGracePeriodSeconds"] == 20 + 61 + 20


def test_the_termination_grace_period_covers_the_default_grace():
    for shutdown in (None, {"grace_seconds": None}):
        pod = Manifests(rendered(REDIS, config={"shutdown": shutdown})).pod
        assert pod["terminationGracePeriodSeconds"] == 10 + 30 + 20


def test_without_pre_stop_seconds_there_is_no_hook():
    """Kubernetes before 1.33 refuses to sleep for 0 seconds."""
    assert "lifecycle" not in Manifests(rendered(REDIS, preStopSeconds=0)).container


def test_secrets_may_come_from_variables():
    config = {
        "control": {"tokens": ["${TOKEN}", "${FIRST}${SECOND}"]},
        "store": {"url": "rediss://${USER}:${PASSWORD}@redis.internal:6379/0"},
    }
    assert Manifests(rendered(REDIS, config=config)).config["control"] == config["control"]


def test_values_that_only_look_like_secrets_are_allowed():
    headers = {
        "Authorization": "Api-Key ${OTLP_TOKEN}",
        "Cookie": "session=${SESSION}",
        "X-Token": "${SCHEME} ${OTLP_TOKEN}",
        "X-Scope-OrgID": "platform",
        "X-Partition-Key": "team-a",
    }
    from_secret = {"secretKeyRef": {"name": "otlp", "key": "token"}}
    variables = [
        {"name": "OTLP_TOKEN", "valueFrom": from_secret},
        {"name": "AWS_WEB_IDENTITY_TOKEN_FILE", "value": "/var/run/token"},
        {"name": "GOOGLE_APPLICATION_CREDENTIALS", "value": "/run/secrets/gcp.json"},
        {"name": "TOKEN", "value": "$(OTLP_TOKEN)"},
    ]
    manifests = Manifests(rendered(REDIS, config={"tracing": {"headers": headers}}, extraEnv=variables))
    assert manifests.config["tracing"]["headers"] == headers
    assert [each for each in manifests.container["env"] if each in variables] == variables


def test_sections_may_be_null():
    empty = {"counters": None, "tracing": None}
    assert Manifests(rendered(REDIS, config=empty, extraEnv=None)).config.get("counters") is None


def test_two_releases_in_one_namespace_share_no_object():
    names, selectors = [], []
    for release in ("kvs-gateway", "kvs-gateway-blue"):
        objects = render(CHART, values_of(REDIS), release=release)
        names.append({(each["kind"], each["metadata"]["name"]) for each in objects})
        selectors.append(Manifests(objects).deployment["spec"]["selector"])
    assert not names[0] & names[1]
    assert selectors[0] != selectors[1]


def test_an_existing_certificate_replaces_that_of_cert_manager():
    own = {"credentials": {"secretName": "own-tls"}, "certificates": {"issuerRef": {"name": ""}}}
    manifests = Manifests(rendered(CREDENTIALS, **own))
    assert not manifests.of("Certificate")
    assert manifests.volumes["credentials-tls"]["secret"]["secretName"] == "own-tls"


def test_the_public_hosts_are_routed_as_in_the_examples():
    def example(path):
        return yaml.safe_load((DEPLOY / "examples" / path).read_text())

    ingress, route = example("ingress-nginx/ingress.yaml"), example("gateway-api/httproute.yaml")
    annotations, secret = ingress["metadata"]["annotations"], ingress["spec"]["tls"][0]["secretName"]
    by_ingress = {"enabled": True, "annotations": annotations, "tlsSecretName": secret}
    by_route = {"enabled": True, "parentRefs": route["spec"]["parentRefs"]}
    manifests = Manifests(rendered(REDIS, ingress=by_ingress, httpRoute=by_route))
    for theirs in (ingress, route):
        ours = manifests.named(theirs["kind"], "kvs-gateway")
        assert ours["spec"] == theirs["spec"]
        assert ours["metadata"].get("annotations") == theirs["metadata"].get("annotations")


def test_ports_of_public_hosts_are_not_routed():
    hosts = ["kvs.example.com", "kvs.example.com:8443", "other.example.com"]
    objects = rendered(REDIS, config={"public_hosts": hosts}, ingress={"enabled": True})
    rules = Manifests(objects).named("Ingress", "kvs-gateway")["spec"]["rules"]
    assert [rule["host"] for rule in rules] == ["kvs.example.com", "other.example.com"]


def test_alerts_link_to_the_given_runbook():
    objects = rendered(REDIS, monitoring={"enabled": True, "runbookUrl": "https://wiki/kvs"})
    (alerts,) = [each for each in objects if each["metadata"]["name"] == "kvs-gateway-alerts"]
    text = yaml.safe_dump(alerts)
    assert "https://wiki/kvs#kvsnoreplica" in text
    assert "git.example.com" not in text


def test_monitoring_selectors_match():
    objects = rendered(REDIS, monitoring={"enabled": True, "labels": {"release": "prometheus"}})
    for each in objects:
        labelled = each["metadata"]["labels"].get("release") == "prometheus"
        assert labelled == (each["kind"] in {"PodMonitor", "PrometheusRule"})
