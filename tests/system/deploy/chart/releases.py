"""Values that install the same objects as an overlay with components."""

from typing import Any

from tests.project.chart import CHART
from tests.support.config import merged
from tests.support.helm import render
from tests.system.deploy.installations import Installation, included

JWKS = '{"keys": []}'
ROLE_ANNOTATION = "eks.amazonaws.com/role-arn"


def values_of(installation: Installation) -> dict[str, Any]:
    """Returns the values, without the sections that the chart generates: `listen` and `edge`."""
    components = {*included(installation.overlay), *installation.components}
    configuration = installation.configuration()
    for key in ("listen", "edge"):
        configuration.pop(key)
    values: dict[str, Any] = {
        "image": {"repository": "registry.example.com/kvs-gateway"},
        "config": configuration,
        "replicas": 1 if installation.overlay == "memory" else 3,
        "certificates": {"issuerRef": {"name": "private-authority"}},
        "networkPolicy": {"enabled": "network-policy" in components},
    }
    for component in ("monitoring", "control", "credentials"):
        values[component] = {"enabled": component in components}
    in_flight = "autoscaling-in-flight" in components
    scaled = in_flight or "autoscaling" in components
    values["autoscaling"] = {"enabled": scaled, "inFlight": {"enabled": in_flight}}
    if "small" in components:
        values |= {"replicas": 2, "resources": {"requests": {"cpu": "100m", "memory": "96Mi"}}}
    if "credentials" in components:
        values["files"] = {"jwks.json": JWKS}
    if installation.overlay == "dynamodb-irsa":
        role = "arn:aws:iam::123456789012:role/REPLACE-with-the-role-of-kvs-gateway"
        values["serviceAccount"] = {"annotations": {ROLE_ANNOTATION: role}}
    return values


def rendered(installation: Installation, **changes: Any) -> list[dict[str, Any]]:
    """Renders the chart with changed values."""
    return render(CHART, merged(values_of(installation), changes))
