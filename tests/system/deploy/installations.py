"""Installations: each overlay alone, and with every component that fits it."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.support.config import merged
from tests.support.kustomize import render
from tests.support.repository import ROOT

DEPLOY = ROOT / "deploy"
OVERLAYS = sorted(folder.name for folder in (DEPLOY / "overlays").iterdir())
COMPONENTS = sorted(folder.parent.name for folder in DEPLOY.glob("components/*/kustomization.yaml"))
SIZES = ("autoscaling", "autoscaling-in-flight", "small")
"""Components that set the number of replicas: mutually exclusive, and not for the memory store."""
LISTENERS = ("control", "credentials")
"""Components that expose a listener; they need the network policy for the other listeners."""


@dataclass(frozen=True)
class Installation:
    """An overlay with components."""

    overlay: str
    components: Sequence[str] = ()

    def __str__(self) -> str:
        return "+".join([self.overlay, *self.components])

    def render(self, folder: Path) -> list[dict[str, Any]]:
        """Renders overlay and components, combined as in an operator's kustomization, in `folder`."""
        copy = folder / "deploy"
        shutil.copytree(DEPLOY, copy)
        own = copy / "own"
        own.mkdir()
        kustomization: dict[str, Any] = {
            "namespace": "kvs-gateway",
            "resources": [f"../overlays/{self.overlay}"],
            "components": [f"../components/{component}" for component in self.components],
        }
        if self.is_configured:
            kustomization["configMapGenerator"] = [self._generator()]
            (own / "config.yaml").write_text(yaml.safe_dump(self.configuration()))
            (own / "jwks.json").write_text('{"keys": []}')
        (own / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
        return render(own)

    @property
    def is_configured(self) -> bool:
        """True if a component needs settings in the configuration."""
        return any(component in LISTENERS for component in self.components)

    def configuration(self) -> dict[str, Any]:
        """Returns the overlay's configuration merged with that of the components."""
        folders = [f"overlays/{self.overlay}", *(f"components/{component}" for component in self.components)]
        files = [DEPLOY / folder / "config.yaml" for folder in folders]
        configuration: dict[str, Any] = {}
        for file in files:
            if file.exists():
                configuration = merged(configuration, yaml.safe_load(file.read_text()))
        return configuration

    def _generator(self) -> dict[str, Any]:
        keys = ["jwks.json"] if "credentials" in self.components else []
        files = ["config.yaml", *keys]
        return {"name": "kvs-gateway", "namespace": "kvs-gateway", "behavior": "replace", "files": files}


def included(overlay: str) -> list[str]:
    """Returns the components that are part of an overlay."""
    kustomization = yaml.safe_load((DEPLOY / "overlays" / overlay / "kustomization.yaml").read_text())
    return [Path(component).name for component in kustomization.get("components", [])]


def _with(overlay: str, *components: str) -> Installation:
    """Returns an installation, with the network policy first if the overlay has none."""
    policy = () if "network-policy" in included(overlay) else ("network-policy",)
    return Installation(overlay, (*policy, *components))


SHARED = [overlay for overlay in OVERLAYS if overlay != "memory"]
INSTALLATIONS = [
    *(Installation(overlay) for overlay in OVERLAYS),
    *(_with(overlay, each) for overlay in OVERLAYS for each in LISTENERS),
    _with("memory", "monitoring", *LISTENERS),
    *(Installation(overlay, (size, "monitoring")) for overlay in SHARED for size in SIZES),
    *(Installation(overlay, (*LISTENERS, "autoscaling", "monitoring")) for overlay in SHARED),
]
