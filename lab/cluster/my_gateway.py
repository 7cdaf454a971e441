"""The operator's own kustomization, as the guide shows it, with what is `yours` there filled in."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from lab.cluster import manifests
from tests.support.config import merged
from tests.system.deploy.guide import KUSTOMIZATION, WITH_LISTENERS
from tests.system.deploy.installations import DEPLOY

IMAGE = "registry.internal/kvs-gateway"
HOST = "kvs.example.com"
HERE = {"public_url": f"http://{manifests.INGRESS_HOST}", "public_hosts": [HOST, manifests.INGRESS_HOST]}
AUTOSCALING, SMALL = "../deploy/components/autoscaling", "../deploy/components/small"
SMALL_NODE = [
    {"op": "replace", "path": "/spec/template/spec/containers/0/resources/requests/cpu", "value": "50m"}
]
"""With autoscaling: two cores hold no four pods of one core each, and little work is to be much."""


def write(
    folder: Path,
    digest: str,
    configuration: Mapping[str, Any] | None = None,
    *,
    overlay: str = "redis",
    patches: Sequence[Any] = (),
    listeners: bool = False,
    autoscaling: bool = False,
) -> None:
    """`config.yaml` and `kustomization.yaml`. Without autoscaling there are two small replicas."""
    kustomization = yaml.safe_load(KUSTOMIZATION)
    kustomization["resources"] = [f"../deploy/overlays/{overlay}"]
    kustomization["images"][0] |= {"newName": IMAGE, "digest": digest}
    target = {"kind": "Deployment", "name": "kvs-gateway"}
    config = merged(yaml.safe_load((DEPLOY / "overlays" / overlay / "config.yaml").read_text()), HERE)
    if listeners:
        addition = yaml.safe_load(WITH_LISTENERS)
        present = kustomization["components"]
        present += [each for each in addition["components"] if each not in present]
        kustomization["configMapGenerator"] = addition["configMapGenerator"]
        for component in ("control", "credentials"):
            file = DEPLOY / "components" / component / "config.yaml"
            config = merged(config, yaml.safe_load(file.read_text()))
    if autoscaling:
        patches = [SMALL_NODE, *patches]
    else:
        kustomization["components"].remove(AUTOSCALING)
        kustomization["components"].append(SMALL)  # after those that ask for more
    kustomization["patches"] += [{"target": target, "patch": yaml.safe_dump(patch)} for patch in patches]
    folder.mkdir(exist_ok=True)
    (folder / "config.yaml").write_text(yaml.safe_dump(merged(config, configuration or {})))
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
