"""Rendered manifests with access by kind and name, as rules need it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import yaml

Rule = Callable[["Manifests"], Iterator[str]]
"""Violations in words; empty if the rule holds."""


@dataclass(frozen=True)
class Manifests:
    """All objects of one installation."""

    objects: list[dict[str, Any]]

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [each for each in self.objects if each["kind"] == kind]

    def named(self, kind: str, name: str) -> dict[str, Any]:
        """Returns the object, or an empty one, so that a rule can name the missing part."""
        return next((each for each in self.of(kind) if each["metadata"]["name"] == name), {})

    @property
    def deployment(self) -> dict[str, Any]:
        (deployment,) = self.of("Deployment")
        return deployment

    @property
    def pod(self) -> dict[str, Any]:
        return self.deployment["spec"]["template"]["spec"]

    @property
    def pod_labels(self) -> dict[str, str]:
        return self.deployment["spec"]["template"]["metadata"]["labels"]

    @property
    def container(self) -> dict[str, Any]:
        (container,) = self.pod["containers"]
        return container

    @property
    def volumes(self) -> dict[str, dict[str, Any]]:
        return {volume["name"]: volume for volume in self.pod["volumes"]}

    @property
    def mounts(self) -> dict[str, dict[str, Any]]:
        return {mount["name"]: mount for mount in self.container["volumeMounts"]}

    @property
    def config_map(self) -> dict[str, Any]:
        """The ConfigMap with the gateway's configuration, whether or not the pods mount it."""
        (config_map,) = [each for each in self.of("ConfigMap") if "config.yaml" in each["data"]]
        return config_map

    @cached_property
    def config(self) -> dict[str, Any]:
        """The parsed configuration, with references to secrets unresolved."""
        return yaml.safe_load(self.config_map["data"]["config.yaml"])

    @property
    def store(self) -> str:
        return self.config["store"]["kind"]

    def selects_pods(self, selector: Mapping[str, str]) -> bool:
        return bool(selector) and selector.items() <= self.pod_labels.items()


def at(tree: Any, *path: str) -> Any:
    """Returns the value at a path, or None."""
    for step in path:
        if not isinstance(tree, Mapping):
            return None
        tree = tree.get(step)
    return tree


def differences(actual: Mapping[str, Any], expected: Mapping[str, Any]) -> Iterator[str]:
    """Yields each expected value that differs; paths are dotted."""
    for path, value in expected.items():
        found = at(actual, *path.split("."))
        if found != value:
            yield f"{path} is {found!r}, not {value!r}"
