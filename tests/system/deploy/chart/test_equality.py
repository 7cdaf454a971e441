"""The chart and kustomize render equal objects."""

from typing import Any

import pytest
import yaml

from tests.system.deploy.chart.releases import rendered
from tests.system.deploy.installations import INSTALLATIONS

OF_HELM = {
    "app.kubernetes.io/instance",
    "app.kubernetes.io/managed-by",
    "app.kubernetes.io/version",
    "helm.sh/chart",
    "checksum/config",
}
"""Labels, also in selectors, and an annotation that only the chart adds."""

OF_THE_EDGE = {"app.kubernetes.io/name": "kvs-gateway", "app.kubernetes.io/component": "edge"}
"""Labels of all objects of the chart; with kustomize, ConfigMaps and monitoring objects lack them."""

Objects = dict[tuple[str, str], dict[str, Any]]


@pytest.mark.parametrize("installation", INSTALLATIONS, ids=str)
def test_the_chart_installs_what_kustomize_installs(installation, tmp_path):
    ours = _by_name(rendered(installation))
    theirs = _by_name(installation.render(tmp_path))
    assert ours.keys() == theirs.keys()
    for name, expected in theirs.items():
        assert ours[name] == expected, name


def _by_name(objects: list[dict[str, Any]]) -> Objects:
    """Strips Helm's additions and the digest in a ConfigMap's name; decodes the configuration."""
    plain = [_alike(_without_helm(each)) for each in objects]
    return {(each["kind"], each["metadata"]["name"]): each for each in plain}


def _alike(each: dict[str, Any]) -> dict[str, Any]:
    metadata = each["metadata"]
    if each["kind"] == "Deployment":
        each["spec"]["template"]["spec"]["volumes"][0]["configMap"]["name"] = "kvs-gateway"
    if each["kind"] == "ConfigMap" and "config.yaml" in each["data"]:
        metadata["name"] = "kvs-gateway"
        each["data"]["config.yaml"] = yaml.safe_load(each["data"]["config.yaml"])
    if each["kind"] in ("ConfigMap", "PodMonitor", "PrometheusRule"):
        metadata["labels"] = metadata.get("labels", {}) | OF_THE_EDGE
    if each["kind"] == "PrometheusRule":  # kustomize folds texts anew, with more line breaks
        for rule in (rule for group in each["spec"]["groups"] for rule in group["rules"]):
            rule["expr"] = " ".join(rule["expr"].split())
    if each["kind"] == "PodMonitor":
        each["spec"]["selector"]["matchLabels"] |= OF_THE_EDGE
    return each


def _without_helm(tree: Any) -> Any:
    """Removes Helm's additions, and mappings that are empty without them."""
    if isinstance(tree, list):
        return [_without_helm(each) for each in tree]
    if not isinstance(tree, dict):
        return tree
    kept = {key: _without_helm(value) for key, value in tree.items() if key not in OF_HELM}
    return {key: value for key, value in kept.items() if value != {} or tree[key] == {}}
