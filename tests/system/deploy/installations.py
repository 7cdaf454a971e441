"""What is installed: each overlay alone, and with every component that makes sense with it."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.support.kustomize import render
from tests.support.repository import ROOT

DEPLOY = ROOT / "deploy"
OVERLAYS = sorted(folder.name for folder in (DEPLOY / "overlays").iterdir())
COMPONENTS = sorted(folder.parent.name for folder in DEPLOY.glob("components/*/kustomization.yaml"))
FOR_ONE_REPLICA = [component for component in COMPONENTS if component != "autoscaling"]


@dataclass(frozen=True)
class Installation:
    """An overlay with components."""

    overlay: str
    components: Sequence[str] = ()

    def __str__(self) -> str:
        return "+".join([self.overlay, *self.components])

    def render(self, folder: Path) -> list[dict[str, Any]]:
        """Rendered in a copy inside `folder`, the way an operator's own kustomization would combine them."""
        copy = folder / "deploy"
        shutil.copytree(DEPLOY, copy)
        own = copy / "own"
        own.mkdir()
        kustomization = {
            "namespace": "kvs-gateway",
            "resources": [f"../overlays/{self.overlay}"],
            "components": [f"../components/{component}" for component in self.components],
        }
        (own / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
        return render(own)


def _combined(overlay: str) -> Installation:
    return Installation(overlay, tuple(FOR_ONE_REPLICA if overlay == "memory" else COMPONENTS))


INSTALLATIONS = [
    *(Installation(overlay) for overlay in OVERLAYS),
    *(_combined(overlay) for overlay in OVERLAYS),
]
